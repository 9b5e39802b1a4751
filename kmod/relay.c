// SPDX-License-Identifier: GPL-2.0
/*
 * Moving payload from one leg to the other.
 *
 * The payload of the receive queue is gathered over as many packets as fit and
 * handed to the other leg in one call, which takes references to the pages; see
 * gather.c. Nothing is held back to wait for more: the last call of a run pushes
 * everything, but where the leg is full, or has no memory; then the next one does, or an
 * acknowledgment.
 *
 * Back-pressure: when a leg cannot take more, payload stays in the other leg's
 * receive queue. The receive window of that leg closes, and the full leg's
 * write-space callback schedules the flow again.
 */

#include "relay.h"

#include <net/inet_ecn.h>
#include <net/tcp.h>

#include "flow.h"
#include "gather.h"
#include "gen.h"
#include "idle.h"
#include "relief.h"
#include "stamp.h"
#include "stat.h"
#include "trace.h"
#include "track.h"
#include "window.h"

/* Calls per direction and run, so that other flows get their turn. */
#define PEP_RELAY_ROUNDS	8

/* Retry when there was no TCP memory and nothing else will wake the flow. */
#define PEP_RELAY_RETRY		(HZ / 50 + 1)

/* How long payload of an end that has reset may be on its way to the other one. */
#define PEP_RELAY_TAIL		(30 * HZ)

/**
 * enum pep_relay_result - how a direction's run ended
 * @PEP_RELAY_IDLE: a callback will schedule the flow when there is more to do
 * @PEP_RELAY_AGAIN: there is more to do now
 * @PEP_RELAY_RETRY_LATER: no callback will come: try again in a while
 * @PEP_RELAY_BROKEN: payload or its end cannot be passed on
 */
enum pep_relay_result {
	PEP_RELAY_IDLE,
	PEP_RELAY_AGAIN,
	PEP_RELAY_RETRY_LATER,
	PEP_RELAY_BROKEN,
};

/**
 * pep_relay_gather() - collect the payload of the receive queue
 * @g: empty; filled
 * @sk: locked socket
 * @skb: packet with the next byte
 * @off: offset of that byte in @skb
 *
 * Return: true when payload is left in the queue behind the collected bytes.
 */
static bool pep_relay_gather(struct pep_gather *g, struct sock *sk,
			     struct sk_buff *skb, u32 off)
{
	u32 seq = TCP_SKB_CB(skb)->seq + off;

	for (;;) {
		if (off < skb->len) {
			u32 before = g->len;

			if (!pep_gather_skb(g, skb, off))
				return true;
			seq += g->len - before;
		}
		if (skb_queue_is_last(&sk->sk_receive_queue, skb))
			return false;
		skb = skb_queue_next(&sk->sk_receive_queue, skb);
		/* Packets may overlap after a retransmission. */
		off = seq - TCP_SKB_CB(skb)->seq;
	}
}

/* Count @n bytes of payload that a leg has taken, @copied of them as copies. */
static void pep_relay_count(struct pep_flow *flow, enum pep_side from, u32 n,
			    u32 copied)
{
	struct pep_leg *to = &flow->leg[!from];

	pep_stat_add(flow->pn, PEP_STAT_BYTES_FRAGMENT, n - copied);
	pep_stat_add(flow->pn, PEP_STAT_BYTES_COPIED, copied);
	pep_stat_add(flow->pn, from == PEP_SIDE_SERVER ?
			       PEP_STAT_BYTES_TO_WIRELESS :
			       PEP_STAT_BYTES_TO_SERVER, n);
	if (copied)
		WRITE_ONCE(flow->copied, flow->copied + copied);
	if (unlikely(!to->relayed))
		pep_stamp(flow, pep_flow_time_on(PEP_FLOW_TIME_FIRST, !from));
	WRITE_ONCE(to->relayed, to->relayed + n);
}

/* A leg has read payload, perhaps with an urgent byte. While there is one TCP has no
 * receive fast path; as tcp_recvmsg_locked().
 */
static void pep_relay_read(struct sock *in, u32 n)
{
	struct tcp_sock *tp = tcp_sk(in);

	tcp_read_done(in, n);
	if (unlikely(tp->urg_data) && after(tp->copied_seq, tp->urg_seq)) {
		WRITE_ONCE(tp->urg_data, 0);
		tcp_fast_path_check(in);
	}
}

/* There was no memory, and nothing is under way whose acknowledgment wakes the flow. */
static enum pep_relay_result pep_relay_later(const struct pep_flow *flow)
{
	pep_stat_inc(flow->pn, PEP_STAT_RELAY_NO_MEMORY);
	return PEP_RELAY_RETRY_LATER;
}

/**
 * pep_relay_once() - hand one load of payload to a leg
 * @flow: flow, locked, with its legs locked
 * @from: side that the payload comes from
 * @skb: packet with the next byte
 * @off: offset of that byte in @skb
 * @queue: scratch
 *
 * Return: how to go on; PEP_RELAY_AGAIN when the leg has taken all of the load, or
 * has room for more.
 */
static enum pep_relay_result
pep_relay_once(struct pep_flow *flow, enum pep_side from, struct sk_buff *skb,
	       u32 off, struct pep_queue *queue)
{
	struct sock *in = flow->leg[from].sk, *out = flow->leg[!from].sk;
	struct pep_gather g = { .bvec = queue->bvec, .to = &queue->page };
	bool more;
	u32 copied;
	int n;

	more = pep_relay_gather(&g, in, skb, off);
	if (unlikely(!g.len))
		return g.err == -ENOMEM ? pep_relay_later(flow) :
					  PEP_RELAY_BROKEN;
	pep_window_renew(flow, !from);
	flow->sending = true;
	if (from == PEP_SIDE_SERVER)
		pep_resume_send(flow, g.len);
	n = pep_gather_send(out, &g, 0, more, &queue->ubuf);
	flow->sending = false;
	pep_stat_inc(flow->pn, PEP_STAT_RELAY_SEND);
	copied = pep_gather_taken(&g, max(n, 0));
	trace_pep_relay(flow, !from, g.len, g.n, copied, n);
	if (n > 0) {
		pep_relay_count(flow, from, n, copied);
		pep_window_couple(flow, from, n);
		pep_relay_read(in, n);
		if (from == PEP_SIDE_SERVER)
			pep_window_tell(flow);
	}
	if (n == g.len)
		return PEP_RELAY_AGAIN;
	if (n < 0 && n != -EAGAIN)
		return PEP_RELAY_BROKEN;
	/* On its way out TCP pushes the payload that it has taken, and its
	 * write-space callback has not scheduled the flow for the new room.
	 */
	if (n > 0 && sk_stream_memory_free(out))
		return PEP_RELAY_AGAIN;
	/* With data under way an ACK will make write space. */
	if (!tcp_rtx_and_write_queues_empty(out))
		return PEP_RELAY_IDLE;
	return pep_relay_later(flow);
}

/* Send with the DSCP of the relayed packet; ECN is each leg's own. */
static void pep_relay_dscp(const struct pep_flow *flow,
			   const struct sk_buff *skb, struct sock *out)
{
	u8 dsfield = TCP_SKB_CB(skb)->ip_dsfield;

	if (flow->gen->values.dscp == PEP_DSCP_COPY &&
	    (dsfield ^ inet_sk(out)->tos) & ~INET_ECN_MASK)
		pep_leg_set_dsfield(out, dsfield);
}

/* Payload has to wait for room in a leg. */
static void pep_relay_stall(struct pep_flow *flow, enum pep_side to)
{
	pep_stat_inc(flow->pn, PEP_STAT_RELAY_STALL);
	if (flow->leg[to].stalled)
		return;
	flow->leg[to].stalled = true;
	trace_pep_stall(flow, to);
}

/* There is room again. */
static void pep_relay_resume(struct pep_flow *flow, enum pep_side to)
{
	if (likely(!flow->leg[to].stalled))
		return;
	flow->leg[to].stalled = false;
	trace_pep_resume(flow, to);
}

/* Pass the end of a direction on, once. */
static enum pep_relay_result pep_relay_fin(struct pep_flow *flow,
					   enum pep_side to)
{
	struct pep_leg *leg = &flow->leg[to];

	if (leg->fin_sent)
		return PEP_RELAY_IDLE;
	/* TCP takes a socket that enters TIME_WAIT for one that is in its table. A leg that
	 * is being released is not; from CLOSE_WAIT it cannot get there. The FIN was on
	 * its way to the other leg at the cut, and the release ends with resets, unless
	 * that of this leg's end was, too.
	 */
	if (sk_unhashed(leg->sk) && leg->sk->sk_state == TCP_ESTABLISHED)
		return PEP_RELAY_IDLE;
	leg->fin_sent = true;
	pep_stamp(flow, pep_flow_time_on(PEP_FLOW_TIME_FIN, to));
	pep_flow_advance(flow, PEP_FLOW_FIN);
	return pep_leg_shutdown(leg->sk) ? PEP_RELAY_IDLE : PEP_RELAY_BROKEN;
}

/* A direction has ended. When a reset follows the FIN, only the reset is passed on: after
 * a FIN the other end may go on sending, and nothing receives that payload.
 */
static enum pep_relay_result pep_relay_end(struct pep_flow *flow,
					   enum pep_side from)
{
	if (pep_leg_failed(flow->leg[from].sk))
		return PEP_RELAY_IDLE;
	return pep_relay_fin(flow, !from);
}

/**
 * pep_relay_direction() - relay the payload of one direction
 * @flow: established flow, locked, with its legs locked and not owned
 * @from: side that the payload comes from
 * @queue: scratch
 *
 * The stream has ended when SOCK_DONE is set and the queue is empty, or when a
 * bare FIN is at the head of the queue: a socket on its way through TIME_WAIT is
 * in TCP_CLOSE with payload yet to be read.
 *
 * Return: how to go on.
 */
static enum pep_relay_result
pep_relay_direction(struct pep_flow *flow, enum pep_side from,
		    struct pep_queue *queue)
{
	struct sock *in = flow->leg[from].sk, *out = flow->leg[!from].sk;
	enum pep_relay_result result;
	int rounds = PEP_RELAY_ROUNDS;
	struct sk_buff *skb;
	u32 off;

	while (pep_leg_can_send(out)) {
		skb = tcp_recv_skb(in, tcp_sk(in)->copied_seq, &off);
		if (!skb && !sock_flag(in, SOCK_DONE))
			return PEP_RELAY_IDLE;
		if (!skb || off >= skb->len)
			return pep_relay_end(flow, from);
		if (!sk_stream_memory_free(out)) {
			set_bit(SOCK_NOSPACE, &out->sk_socket->flags);
			pep_relay_stall(flow, !from);
			pep_window_couple(flow, from, 0);
			if (from == PEP_SIDE_SERVER)
				pep_window_tell(flow);
			return PEP_RELAY_IDLE;
		}
		if (!rounds--)
			return PEP_RELAY_AGAIN;
		pep_relay_dscp(flow, skb, out);
		pep_relay_resume(flow, !from);
		result = pep_relay_once(flow, from, skb, off, queue);
		if (result != PEP_RELAY_AGAIN)
			return result;
	}
	return PEP_RELAY_IDLE;
}

/* Relay one direction, and sample the residence of its payload. */
static enum pep_relay_result pep_relay_measured(struct pep_flow *flow,
						enum pep_side from,
						struct pep_queue *queue)
{
	enum pep_relay_result result;

	pep_residence_begin(flow, from);
	result = pep_relay_direction(flow, from, queue);
	pep_residence_end(flow, from);
	return result;
}

/* Has a leg received payload that was not passed on? */
static bool pep_relay_unread(struct sock *sk)
{
	struct sk_buff *skb;
	u32 off;

	skb = tcp_recv_skb(sk, tcp_sk(sk)->copied_seq, &off);
	return skb && off < skb->len;
}

/* Is payload of a leg that has failed still on its way to the other end? */
static bool pep_relay_pending(struct sock *in, struct sock *out)
{
	return !tcp_rtx_and_write_queues_empty(out) ||
	       (pep_relay_unread(in) && pep_leg_can_send(out));
}

/* One end has reset: begin to deliver the payload before the reset to the other one.
 * Return: false when that is impossible. An end that has received a FIN may send the last
 * of its own payload, and a FIN, at any time. It must not take these for delivered: TCP
 * resets the end if it sends more, RFC 1122, section 4.2.2.13.
 */
static bool pep_relay_tail(struct pep_flow *flow, struct pep_leg *to)
{
	if (to->fin_sent && pep_relay_unread(to->sk))
		return false;
	if (to->fin_sent)
		WRITE_ONCE(to->sk->sk_shutdown, SHUTDOWN_MASK);
	flow->tail = true;
	flow->deadline = jiffies + PEP_RELAY_TAIL;
	/* The end of the failed leg may not have noticed. */
	pep_flow_remember(flow);
	return true;
}

/*
 * Has the flow failed? A reset must not overtake payload that the end has sent before
 * it, and that is acknowledged here: the other end receives the payload first, for as
 * long as PEP_RELAY_TAIL.
 */
static bool pep_relay_failed(struct pep_flow *flow)
{
	enum pep_side from = pep_leg_failed(flow->leg[PEP_SIDE_WIRELESS].sk) ?
			    PEP_SIDE_WIRELESS : PEP_SIDE_SERVER;
	struct sock *in = flow->leg[from].sk, *out = flow->leg[!from].sk;

	if (!pep_leg_failed(in))
		return false;
	if (pep_leg_failed(out) || in->sk_state != TCP_CLOSE ||
	    !pep_relay_pending(in, out))
		return true;
	if (!flow->tail && !pep_relay_tail(flow, &flow->leg[!from]))
		return true;
	if (time_after_eq(jiffies, flow->deadline))
		return true;
	pep_flow_wake_within(flow, flow->deadline - jiffies);
	/* Acknowledgments schedule the flow, too. */
	set_bit(SOCK_NOSPACE, &out->sk_socket->flags);
	return false;
}

/* Counter of the reason why the flow is over, or PEP_STAT_NONE. */
static enum pep_stat pep_relay_cause(struct pep_flow *flow, bool broken)
{
	struct sock *w = flow->leg[PEP_SIDE_WIRELESS].sk;
	struct sock *s = flow->leg[PEP_SIDE_SERVER].sk;

	if (READ_ONCE(flow->killed))
		return PEP_STAT_FLOW_KILLED;
	if (READ_ONCE(flow->evicted))
		return PEP_STAT_FLOW_EVICTED;
	if (broken || pep_relay_failed(flow))
		return PEP_STAT_FLOW_RESET;
	if (w->sk_state == TCP_CLOSE && s->sk_state == TCP_CLOSE)
		return PEP_STAT_FLOW_CLOSED;
	/* The ends may go on past the legs. */
	if (pep_track_releasing(flow->conn))
		return PEP_STAT_NONE;
	return pep_idle_over(flow) ? PEP_STAT_FLOW_IDLE : PEP_STAT_NONE;
}

/* End the flow when it is over; false while it is not. One that is handed back is ended by
 * pep_release_poll(), which knows the numbers that its ends expect; with both legs closed
 * it is, when the FINs have passed.
 */
static bool pep_relay_over(struct pep_flow *flow, bool broken)
{
	enum pep_stat cause = pep_relay_cause(flow, broken) ?: flow->cause;

	if (!cause)
		return false;
	if (!pep_track_releasing(flow->conn)) {
		pep_flow_end(flow, cause);
		return true;
	}
	if (cause != PEP_STAT_FLOW_CLOSED)
		flow->cause = cause;
	pep_track_schedule(flow->conn);
	return true;
}

/* How often to look whether a connection has been handed back, jiffies. */
#define PEP_RELAY_RELEASING	HZ

/* Look again at a connection that is handed back: an end that owes an acknowledgment may not
 * be heard any more. Not more often, as pep_unheard_repeat() schedules the flow.
 */
static void pep_relay_releasing(struct pep_flow *flow)
{
	if (likely(!pep_track_releasing(flow->conn)) || timer_pending(&flow->timer))
		return;
	pep_track_schedule(flow->conn);
	pep_flow_wake_in(flow, PEP_RELAY_RELEASING);
}

/* With the legs locked: relay both directions, then end the flow or run it again. */
static enum pep_relay_result pep_relay_locked(struct pep_flow *flow,
					      struct pep_queue *queue)
{
	enum pep_relay_result to_wireless, to_server;

	if (pep_flow_legs_owned(flow)) {
		pep_stat_inc(flow->pn, PEP_STAT_RELAY_OWNED);
		pep_flow_wake_in(flow, 1);
		return PEP_RELAY_IDLE;
	}
	to_wireless = pep_relay_measured(flow, PEP_SIDE_SERVER, queue);
	to_server = pep_relay_measured(flow, PEP_SIDE_WIRELESS, queue);
	pep_link_sent(flow);
	if (pep_relay_over(flow, to_wireless == PEP_RELAY_BROKEN ||
			   to_server == PEP_RELAY_BROKEN))
		return PEP_RELAY_IDLE;
	pep_relay_releasing(flow);
	pep_relief_note(flow);
	if (to_wireless == PEP_RELAY_RETRY_LATER ||
	    to_server == PEP_RELAY_RETRY_LATER)
		pep_flow_wake_in(flow, PEP_RELAY_RETRY);
	if (to_wireless == PEP_RELAY_AGAIN || to_server == PEP_RELAY_AGAIN)
		return PEP_RELAY_AGAIN;
	return PEP_RELAY_IDLE;
}

/* Payload that a flow has relayed in its life, both ways, bytes. */
static u64 pep_relay_sum(const struct pep_flow *flow)
{
	return flow->leg[PEP_SIDE_WIRELESS].relayed +
	       flow->leg[PEP_SIDE_SERVER].relayed;
}

/**
 * pep_relay_run() - relay the payload of a flow that is up, both ways
 * @job: job of a flow, with a reference to the flow, which is dropped
 * @queue: this CPU's queue
 *
 * Ends the flow when both legs are closed or one has failed.
 *
 * Context: softirq, RCU read side.
 * Return: units of the poll's budget, by the payload.
 */
unsigned int pep_relay_run(struct pep_job *job, struct pep_queue *queue)
{
	struct pep_flow *flow = container_of(job, struct pep_flow, job);
	enum pep_relay_result result = PEP_RELAY_IDLE;
	unsigned int units = 1;
	u64 before;

	spin_lock(&flow->lock);
	before = pep_relay_sum(flow);
	if (flow->state == PEP_FLOW_STATE_ESTABLISHED ||
	    flow->state == PEP_FLOW_STATE_CLOSING) {
		pep_flow_lock_legs(flow);
		result = pep_relay_locked(flow, queue);
		pep_flow_unlock_legs(flow);
	}
	units += div_u64(pep_relay_sum(flow) - before, PEP_QUEUE_UNIT);
	spin_unlock(&flow->lock);
	if (result == PEP_RELAY_AGAIN)
		pep_flow_schedule(flow);
	pep_flow_put(flow);
	return units;
}
