// SPDX-License-Identifier: GPL-2.0
/*
 * Taking a connection over in mid-stream.
 *
 * Two sockets of the pool become the ends of a connection that they have not opened, see
 * repair.c.
 *
 * A job takes the connection over. The packet that triggers the job goes on to
 * the other end, as do those that the driver has delivered together with it: the
 * IP layer would find the leg for a packet yet to be forwarded, and drop it.
 */

#include "adopt.h"

#include <net/tcp.h>

#include "callback.h"
#include "compat.h"
#include "copies.h"
#include "flow.h"
#include "gen.h"
#include "leave.h"
#include "leg.h"
#include "limit.h"
#include "live.h"
#include "path.h"
#include "pool.h"
#include "relay.h"
#include "release.h"
#include "repair.h"
#include "share.h"
#include "stat.h"
#include "untrack.h"

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
 * A leg cannot acknowledge to its end the payload that lies behind a hole, nor should it
 * send what its end has no room for.
 *
 * Context: BH off.
 * Return: true when all payload of both ends has passed here, without a hole, all
 * unacknowledged payload has been kept, and both ends have sent packets lately; over IPv6
 * both ends' flow labels are known, too; and neither end has more under way than the other
 * one offers.
 */
bool pep_adopt_ready(const struct pep_conn *conn)
{
	enum pep_side side;

	if (!conn->copies || conn->unseen)
		return false;
	for (side = 0; side < 2; side++)
		if (!pep_adopt_heard(&conn->end[side]) ||
		    (conn->tuple.family == AF_INET6 &&
		     !conn->copies->label[side]) ||
		    conn->end[side].next != conn->end[side].high ||
		    after(conn->end[side].high, conn->end[!side].edge) ||
		    before(conn->end[!side].ack, conn->copies->start[side]))
			return false;
	return true;
}

/**
 * pep_adopt_prepare() - request sockets for a connection that may be split
 * @conn: connection with copies, locked
 *
 * Context: BH off.
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
	if (conn->trigger && (conn->used || !pep_track_tally(conn)))
		pep_stat_unsplit(pn, conn->opener, &conn->tuple, reason);
	pep_track_disarm(conn);
}

/**
 * pep_adopt_outdated() - give up the copies that are kept for outdated settings
 * @pn: its instance
 * @conn: connection with copies, locked
 *
 * It is left to its ends, or begins anew with the next payload where it was handed back
 * before.
 *
 * Context: BH off.
 */
void pep_adopt_outdated(struct pep_net *pn, struct pep_conn *conn)
{
	if (!pep_track_tally(conn)) {
		pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_STOPPING);
		return;
	}
	pep_track_drop_copies(conn);
	conn->due = 0;
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

/* Set the times of the ends' parts of the handshake, as far as they are known. */
static void pep_adopt_set_times(struct pep_flow *flow,
				const struct pep_conn *conn)
{
	u64 target = conn->end[!conn->opener].rtt;
	u64 opener = conn->end[conn->opener].rtt;

	if (conn->repeated)
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
		reason = pep_repair_leg(flow, conn, side, queue);
	/* The flow is to end already, as when a side has just lost its last device: the
	 * connection can go on unsplit.
	 */
	if (!reason && READ_ONCE(flow->killed))
		reason = PEP_STAT_SPLIT_PASS_DEVICE;
	if (reason)
		pep_repair_end(flow, reason);
	else
		pep_adopt_begin(flow, conn);
	pep_flow_unlock_legs(flow);
	return reason;
}

/**
 * pep_adopt_ended() - schedule the end of a connection whose flow has ended
 * @flow: flow that has a connection, locked
 * @cause: counter of the cause, as for pep_flow_end()
 *
 * Context: BH off.
 */
void pep_adopt_ended(struct pep_flow *flow, enum pep_stat cause)
{
	struct pep_conn *conn = flow->conn;

	pep_untrack_over(flow, cause);
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
	conn->overpromised = false;
	WRITE_ONCE(flow->conn, conn);
	/* pep_find_leg() reads it without the lock. */
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
	if (!reason) {
		pep_adopt_own(conn, flow);
		pep_untrack_split(pn->net, &conn->tuple);
	}
	spin_unlock(&flow->lock);
	if (!reason)
		return true;
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

/* Is a device of the connection being detached, or has it been released lately? See
 * pep_leave_note().
 */
static bool pep_adopt_leaving(struct pep_net *pn, const struct pep_conn *conn)
{
	return pep_leave_soon(pn, conn->end[0].ifindex) ||
	       pep_leave_soon(pn, conn->end[1].ifindex);
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

	if (READ_ONCE(pn->stopping)) {
		pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_STOPPING);
		return;
	}
	if (READ_ONCE(gen->closed)) {
		pep_adopt_outdated(pn, conn);
		return;
	}
	reason = pep_limit_check(gen);
	if (reason && READ_ONCE(tcp_memory_pressure))
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
	    pep_track_gap(pn, conn) ||
	    !atomic_read(&pn->devices[PEP_SIDE_WIRELESS]) ||
	    !atomic_read(&pn->devices[PEP_SIDE_SERVER])) {
		pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_DEVICE);
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
 * pep_adopt_run() - take a connection over, begin its old copies anew, hand it back, or
 *	forget one whose flow has ended
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
	else if (conn->stage == PEP_TRACK_SPLIT && !pep_release_detour(conn))
		pep_release_idle(conn);
	spin_unlock(&conn->lock);
	pep_track_put(conn);
	return 1;
}
