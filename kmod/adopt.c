// SPDX-License-Identifier: GPL-2.0
/*
 * Taking a connection over in mid-stream.
 *
 * TCP_REPAIR makes two sockets the ends of a connection that they have not
 * opened: under repair tcp_connect() leads to TCP_ESTABLISHED without a packet.
 * Each leg goes on with the sequence numbers, the options and the clock of the
 * end that it speaks for, and its send queue holds the payload under way as
 * already sent. In this file the peer of a leg is the end on its own side, which it
 * talks to, and self the other end, which it speaks for.
 *
 * A job takes the connection over. The packet that triggers the job goes on to
 * the other end, as do those that the driver has delivered together with it: the
 * IP layer would find the leg for a packet yet to be forwarded, and drop it.
 */

#include "adopt.h"

#include <net/inet_ecn.h>
#include <net/l3mdev.h>
#include <net/tcp.h>

#include "callback.h"
#include "compat.h"
#include "copy.h"
#include "flow.h"
#include "gen.h"
#include "leg.h"
#include "limit.h"
#include "live.h"
#include "path.h"
#include "pool.h"
#include "relay.h"
#include "release.h"
#include "route.h"
#include "share.h"
#include "stat.h"
#include "untrack.h"

/* Largest receive buffer for the window that a leg's end was promised, bytes. */
#define PEP_ADOPT_RCVBUF	(16 * 1024 * 1024)

/* How long an end may have been silent, beyond two round trips. */
#define PEP_ADOPT_SILENCE	HZ

/* Has an end sent a packet lately? Else its packets may take another path now. */
static bool pep_adopt_heard(const struct pep_track_end *end)
{
	return (u32)jiffies - end->seen <=
	       PEP_ADOPT_SILENCE + 2 * usecs_to_jiffies(end->rtt);
}

/**
 * pep_adopt_ready() - can a connection be taken over as it stands?
 * @conn: followed connection, locked
 *
 * A leg cannot acknowledge to its end the payload that lies behind a hole.
 *
 * Return: true when the payload of both ends has no hole, all unacknowledged
 * payload has been kept, and both ends have sent packets lately.
 */
bool pep_adopt_ready(const struct pep_conn *conn)
{
	enum pep_side side;

	if (!conn->copies)
		return false;
	for (side = 0; side < 2; side++)
		if (!pep_adopt_heard(&conn->end[side]) ||
		    conn->end[side].next != conn->end[side].high ||
		    before(conn->end[!side].ack, conn->copies->start[side]))
			return false;
	return true;
}

/**
 * pep_adopt_prepare() - request sockets for a connection that may be split
 * @conn: connection with copies, locked
 *
 * Context: softirq.
 */
void pep_adopt_prepare(const struct pep_conn *conn)
{
	struct pep_pool *pool = this_cpu_ptr(conn->copies->gen->pools);
	enum pep_side side;

	for (side = 0; side < 2; side++)
		pep_pool_want(pool, pep_pool_connector(side,
						       conn->tuple.family));
}

/**
 * pep_adopt_give_up() - leave a connection to its ends, see pep_track_disarm()
 * @pn: its instance
 * @conn: connection, locked
 * @reason: counter of the reason; not counted for a connection without triggers, or
 *	one that was handed back and has sent nothing since
 *
 * Context: BH off.
 */
void pep_adopt_give_up(struct pep_net *pn, struct pep_conn *conn,
		       enum pep_stat reason)
{
	if (conn->trigger && (conn->copies || !conn->tally))
		pep_stat_unsplit(pn, conn->opener, &conn->tuple, reason);
	pep_track_disarm(conn);
}

/* Does the leg's route use the device that receives its end's packets? */
static bool pep_adopt_routed(struct net *net, struct sock *sk, int ifindex)
{
	struct net_device *dev = dev_get_by_index_rcu(net, ifindex);
	struct dst_entry *dst = __sk_dst_get(sk);

	return dev && dst && pep_route_uses(dst, dev);
}

/* Note one sample of the round trip as TCP would, RFC 6298, until the end has
 * acknowledged all that is @sent. Without a sample the leg starts with TCP's initial
 * values.
 */
static void pep_adopt_set_rtt(struct tcp_sock *tp, u32 rtt, u32 sent)
{
	if (!rtt)
		return;
	tp->srtt_us = rtt << 3;
	tp->mdev_us = rtt << 1;
	tp->rttvar_us = max(tp->mdev_us, tcp_rto_min_us((struct sock *)tp));
	tp->mdev_max_us = tp->rttvar_us;
	tp->rtt_seq = sent;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, rtt);
}

/* Options that both ends have. */
static u8 pep_adopt_agreed(const struct pep_conn *conn)
{
	return conn->end[0].flags & conn->end[1].flags;
}

/*
 * Establish the leg of a side: set the state that precedes connect(), which
 * sends nothing under repair. Return: 0 or a negative error.
 */
static int pep_adopt_connect(const struct pep_conn *conn, enum pep_side side,
			     struct sock *sk)
{
	const struct pep_track_end *peer = &conn->end[side];
	struct tcp_sock *tp = tcp_sk(sk);
	struct pep_tuple tuple;
	int err;

	/* The source is the end that the leg speaks for. */
	if (side == conn->opener)
		pep_tuple_reverse(&tuple, &conn->tuple);
	else
		tuple = conn->tuple;
	tp->repair = 1;
	tp->repair_queue = TCP_SEND_QUEUE;
	tp->rcv_nxt = peer->next;
	tp->rx_opt.user_mss = peer->mss;
	pep_adopt_set_rtt(tp, peer->rtt, peer->ack);
	err = pep_leg_connect(sk, &tuple, peer->ack);
	tp->rx_opt.user_mss = 0;
	if (!err && sk->sk_state != TCP_ESTABLISHED)
		err = -EPROTO;
	if (err || !tp->srtt_us)
		return err;
	/* Before the payload under way starts the timer. */
	inet_csk(sk)->icsk_rto =
		min_t(u32, usecs_to_jiffies((tp->srtt_us >> 3) + tp->rttvar_us),
		      TCP_RTO_MAX);
	return 0;
}

/* Set the options that the ends have negotiated. */
static void pep_adopt_set_options(const struct pep_conn *conn,
				  enum pep_side side, struct sock *sk)
{
	const struct pep_track_end *peer = &conn->end[side];
	const struct pep_track_end *self = &conn->end[!side];
	struct tcp_sock *tp = tcp_sk(sk);
	u8 agreed = pep_adopt_agreed(conn);

	tp->rx_opt.wscale_ok = !!(agreed & PEP_TRACK_SCALES);
	tp->rx_opt.snd_wscale = peer->wscale;
	tp->rx_opt.rcv_wscale = self->wscale;
	tp->rx_opt.sack_ok = agreed & PEP_TRACK_SACK ? TCP_SACK_SEEN : 0;
	tp->rx_opt.tstamp_ok = !!(agreed & PEP_TRACK_STAMPS);
	tp->tcp_header_len = sizeof(struct tcphdr);
	if (tp->rx_opt.tstamp_ok) {
		tp->rx_opt.saw_tstamp = 1;
		tp->rx_opt.ts_recent = peer->tsval;
		tp->rx_opt.ts_recent_stamp = ktime_get_seconds();
		tp->tcp_header_len += TCPOLEN_TSTAMP_ALIGNED;
		/* Never ahead of the end's own clock, nor behind the value that
		 * the peer has seen. The first segment carries the time that TCP
		 * has stored: tcp_mstamp_refresh().
		 */
		tp->tcp_usec_ts = 0;
		tp->tcp_clock_cache = tcp_clock_ns();
		tp->tcp_mstamp = div_u64(tp->tcp_clock_cache, NSEC_PER_USEC);
		WRITE_ONCE(tp->tsoffset, self->tsval -
			   (u32)div_u64(tp->tcp_clock_cache, NSEC_PER_MSEC));
	}
	tp->advmss = min_t(u32, dst_metric_advmss(__sk_dst_get(sk)), self->mss);
	if (agreed & PEP_TRACK_ECN)
		tp->ecn_flags |= PEP_COMPAT_ECN_OK;
	/* The segment's size depends on the options: compute it again. */
	inet_csk(sk)->icsk_pmtu_cookie = 0;
}

/* Send within the window that the peer has offered, and keep the one that the
 * peer was promised.
 */
static void pep_adopt_set_windows(const struct pep_conn *conn,
				  enum pep_side side, struct sock *sk)
{
	const struct pep_track_end *peer = &conn->end[side];
	const struct pep_track_end *self = &conn->end[!side];
	struct tcp_sock *tp = tcp_sk(sk);
	u32 offered = peer->edge - peer->ack, promised;
	/* A buffer of fixed size holds the promised window and no more. */
	u64 scale = sk->sk_userlocks & SOCK_RCVBUF_LOCK ? 2 : 4;

	tp->snd_wnd = offered;
	tp->max_window = offered;
	tp->snd_wl1 = peer->next;

	promised = self->edge - self->ack;
	tp->rcv_wup = self->ack;
	tp->rcv_wnd = promised;
	pep_compat_promised(tp);
	if (tcp_full_space(sk) < (int)promised)
		WRITE_ONCE(sk->sk_rcvbuf, min_t(u64, promised * scale,
						PEP_ADOPT_RCVBUF));
	WRITE_ONCE(tp->window_clamp,
		   min_t(u32, tcp_full_space(sk),
			 U16_MAX << tp->rx_opt.rcv_wscale));
	tp->rcv_ssthresh = min(tp->window_clamp,
			       max(promised, tp->rcv_ssthresh));
	/* No header prediction until the next segment in order. */
	tp->pred_flags = 0;
}

/* Segments that a leg may send at once, beyond those under way: none where its subscriber
 * has others in flight on other legs. Connections that begin at the same time would flood
 * the queue of their link.
 */
static u32 pep_adopt_more(const struct pep_conn *conn, enum pep_side side)
{
	return side == PEP_SIDE_WIRELESS && conn->path &&
	       atomic_read(&conn->path->legs) ? 0 : 2;
}

/* Load the payload under way to the peer. Return: 0 or a negative error. */
static int pep_adopt_load(const struct pep_conn *conn, enum pep_side side,
			  struct sock *sk, struct pep_queue *queue)
{
	const struct pep_track_end *peer = &conn->end[side];
	const struct pep_track_end *self = &conn->end[!side];
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = self->next - peer->ack;
	int sndbuf = sk->sk_sndbuf, err;

	/* Each copy becomes a packet of its own, and may take many times the size
	 * of its payload: all of them fit, regardless of the limit afterwards.
	 */
	WRITE_ONCE(sk->sk_sndbuf, INT_MAX);
	err = pep_copies_load(conn->copies, !side, sk, &queue->ubuf);
	if (!(sk->sk_userlocks & SOCK_SNDBUF_LOCK))
		sndbuf = max_t(u32, sndbuf, 4 * flight);
	WRITE_ONCE(sk->sk_sndbuf, sndbuf);
	if (err)
		return err;
	if (tp->write_seq != self->next || tp->snd_nxt != self->next)
		return -EBADMSG;
	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), tp->packets_out +
				 pep_adopt_more(conn, side)));
	tp->repair = 0;
	tp->repair_queue = 0;
	return 0;
}

/* Counter of an error that keeps a leg from taking the state of an end. Legs may share
 * ports, so it is connect() that finds the addresses and ports in use, EADDRNOTAVAIL. It
 * fails with EINVAL for a blackhole, and over IPv4 with ENODEV for a device that is gone.
 */
static enum pep_stat pep_adopt_reason(int err)
{
	switch (err) {
	case -EADDRINUSE:
	case -EADDRNOTAVAIL:
		return PEP_STAT_SPLIT_PASS_IN_USE;
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -EACCES:
	case -EINVAL:
	case -ENODEV:
		return PEP_STAT_SPLIT_PASS_ROUTE;
	case -EAGAIN:
	case -ENOMEM:
	case -ENOBUFS:
		return PEP_STAT_SPLIT_PASS_NO_MEMORY;
	default:
		return PEP_STAT_SPLIT_PASS_FAILED;
	}
}

/* Give a leg the state of the end that it speaks for. Return: PEP_STAT_NONE, or the
 * counter of the reason against it.
 */
static enum pep_stat pep_adopt_leg(struct pep_flow *flow,
				   const struct pep_conn *conn,
				   enum pep_side side, struct pep_queue *queue)
{
	const struct pep_track_end *peer = &conn->end[side];
	struct sock *sk = flow->leg[side].sk;
	int err, vrf;

	WRITE_ONCE(sk->sk_bound_dev_if,
		   pep_gen_bound(flow->gen, side, peer->ifindex));
	if (flow->gen->values.dscp == PEP_DSCP_COPY)
		pep_leg_set_dsfield(sk, conn->dsfield[!side]);
	err = pep_adopt_connect(conn, side, sk);
	if (err)
		return pep_adopt_reason(err);
	if (!pep_adopt_routed(flow->pn->net, sk, peer->ifindex))
		return PEP_STAT_SPLIT_PASS_ROUTE;
	/* See pep_filter_device(). */
	vrf = l3mdev_master_ifindex_by_index(flow->pn->net, peer->ifindex);
	WRITE_ONCE(sk->sk_rx_dst_ifindex, vrf ?: peer->ifindex);
	pep_adopt_set_options(conn, side, sk);
	pep_adopt_set_windows(conn, side, sk);
	err = pep_adopt_load(conn, side, sk, queue);
	return err ? pep_adopt_reason(err) : PEP_STAT_NONE;
}

/* From now on the ends see the legs only. */
static void pep_adopt_begin(struct pep_flow *flow,
			    const struct pep_conn *conn)
{
	enum pep_side side;

	pep_flow_advance(flow, PEP_FLOW_UP);
	pep_live_up(flow);
	pep_leg_start(flow->leg[PEP_SIDE_WIRELESS].sk,
		      flow->gen->values.initial_window);
	WRITE_ONCE(flow->path, pep_share_split(conn->path));
	pep_resume_begin(flow);
	pep_stat_inc(flow->pn, PEP_STAT_FLOW_ESTABLISHED);
	for (side = 0; side < 2; side++) {
		struct sock *sk = flow->leg[side].sk;

		__tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt, 0);
	}
	pep_flow_schedule(flow);
}

/* Undo the changes to the legs: under repair disconnect() sends nothing. */
static void pep_adopt_undo(struct pep_flow *flow, enum pep_stat reason)
{
	enum pep_side side;

	for (side = 0; side < 2; side++)
		tcp_sk(flow->leg[side].sk)->repair = 1;
	pep_flow_end(flow, reason);
	for (side = 0; side < 2; side++)
		tcp_sk(flow->leg[side].sk)->repair = 0;
}

/* Set the times of the ends' parts of the handshake, as far as they are known:
 * round trips of a connection that was handed back are later ones.
 */
static void pep_adopt_set_times(struct pep_flow *flow,
				const struct pep_conn *conn)
{
	u64 target = conn->end[!conn->opener].rtt;
	u64 opener = conn->end[conn->opener].rtt;

	if (conn->repeated || conn->tally)
		return;
	flow->at[PEP_FLOW_TIME_ANSWERED] = conn->born +
					   target * NSEC_PER_USEC;
	flow->at[PEP_FLOW_TIME_ACCEPTED] = conn->born +
					   (target + opener) * NSEC_PER_USEC;
}

/* Make legs of two sockets. Return: PEP_STAT_NONE, or the reason's counter, which
 * pep_flow_end() has counted.
 */
static enum pep_stat pep_adopt_legs(struct pep_flow *flow,
				    const struct pep_conn *conn,
				    struct pep_sock *ps[2],
				    struct pep_queue *queue)
{
	enum pep_stat reason = PEP_STAT_NONE;
	enum pep_side side;

	for (side = 0; side < 2; side++)
		pep_flow_set_leg(flow, side, ps[side]->sock->sk, ps[side]);
	pep_flow_lock_legs(flow);
	for (side = 0; side < 2; side++)
		pep_callback_attach(flow, flow->leg[side].sk);
	for (side = 0; side < 2 && !reason; side++)
		reason = pep_adopt_leg(flow, conn, side, queue);
	if (reason)
		pep_adopt_undo(flow, reason);
	else
		pep_adopt_begin(flow, conn);
	pep_flow_unlock_legs(flow);
	return reason;
}

/**
 * pep_adopt_ended() - schedule the end of a connection whose flow has ended
 * @flow: flow that has a connection, locked
 *
 * Context: BH off.
 */
void pep_adopt_ended(struct pep_flow *flow)
{
	struct pep_conn *conn = flow->conn;

	if (pep_job_claim(&conn->job))
		pep_queue_job(&conn->job);
	else
		pep_track_put(conn);
}

/**
 * pep_adopt_own() - make a flow the owner of a connection
 * @conn: connection, locked
 * @flow: flow, locked, with a reference that the connection takes over
 *
 * Context: BH off.
 */
void pep_adopt_own(struct pep_conn *conn, struct pep_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	refcount_inc(&conn->ref);
	WRITE_ONCE(flow->conn, conn);
	/* pep_follow_leg() reads it without the lock. */
	smp_store_release(&conn->flow, flow);
	pep_track_advance(flow->pn, conn, PEP_TRACK_ADOPT);
}

static const struct pep_flow_ops pep_adopt_ops = {
	.mode = PEP_CONNECT_MODE_FOLLOW,
	.run = pep_relay_run,
	.ended = pep_adopt_ended,
};

/* Create the flow; false when the connection stays unsplit, the reason counted. */
static bool pep_adopt_flow(struct pep_gen *gen, struct pep_conn *conn,
			   struct pep_sock *ps[2], struct pep_queue *queue)
{
	struct pep_net *pn = gen->pn;
	struct pep_flow *flow;
	enum pep_stat reason;

	flow = pep_flow_create(gen, &pep_adopt_ops, conn->opener,
			       &conn->tuple, conn->end[conn->opener].ifindex,
			       conn->born);
	if (!flow) {
		pep_pool_release(ps[0]);
		pep_pool_release(ps[1]);
		pep_stat_unsplit(pn, conn->opener, &conn->tuple,
				 PEP_STAT_SPLIT_PASS_NO_MEMORY);
		return false;
	}
	spin_lock(&flow->lock);
	pep_adopt_set_times(flow, conn);
	reason = pep_adopt_legs(flow, conn, ps, queue);
	if (!reason)
		pep_adopt_own(conn, flow);
	spin_unlock(&flow->lock);
	if (!reason) {
		pep_untrack_split(pn->net, &conn->tuple);
		return true;
	}
	/* The end of the flow has counted it. */
	pep_stat_trace_unsplit(pn, conn->opener, &conn->tuple, reason);
	pep_flow_put(flow);
	return false;
}

/* Counter of the trigger that split a connection. */
static enum pep_stat pep_adopt_trigger(unsigned int due)
{
	if (due & PEP_SPLIT_TRIGGER_HANDSHAKE)
		return PEP_STAT_SPLIT_HANDSHAKE;
	if (due & PEP_SPLIT_TRIGGER_LOSS)
		return PEP_STAT_SPLIT_LOSS;
	return PEP_STAT_SPLIT_BYTES;
}

/* Is a device of the connection being detached? See pep_release_leave(). */
static bool pep_adopt_leaving(struct pep_net *pn, const struct pep_conn *conn)
{
	return pep_release_leaves(pn, conn->end[0].ifindex) ||
	       pep_release_leaves(pn, conn->end[1].ifindex);
}

/* Try again when the pool has been filled, unless filling it failed. */
static void pep_adopt_wait(struct pep_pool *pool, struct pep_conn *conn)
{
	if (pool->failed) {
		pep_adopt_give_up(pool->gen->pn, conn,
				  PEP_STAT_SPLIT_PASS_NO_MEMORY);
	} else if (pep_job_claim(&conn->job)) {
		refcount_inc(&conn->ref);
		pep_pool_wait_job(pool, &conn->job);
	}
}

/* Take over a connection that is ready for it. */
static void pep_adopt_take(struct pep_conn *conn, struct pep_queue *queue)
{
	struct pep_gen *gen = conn->copies->gen;
	struct pep_pool *pool = this_cpu_ptr(gen->pools);
	struct pep_net *pn = gen->pn;
	struct pep_sock *ps[2];
	enum pep_stat reason;
	bool ready = true;
	enum pep_side side;

	if (READ_ONCE(pn->stopping) || READ_ONCE(gen->closed)) {
		pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_STOPPING);
		return;
	}
	reason = pep_limit_check(gen);
	if (reason == PEP_STAT_SPLIT_PASS_PRESSURE)
		pep_share_relieve(pn);
	if (reason)
		pep_limit_refused(pn, reason, NULL);
	else
		reason = pep_share_check(pn, conn->path);
	if (reason) {
		pep_adopt_give_up(pn, conn, reason);
		return;
	}
	/* A leg would receive nothing from a side without a device, and packets have
	 * passed unseen where it had none for a while.
	 */
	if (pep_adopt_leaving(pn, conn) ||
	    conn->gaps != (u8)atomic_read(&pn->gaps) ||
	    !atomic_read(&pn->devices[PEP_SIDE_WIRELESS]) ||
	    !atomic_read(&pn->devices[PEP_SIDE_SERVER])) {
		pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_ROUTE);
		return;
	}
	for (side = 0; side < 2; side++)
		ready &= pep_pool_has(pool,
				      pep_pool_connector(side,
							 conn->tuple.family));
	if (!ready) {
		pep_adopt_wait(pool, conn);
		return;
	}
	for (side = 0; side < 2; side++)
		ps[side] = pep_pool_take(pool,
					 pep_pool_connector(side,
							    conn->tuple.family));
	if (pep_adopt_flow(gen, conn, ps, queue))
		pep_stat_inc(pn, pep_adopt_trigger(conn->due));
	pep_track_disarm(conn);
}

/* Drop copies that nothing has acknowledged for long. */
static void pep_adopt_expire(struct pep_conn *conn)
{
	struct pep_copies *copies = conn->copies;
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		if (!pep_copies_stale(copies, side) ||
		    pep_copies_restart(copies, side, &conn->end[side]))
			continue;
		pep_adopt_give_up(copies->gen->pn, conn,
				  PEP_STAT_SPLIT_PASS_COPIES);
		return;
	}
}

/**
 * pep_adopt_run() - take a connection over, hand it back, or forget one whose flow
 *	has ended
 * @job: job of a connection
 * @queue: scratch
 *
 * Context: softirq, RCU read side.
 * Return: units of the poll's budget.
 */
unsigned int pep_adopt_run(struct pep_job *job, struct pep_queue *queue)
{
	struct pep_conn *conn = container_of(job, struct pep_conn, job);

	spin_lock(&conn->lock);
	if (conn->stage == PEP_TRACK_FOLLOWED && conn->due &&
	    pep_adopt_ready(conn))
		pep_adopt_take(conn, queue);
	else if (conn->stage == PEP_TRACK_FOLLOWED && conn->copies)
		pep_adopt_expire(conn);
	else if (conn->stage == PEP_TRACK_RELEASING)
		pep_release_poll(conn);
	else if (conn->stage == PEP_TRACK_SPLIT &&
		 READ_ONCE(conn->flow->state) == PEP_FLOW_STATE_DEAD)
		pep_track_advance(conn->flow->pn, conn, PEP_TRACK_END);
	else if (conn->stage == PEP_TRACK_SPLIT)
		pep_release_idle(conn);
	spin_unlock(&conn->lock);
	pep_track_put(conn);
	return 1;
}
