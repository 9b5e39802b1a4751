// SPDX-License-Identifier: GPL-2.0
/*
 * Handing a connection back to its ends.
 *
 * Each direction gets a cut, after the bytes that its leg has received. The legs
 * still send and repeat the bytes before the cuts; bytes beyond them go on to the
 * other end at once. When each end has acknowledged the cut of the other, the legs
 * have nothing left to do and end without a packet.
 *
 * The legs leave the table of sockets at the cut, so that early demux does not
 * take packets that pass. Until the legs are gone, packets find them by the
 * connection.
 */

#include "release.h"

#include <linux/random.h>
#include <net/tcp.h>

#include "clock.h"
#include "compat.h"
#include "detour.h"
#include "edge.h"
#include "gen.h"
#include "idle.h"
#include "meter.h"
#include "repair.h"
#include "segment.h"
#include "stat.h"
#include "unheard.h"
#include "untrack.h"

/* How long a release may take, jiffies; pep_relay_run() and pep_sweep_work() look after it. */
#define PEP_RELEASE_DEADLINE	(10 * HZ)

/* The same where packets of the connection take another way, so that an end may not be
 * heard, see unheard.c.
 */
#define PEP_RELEASE_UNHEARD	(150 * HZ)

/* When to look at a release again, or at a flow whose sockets a process owns, jiffies. */
#define PEP_RELEASE_AGAIN	HZ

/* When to try again with an end that may have shown its clock meanwhile, jiffies; on
 * average, so that the attempts do not keep step with keepalive probes.
 */
#define PEP_RELEASE_SHOWN	(5 * HZ)

/* Time since the cuts, jiffies. */
static u32 pep_release_takes(const struct pep_conn *conn)
{
	return (u32)jiffies - conn->seen;
}

/* Are both ends there, with nothing that only the legs know? */
static bool pep_release_open(const struct pep_flow *flow)
{
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		const struct pep_leg *leg = &flow->leg[side];

		if (leg->sk->sk_state != TCP_ESTABLISHED || leg->fin_sent ||
		    leg->sk->sk_err || sock_flag(leg->sk, SOCK_DONE))
			return false;
	}
	return true;
}

/* A leg must not forget payload that it has received out of order: it may have
 * reported it by SACK.
 */
static bool pep_release_in_order(const struct pep_flow *flow)
{
	return RB_EMPTY_ROOT(&tcp_sk(flow->leg[0].sk)->out_of_order_queue) &&
	       RB_EMPTY_ROOT(&tcp_sk(flow->leg[1].sk)->out_of_order_queue);
}

/* Has the leg bytes to acknowledge, or room to offer again? Nothing else does. */
static bool pep_release_owes(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->rcv_wup != tp->rcv_nxt || inet_csk_ack_scheduled(sk) ||
	       tcp_receive_window(tp) < inet_csk(sk)->icsk_ack.rcv_mss;
}

/* Note the state of an end, and take its leg out of the table of sockets. */
static void pep_release_cut(struct pep_track_end *end, const struct pep_leg *leg)
{
	struct sock *sk = leg->sk;
	const struct tcp_sock *tp = tcp_sk(sk);
	int ifindex = pep_leg_device(leg, sk);
	u32 rtt = tcp_min_rtt(tp);

	if (pep_release_owes(sk))
		__tcp_send_ack(sk, tp->rcv_nxt, 0);
	end->next = tp->rcv_nxt;
	end->high = tp->rcv_nxt;
	end->ack = tp->snd_una;
	end->edge = tp->snd_una + tp->snd_wnd;
	end->seen = tp->rcv_tstamp;
	if (rtt != ~0U)
		end->rtt = rtt;
	/* A VRF may hide the device. */
	if (ifindex && !netif_index_is_l3_master(sock_net(sk), ifindex))
		end->ifindex = ifindex;
	sk->sk_prot->unhash(sk);
}

/* Make a cut in each direction. */
static void pep_release_cuts(struct pep_conn *conn, struct pep_flow *flow)
{
	pep_release_cut(&conn->end[0], &flow->leg[0]);
	pep_release_cut(&conn->end[1], &flow->leg[1]);
	pep_edge_cut(conn, flow);
	/* The round trips are not those of the handshake any more. */
	conn->repeated = true;
	WRITE_ONCE(conn->seen, jiffies);
	pep_track_advance(flow->pn, conn, PEP_TRACK_CUT);
	pep_flow_wake_within(flow, PEP_RELEASE_AGAIN);
}

/*
 * A packet that was on its way to the leg when the cut was made is the leg's, and moves
 * the cut. Without the leg's lock: the other end acknowledges the packet's payload only
 * after the leg has received it.
 */
static void pep_release_move(struct pep_conn *conn, enum pep_side side)
{
	const struct tcp_sock *tp = tcp_sk(conn->flow->leg[side].sk);
	struct pep_track_end *self = &conn->end[side];
	u32 received = READ_ONCE(tp->rcv_nxt);

	if (after(received, self->next))
		self->next = received;
	if (after(self->next, self->high))
		self->high = self->next;
}

/* Bytes that an end accepts after those that it has acknowledged. */
static u32 pep_release_room(const struct pep_track_end *end)
{
	return after(end->edge, end->ack) ? end->edge - end->ack : 0;
}

/* The leg that speaks for an end goes on after payload that has reached the other end
 * past it.
 */
static void pep_release_skip(struct tcp_sock *speaks, const struct pep_track_end *peer)
{
	WRITE_ONCE(speaks->write_seq, peer->ack);
	speaks->pushed_seq = peer->ack;
	WRITE_ONCE(speaks->snd_nxt, peer->ack);
	speaks->snd_una = peer->ack;
	speaks->snd_wnd = pep_release_room(peer);
}

/*
 * Keep the cut and a leg in step, with both locked. An acknowledgment by the other end
 * beyond the cut moves the leg: the leg's own acknowledgments would be too old for its
 * end otherwise. The leg that speaks for the end moves along, since a packet may still
 * be on its way to the first one; while it has payload to repeat neither moves.
 */
static void pep_release_align(struct pep_conn *conn, struct pep_flow *flow,
			      enum pep_side side)
{
	struct tcp_sock *tp = tcp_sk(flow->leg[side].sk);
	const struct pep_track_end *peer = &conn->end[!side];
	struct sock *out = flow->leg[!side].sk;

	if (after(peer->ack, tp->rcv_nxt) && tp->copied_seq == tp->rcv_nxt &&
	    tcp_sk(out)->write_seq == tp->rcv_nxt &&
	    tcp_rtx_and_write_queues_empty(out)) {
		pep_edge_offered(conn, side, &flow->leg[side]);
		tp->rcv_nxt = peer->ack;
		tp->rcv_wup = peer->ack;
		tp->rcv_wnd = pep_release_room(peer);
		WRITE_ONCE(tp->copied_seq, peer->ack);
		pep_compat_promised(tp);
		pep_release_skip(tcp_sk(out), peer);
	}
	pep_release_move(conn, side);
}

static bool pep_release_done(struct pep_conn *conn, struct pep_flow *flow)
{
	pep_release_align(conn, flow, 0);
	pep_release_align(conn, flow, 1);
	return pep_unheard_arrived(conn, flow, 0) && pep_unheard_arrived(conn, flow, 1);
}

/* How does a release end, whose time is over when it is @late? Return: counter of the cause,
 * or PEP_STAT_NONE while it goes on.
 */
static enum pep_stat pep_release_cause(struct pep_conn *conn, struct pep_flow *flow, bool late)
{
	if (pep_release_done(conn, flow))
		return PEP_STAT_FLOW_RELEASED;
	if (conn->resume) {
		if (pep_unheard_repeat(conn, flow))
			return PEP_STAT_FLOW_RELEASED;
		late = late && pep_release_takes(conn) >= PEP_RELEASE_UNHEARD;
	}
	return late ? PEP_STAT_FLOW_KILLED : PEP_STAT_NONE;
}

/* Note the acknowledgment and the window of an end that its leg has received since the
 * cut: packets that were on their way to it.
 */
static void pep_release_note(struct pep_track_end *end,
			     const struct tcp_sock *tp)
{
	u32 edge = tp->snd_una + tp->snd_wnd;

	if (after(tp->snd_una, end->ack))
		end->ack = tp->snd_una;
	if (after(edge, end->edge))
		end->edge = edge;
}

/* End the legs without a packet; with the connection, the flow and them locked. */
static void pep_release_finish(struct pep_conn *conn, struct pep_flow *flow,
			       enum pep_stat cause)
{
	struct pep_net *pn = flow->pn;
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		const struct sock *sk = flow->leg[side].sk;
		struct pep_track_end *end = &conn->end[side];

		pep_release_note(end, tcp_sk(sk));
		pep_detour_acked(conn, flow, side);
		end->bytes += tcp_sk(sk)->bytes_received - sock_flag(sk, SOCK_DONE);
		end->next = end->high;
		end->tsval = pep_clock_seen(flow, side);
		/* A FIN that was on its way to the leg at the cut. */
		if (sock_flag(sk, SOCK_DONE))
			end->flags |= PEP_TRACK_FIN;
	}
	pep_edge_back(conn, flow);
	pep_repair_end(flow, cause);
	WRITE_ONCE(conn->seen, jiffies);
	pep_untrack_back(pn->net, &conn->tuple, &conn->end[conn->opener],
			 &conn->end[!conn->opener]);
	pep_track_advance(pn, conn, PEP_TRACK_RELEASED);
	pep_track_fins(pn, conn);
}

/* End the legs with resets that have the sequence numbers that the ends expect. */
static void pep_release_abort(struct pep_conn *conn, struct pep_flow *flow,
			      enum pep_stat cause)
{
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		struct tcp_sock *tp = tcp_sk(flow->leg[!side].sk);
		const struct pep_track_end *peer = &conn->end[!side];

		WRITE_ONCE(tp->write_seq, conn->end[side].high);
		WRITE_ONCE(tp->snd_nxt, conn->end[side].high);
		/* tcp_acceptable_seq() compares them with the window. */
		tp->snd_una = peer->ack;
		tp->snd_wnd = pep_release_room(peer);
	}
	pep_flow_end(flow, cause);
	pep_track_advance(flow->pn, conn, PEP_TRACK_END);
}

/*
 * End the legs if that is possible by now, or in any case when there is a @cause, or the
 * relay has found one; @late is the end of the time for it. A cause waits where a process
 * has a socket. Return: true when the release is over.
 */
static bool pep_release_try(struct pep_conn *conn, enum pep_stat cause, bool late)
{
	struct pep_flow *flow = conn->flow;
	bool over = true;

	spin_lock(&flow->lock);
	if (flow->state == PEP_FLOW_STATE_DEAD) {
		pep_track_advance(flow->pn, conn, PEP_TRACK_END);
		goto out;
	}
	cause = flow->cause ?: cause;
	pep_flow_lock_legs(flow);
	if (pep_flow_legs_owned(flow)) {
		over = false;
		flow->cause = cause;
		if (cause)
			pep_flow_wake_in(flow, 1);
		goto unlock;
	}
	cause = cause ?: pep_release_cause(conn, flow, late);
	/* The other end is yet to know. */
	if (cause == PEP_STAT_FLOW_RELEASED &&
	    (pep_leg_failed(flow->leg[0].sk) || pep_leg_failed(flow->leg[1].sk)))
		cause = PEP_STAT_FLOW_RESET;
	if (!cause)
		over = false;
	else if (cause == PEP_STAT_FLOW_RELEASED)
		pep_release_finish(conn, flow, cause);
	else
		pep_release_abort(conn, flow, cause);
unlock:
	pep_flow_unlock_legs(flow);
out:
	spin_unlock(&flow->lock);
	return over;
}

/**
 * pep_release_poll() - see whether a release is done, or has taken too long
 * @conn: connection in PEP_TRACK_RELEASING, locked
 *
 * Context: softirq, RCU read side.
 */
void pep_release_poll(struct pep_conn *conn)
{
	pep_release_try(conn, PEP_STAT_NONE,
			pep_release_takes(conn) > PEP_RELEASE_DEADLINE);
}

/* Begin to hand a flow's connection back, with all locked. */
static bool pep_release_start(struct pep_conn *conn, struct pep_flow *flow)
{
	if (!pep_release_open(flow) || !pep_clock_goes_on(flow, true))
		return false;
	/* In a moment, maybe. */
	if (pep_flow_legs_owned(flow) || !pep_release_in_order(flow) ||
	    !pep_clock_ask(flow))
		return true;
	pep_release_cuts(conn, flow);
	if (pep_release_done(conn, flow))
		pep_release_finish(conn, flow, PEP_STAT_FLOW_RELEASED);
	return true;
}

/* Hand back a connection that has nothing under way, with all locked, and let its
 * profile split it again.
 */
static void pep_release_at_once(struct pep_conn *conn, struct pep_flow *flow)
{
	const struct pep_gen *gen;

	conn->used = false;
	conn->tally = pep_tally_get(flow->gen->tally);
	gen = rcu_dereference(conn->tally->gen);
	conn->trigger = gen ? gen->values.split_trigger : 0;
	pep_release_cuts(conn, flow);
	pep_release_finish(conn, flow, PEP_STAT_FLOW_RELEASED_IDLE);
}

/**
 * pep_release_idle() - hand back a connection whose flow has been idle
 * @conn: connection in PEP_TRACK_SPLIT, locked
 *
 * Does nothing unless pep_idle_over() has asked for it. Each end has acknowledged
 * the cut of the other already, so the release is done at once. Where that is
 * impossible the flow goes on.
 *
 * Context: softirq, RCU read side.
 */
void pep_release_idle(struct pep_conn *conn)
{
	struct pep_flow *flow = conn->flow;
	unsigned long again;

	spin_lock(&flow->lock);
	if (flow->state == PEP_FLOW_STATE_ESTABLISHED && flow->idle_due) {
		pep_flow_lock_legs(flow);
		if (flow->pinned || pep_flow_legs_owned(flow)) {
			/* In a moment, maybe. */
			flow->idle_due = false;
			pep_flow_wake_in(flow, pep_idle_again(flow, PEP_RELEASE_AGAIN));
		} else if (!pep_idle_lasts(flow) || !pep_release_open(flow)) {
			/* Not before something has happened to it. */
		} else if (!pep_clock_goes_on(flow, false)) {
			/* The end's answers to keepalive probes may show another. */
			flow->idle_due = false;
			again = flow->release_idle * HZ;
			pep_flow_wake_in(flow, pep_idle_again(flow, again));
		} else if (pep_clock_shown(flow)) {
			pep_release_at_once(conn, flow);
		} else {
			flow->idle_due = false;
			again = PEP_RELEASE_SHOWN / 2 +
				get_random_u32_below(PEP_RELEASE_SHOWN);
			pep_flow_wake_in(flow, pep_idle_again(flow, again));
		}
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);
}

/* Hand back a connection whose packets take another way, with all locked. A leg forgets
 * payload behind a hole: its end repeats it in time, although the leg has reported it.
 */
static void pep_release_elsewhere(struct pep_conn *conn, struct pep_flow *flow)
{
	bool back = pep_release_open(flow) && pep_clock_goes_on(flow, true);

	pep_stat_inc(flow->pn, PEP_STAT_FOLLOW_DETOUR);
	pep_release_cuts(conn, flow);
	pep_detour_beyond(conn, flow, 0);
	pep_detour_beyond(conn, flow, 1);
	pep_leg_hasten(&flow->leg[0]);
	pep_leg_hasten(&flow->leg[1]);
	pep_meter_leg(flow);
	pep_meter_end(conn);
	pep_track_lapse(conn);
	if (conn->detours < PEP_TRACK_DETOURS)
		conn->detours++;
	if (!back)
		pep_release_abort(conn, flow, PEP_STAT_FLOW_KILLED);
	else if (pep_release_done(conn, flow))
		pep_release_finish(conn, flow, PEP_STAT_FLOW_RELEASED);
}

/**
 * pep_release_detour() - hand back a connection whose packets take another way
 * @conn: connection in PEP_TRACK_SPLIT, locked
 *
 * Does nothing unless pep_detour_note() has asked for it. Once both ends have been heard
 * their profile may split the connection again. One that cannot be handed back is reset, as
 * nothing would move in it. While a process has a socket, the end's next packet asks again:
 * the other one repeats what that end has acknowledged.
 *
 * Context: softirq, RCU read side.
 * Return: true when the connection is handed back, or reset.
 */
bool pep_release_detour(struct pep_conn *conn)
{
	struct pep_flow *flow = conn->flow;
	bool ready = false;

	if (likely(!READ_ONCE(flow->detour)))
		return false;
	spin_lock(&flow->lock);
	WRITE_ONCE(flow->detour, false);
	if (flow->state != PEP_FLOW_STATE_DEAD) {
		pep_flow_lock_legs(flow);
		ready = !flow->pinned && !pep_flow_legs_owned(flow);
		if (ready)
			pep_release_elsewhere(conn, flow);
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);
	return ready;
}

/**
 * pep_release_reopened() - end the legs of a connection that an end opens anew
 * @conn: connection in PEP_TRACK_RELEASING, locked
 * @side: side of the end
 * @seq: number of its SYN
 *
 * The new connection would meet the resets of the old one's legs. The end has to be done
 * with that: it has sent a FIN, and acknowledged all that the legs have had for it, and the
 * number is larger than those of before, RFC 6191.
 *
 * Context: softirq, RCU read side.
 * Return: false when the end is not done, or a process has a socket.
 */
bool pep_release_reopened(struct pep_conn *conn, enum pep_side side, u32 seq)
{
	const struct pep_track_end *self = &conn->end[side];
	struct pep_flow *flow = conn->flow;
	bool ended = true;

	if (!(self->flags & PEP_TRACK_FIN) || !after(seq, self->high))
		return false;
	spin_lock(&flow->lock);
	if (flow->state != PEP_FLOW_STATE_DEAD) {
		pep_flow_lock_legs(flow);
		ended = !pep_flow_legs_owned(flow) && pep_unheard_arrived(conn, flow, !side);
		if (ended)
			pep_repair_end(flow, PEP_STAT_FLOW_CLOSED);
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);
	return ended;
}

/* Begin to hand a flow's connection back; false when that is impossible. */
static bool pep_release_begin(struct pep_flow *flow)
{
	struct pep_conn *conn = READ_ONCE(flow->conn);
	bool way = false;

	/* The ends of an early flow do not have the same sequence numbers. */
	if (!conn || flow->mode == PEP_CONNECT_MODE_EARLY)
		return false;
	spin_lock_bh(&conn->lock);
	if (conn->flow != flow || conn->stage != PEP_TRACK_SPLIT) {
		/* The last acknowledgment may have been on its way to the leg. */
		way = conn->flow == flow &&
		      conn->stage == PEP_TRACK_RELEASING &&
		      !pep_release_try(conn, PEP_STAT_NONE, false);
		goto out;
	}
	spin_lock(&flow->lock);
	if (flow->state == PEP_FLOW_STATE_ESTABLISHED && flow->pinned) {
		way = true;		/* in a moment, maybe */
	} else if (flow->state == PEP_FLOW_STATE_ESTABLISHED) {
		pep_flow_lock_legs(flow);
		way = pep_release_start(conn, flow);
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);
out:
	spin_unlock_bh(&conn->lock);
	return way;
}

/**
 * pep_release_flows() - hand connections back to their ends
 * @pn: instance
 * @match: selects the flows; called on the RCU read side; NULL for all
 * @filter: handed to @match
 *
 * A release is done when the ends have acknowledged the payload in the legs: within
 * a round trip and a residence where nothing is lost.
 *
 * Context: may sleep.
 * Return: number of flows that are gone, are being released, or may be in a moment:
 * 0 from a repeated call means that there is nothing to wait for.
 */
unsigned int pep_release_flows(struct pep_net *pn, pep_flow_match *match,
			       const void *filter)
{
	return pep_flow_each(pn, match, filter, pep_release_begin);
}

/**
 * pep_release_packet() - handle a packet of a connection that is released
 * @conn: connection in PEP_TRACK_RELEASING, locked
 * @side: side of the end that has sent it, enum pep_side
 * @skb: packet
 * @pkt: parsed @skb
 * @way: result
 *
 * Context: softirq, RCU read side.
 */
void pep_release_packet(struct pep_conn *conn, enum pep_side side,
			const struct sk_buff *skb, const struct pep_packet *pkt,
			struct pep_release_way *way)
{
	struct pep_track_end *self = &conn->end[side];
	struct pep_track_end *peer = &conn->end[!side];
	const struct tcphdr *th = pkt->th;
	u32 seq = ntohl(th->seq), last = seq + pkt->payload + th->fin;
	u32 ack = ntohl(th->ack_seq);
	u32 edge = pep_track_offer(self, th);

	way->leg = NULL;
	way->pass = true;
	pep_release_move(conn, 0);
	pep_release_move(conn, 1);
	if (!pep_segment_released(conn, side, skb, pkt))
		return;
	if (th->rst) {
		/* RFC 5961: the end itself would challenge other resets. */
		if (seq == peer->ack || seq == self->high)
			pep_release_try(conn, PEP_STAT_FLOW_RESET, false);
		return;
	}
	if (conn->resume) {
		conn->heard |= BIT(side);
		pep_unheard_note(conn, side, pkt);
	}
	if (after(ack, peer->high))
		peer->high = ack;
	if (after(ack, self->ack))
		self->ack = ack;
	if (after(edge, self->edge))
		self->edge = edge;
	/* It passes when it reaches beyond the cut of its side, or acknowledges all in
	 * front of the peer's; pep_release_try() may move the cuts.
	 */
	way->pass = after(last, self->next) || !before(ack, peer->next);
	if (after(last, self->high)) {
		self->bytes += pkt->payload;
		self->high = last;
		if (th->fin)
			self->flags |= PEP_TRACK_FIN;
	}
	if (pep_release_try(conn, PEP_STAT_NONE, false)) {
		way->pass = true;
		return;
	}
	way->seq = self->next;
	way->ack = before(ack, peer->next) ? ack : peer->next;
	way->leg = conn->flow->leg[side].sk;
	sock_hold(way->leg);
}
