// SPDX-License-Identifier: GPL-2.0
/*
 * Answering an opener early.
 *
 * The opener's SYN goes to a listener, which answers it, and a leg connects to the
 * target at the same time. The connection has an entry in the table of followed
 * connections, where accept.c finds the flow that waits for the opener. A target
 * that refuses appears as a reset of the connection. A SYN that cannot be
 * answered here passes, and its connection is followed.
 */

#include "early.h"

#include <linux/jhash.h>
#include <net/tcp.h>

#include "accept.h"
#include "adopt.h"
#include "callback.h"
#include "deliver.h"
#include "flow.h"
#include "follow.h"
#include "gen.h"
#include "handshake.h"
#include "leave.h"
#include "limit.h"
#include "live.h"
#include "meter.h"
#include "path.h"
#include "relay.h"
#include "reopen.h"
#include "route.h"
#include "share.h"
#include "source.h"
#include "stamp.h"
#include "stat.h"
#include "trace.h"
#include "track.h"
#include "window.h"

/* Connections of an opener's share that may be opened early at the same time. */
#define PEP_EARLY_SHARE		64

static enum pep_stat pep_early_cause(const struct sock *sk)
{
	switch (sk->sk_err) {
	case ECONNREFUSED:
		return PEP_STAT_CONNECT_REFUSED;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EACCES:
	case EPROTO:
	case ENOPROTOOPT:
		return PEP_STAT_CONNECT_UNREACHABLE;
	case ETIMEDOUT:
		return PEP_STAT_CONNECT_TIMEOUT;
	default:
		return PEP_STAT_CONNECT_FAILED;
	}
}

/* Count a flow that comes up for its subscriber, if the SYN found no entry of theirs,
 * or note that the entry is in use.
 */
static void pep_early_count(struct pep_flow *flow)
{
	struct pep_path *path;

	if (flow->path) {
		pep_path_touch(flow->pn, flow->path);
		return;
	}
	path = pep_path_get(flow->pn, &flow->tuple, flow->opener);
	if (!path)
		return;
	WRITE_ONCE(flow->path, pep_share_split(path));
	pep_path_put(path);
}

/* Check a flow that is being opened, with its legs locked and not owned. */
static void pep_early_step(struct pep_flow *flow)
{
	struct sock *opener = pep_flow_opener(flow)->sk;
	struct sock *target = pep_flow_target(flow)->sk;
	bool answered = pep_leg_can_send(target);

	if (answered && !flow->at[PEP_FLOW_TIME_ANSWERED]) {
		pep_stamp(flow, PEP_FLOW_TIME_ANSWERED);
		trace_pep_connect(flow, PEP_STAT_NONE);
	}
	if (READ_ONCE(flow->killed)) {
		pep_flow_end(flow, PEP_STAT_FLOW_KILLED);
	} else if (pep_leg_failed(target)) {
		pep_flow_end(flow, pep_early_cause(target));
	} else if (opener && pep_leg_failed(opener)) {
		pep_flow_end(flow, PEP_STAT_OPENER_LOST);
	} else if (opener && answered) {
		pep_window_begin(pep_flow_opener(flow));
		pep_leg_keep_alive(target);
		pep_leg_start(flow->leg[PEP_SIDE_WIRELESS].sk,
			      flow->gen->values.initial_window);
		pep_early_count(flow);
		pep_resume_begin(flow);
		pep_meter_up(flow);
		pep_flow_advance(flow, PEP_FLOW_UP);
		pep_live_up(flow);
		pep_stat_inc(flow->pn, PEP_STAT_FLOW_ESTABLISHED);
	} else if (opener) {
		pep_window_wait(pep_flow_opener(flow));
	} else if (!time_before(jiffies, flow->deadline)) {
		pep_flow_end(flow, PEP_STAT_OPENER_LOST);
	} else if (!timer_pending(&flow->timer)) {
		/* The timer has waited for a leg that a process owned. */
		pep_flow_wake_in(flow, flow->deadline - jiffies);
	}
}

/* Check a flow that is being opened, with the flow locked and alive. */
static void pep_early_look(struct pep_flow *flow)
{
	pep_flow_lock_legs(flow);
	if (pep_flow_legs_owned(flow)) {
		pep_stat_inc(flow->pn, PEP_STAT_RELAY_OWNED);
		pep_flow_wake_in(flow, 1);
	} else {
		pep_early_step(flow);
	}
	pep_flow_unlock_legs(flow);
}

/* Check a flow that is being opened, and relay as soon as it is up. */
static unsigned int pep_early_run(struct pep_job *job, struct pep_queue *queue)
{
	struct pep_flow *flow = container_of(job, struct pep_flow, job);

	if (READ_ONCE(flow->state) < PEP_FLOW_STATE_ESTABLISHED) {
		spin_lock(&flow->lock);
		/* The flow can be killed before it has a leg. */
		if (flow->state == PEP_FLOW_STATE_CONNECTING &&
		    pep_flow_target(flow)->sk)
			pep_early_look(flow);
		spin_unlock(&flow->lock);
	}
	return pep_relay_run(job, queue);
}

static const struct pep_flow_ops pep_early_ops = {
	.mode = PEP_CONNECT_MODE_EARLY,
	.run = pep_early_run,
	.ended = pep_adopt_ended,
};

/* Would the leg send by a device that is about to be detached? */
static bool pep_early_leaves(const struct pep_flow *flow, const struct sock *sk,
			     bool local)
{
	struct pep_tuple tuple = flow->tuple;
	struct pep_net *pn = flow->pn;
	struct dst_entry *dst;
	bool leaves;

	if (likely(!pep_leave_any(pn)))
		return false;
	if (local)
		memset(&tuple.src, 0, sizeof(tuple.src));
	dst = pep_route_out(pn->net, &tuple, sk->sk_bound_dev_if, sk->sk_mark,
			    inet_sk(sk)->tos);
	leaves = dst && pep_leave_route(pn, dst);
	dst_release(dst);
	return leaves;
}

/* Send the SYN of the leg towards the target, with flow and leg locked. */
static int pep_early_connect(struct pep_flow *flow, struct sock *sk,
			     const struct pep_conn *conn)
{
	const struct pep_values *values = &flow->gen->values;
	bool local = flow->opener == PEP_SIDE_WIRELESS &&
		     values->source == PEP_SOURCE_MODE_LOCAL;

	WRITE_ONCE(sk->sk_bound_dev_if,
		   pep_gen_bound(flow->gen, !flow->opener, flow->ifindex));
	if (values->dscp == PEP_DSCP_COPY)
		pep_leg_set_dsfield(sk, conn->dsfield[flow->opener]);
	if (pep_early_leaves(flow, sk, local))
		return -ENETUNREACH;
	if (local)
		return pep_leg_connect_local(sk, &flow->tuple);
	/* The opener's number identifies a SYN that comes back, see
	 * pep_reopen().
	 */
	return pep_leg_connect(sk, &flow->tuple, conn->end[conn->opener].isn);
}

/* The share of the opener's address, of either side; IPv6: of its network of 64 bits. */
static atomic_t *pep_early_share(struct pep_net *pn,
				 const struct pep_tuple *tuple)
{
	u32 words = tuple->family == AF_INET6 ? 2 : 1;
	u32 hash = jhash2((const u32 *)&tuple->src, words, pn->early_seed);

	return &pn->early[hash % PEP_NET_SHARES];
}

/* Counter of an error of pep_early_connect(). */
static enum pep_stat pep_early_refusal(int err)
{
	switch (err) {
	case -EADDRINUSE:
	case -EADDRNOTAVAIL:
		return PEP_STAT_SYN_PASS_IN_USE;
	case -ENOMEM:
	case -ENOBUFS:
		return PEP_STAT_SYN_PASS_NO_MEMORY;
	default:
		return PEP_STAT_SYN_PASS_CONNECT;
	}
}

/* Give a flow its leg towards the target. Return: PEP_STAT_NONE, or the counter of the
 * reason why the flow is dead and its socket released.
 */
static enum pep_stat pep_early_begin(struct pep_flow *flow, struct pep_sock *ps,
				     const struct pep_conn *conn)
{
	struct sock *sk = ps->sock->sk;
	enum pep_stat reason = PEP_STAT_NONE;
	int err;

	flow->share = pep_early_share(flow->pn, &flow->tuple);
	atomic_inc(flow->share);
	WRITE_ONCE(flow->path, pep_share_split(conn->path));
	pep_flow_set_leg(flow, !flow->opener, sk, ps);
	pep_flow_lock_legs(flow);
	pep_callback_attach(flow, sk);
	err = pep_early_connect(flow, sk, conn);
	if (err) {
		reason = pep_early_refusal(err);
		pep_flow_end(flow, PEP_STAT_CONNECT_FAILED);
	} else {
		pep_stamp(flow, PEP_FLOW_TIME_SYN_OUT);
		flow->deadline = jiffies + PEP_GEN_LINGER;
		pep_flow_wake_in(flow, PEP_GEN_LINGER);
		/* The flow may have been killed before it had a leg. */
		pep_flow_schedule(flow);
	}
	pep_flow_unlock_legs(flow);
	return reason;
}

/* Connect to the target of a connection that is in the table, and locked. */
static enum pep_stat pep_early_flow(struct pep_gen *gen, struct pep_conn *conn,
				    struct pep_sock *ps)
{
	struct pep_flow *flow;
	enum pep_stat reason;

	flow = pep_flow_create(gen, &pep_early_ops, conn->opener,
			       &conn->tuple, conn->end[conn->opener].ifindex,
			       conn->born);
	if (!flow) {
		pep_pool_release(ps);
		return PEP_STAT_SYN_PASS_NO_MEMORY;
	}
	spin_lock(&flow->lock);
	reason = pep_early_begin(flow, ps, conn);
	if (!reason)
		pep_adopt_own(conn, flow);
	spin_unlock(&flow->lock);
	if (reason)
		pep_flow_put(flow);
	return reason;
}

/* Make the flow of a connection that is in the table, and locked; its entry goes when that
 * fails, unless another CPU has had a packet of it. Return: PEP_STAT_NONE, or the counter
 * of the reason.
 */
static enum pep_stat pep_early_entered(struct pep_gen *gen,
				       struct pep_conn *conn,
				       struct pep_sock *ps)
{
	enum pep_stat reason;

	if (conn->stage != PEP_TRACK_OPENING) {
		pep_pool_release(ps);
		/* Another CPU may have needed the room, seen a reset, or had a SYN-ACK. */
		return conn->stage == PEP_TRACK_GONE ? PEP_STAT_FOLLOW_FULL :
						       PEP_STAT_DROPPED;
	}
	reason = pep_early_flow(gen, conn, ps);
	if (reason)
		pep_track_advance(gen->pn, conn, PEP_TRACK_END);
	else
		pep_meter_begin(gen, conn, PEP_GAIN_GROUP_TREATED);
	return reason;
}

/*
 * Enter the connection into the table and make its flow. Return: PEP_STAT_NONE, or the
 * counter of the reason against it; PEP_STAT_DROPPED when another CPU has entered it.
 */
static enum pep_stat pep_early_enter(struct pep_gen *gen, enum pep_side side,
				     const struct sk_buff *skb,
				     const struct pep_packet *pkt,
				     struct pep_sock *ps)
{
	enum pep_pool_kind kind = pep_pool_connector(!side, pkt->tuple.family);
	struct pep_net *pn = gen->pn;
	enum pep_stat reason;
	struct pep_conn *conn;
	struct pep_path *path;
	int err;

	conn = pep_handshake_new(pn, side, skb, pkt, &reason);
	if (!conn) {
		pep_pool_give_back(this_cpu_ptr(gen->pools), kind, ps);
		return reason == PEP_STAT_FOLLOW_NO_MEMORY ?
		       PEP_STAT_SYN_PASS_NO_MEMORY : reason;
	}
	path = conn->path;
	conn->early = true;
	err = pep_track_insert(pn, conn);
	switch (err) {
	case 0:
		spin_lock(&conn->lock);
		reason = pep_early_entered(gen, conn, ps);
		spin_unlock(&conn->lock);
		break;
	case -EEXIST:
		reason = PEP_STAT_DROPPED;
		break;
	case -ENOSPC:
		reason = PEP_STAT_FOLLOW_FULL;
		break;
	default:
		reason = PEP_STAT_SYN_PASS_NO_MEMORY;
	}
	if (err)
		pep_pool_give_back(this_cpu_ptr(gen->pools), kind, ps);
	/* The connection is going to be followed, or is there: it costs a token once. */
	if (reason && path)
		pep_share_return(pn, path);
	return reason;
}

/* Let a SYN wait for a socket; false when it has to pass, the reason counted. */
static bool pep_early_wait(struct pep_gen *gen, enum pep_side side,
			   struct sk_buff *skb, const struct pep_packet *pkt)
{
	struct pep_pool *pool = this_cpu_ptr(gen->pools);
	struct pep_net *pn = gen->pn;

	if (!pep_pool_may_wait(pool)) {
		pep_stat_syn(pn, side, &pkt->tuple,
			     PEP_STAT_SYN_PASS_NO_SOCKET);
		return false;
	}
	skb = pep_deliver_hold(skb);
	if (!skb) {
		pep_stat_inc(pn, PEP_STAT_DROPPED);
		return true;
	}
	PEP_HELD_CB(skb)->opener = side;
	pep_pool_wait(pool, skb);
	pep_stat_syn(pn, side, &pkt->tuple, PEP_STAT_SYN_WAIT_SOCKET);
	return true;
}

/* Does a listener accept SYNs? One destroyed with ss -K does not. */
static bool pep_early_listens(struct pep_gen *gen, int family, enum pep_side side)
{
	const struct sock *sk;

	sk = rcu_dereference(pep_gen_listener(gen, family, side)->sk);
	return sk && inet_sk_state_load(sk) == TCP_LISTEN;
}

/* Counter of the reason for which the subscriber may not have another connection and
 * another flow, or PEP_STAT_NONE. Where no trigger asks for the share later the refusal is
 * noted here.
 */
static enum pep_stat pep_early_check_share(struct pep_gen *gen,
					   const struct pep_packet *pkt,
					   enum pep_side side)
{
	struct pep_path *path = pep_path_find(gen->pn, &pkt->tuple, side);
	enum pep_stat reason;

	if (!path)
		return PEP_STAT_NONE;
	reason = pep_share_full(gen->pn, path);
	if (reason && reason != PEP_STAT_FOLLOW_SUBSCRIBER &&
	    !gen->values.split_trigger)
		pep_share_check(gen->pn, path);
	pep_path_put(path);
	return reason;
}

#if IS_ENABLED(CONFIG_NET_L3_MASTER_DEV)
/* May the listener, which is bound to no device, take packets of a VRF? */
static bool pep_early_takes_vrf(struct net *net, const struct net_device *dev)
{
	return !netif_is_l3_slave(dev) ||
	       READ_ONCE(net->ipv4.sysctl_tcp_l3mdev_accept);
}
#else
static bool pep_early_takes_vrf(struct net *net, const struct net_device *dev)
{
	return true;
}
#endif

/**
 * pep_early_open() - answer a SYN and connect to its target
 * @gen: generation of a profile that answers openers early
 * @side: side that the SYN came from, enum pep_side
 * @skb: SYN of a connection that is not in the table
 * @pkt: parsed @skb
 * @reason: set with PEP_FOLLOW_UNKNOWN: counter of a decision against splitting the
 *	connection, for pep_handshake_syn(), or PEP_STAT_NONE
 *
 * Context: BH off, RCU read side, none of our locks held: a SYN that waited for a socket
 * comes from the work item of the pool.
 * Return: PEP_FOLLOW_CONSUMED; PEP_FOLLOW_UNKNOWN when its connection is to be followed
 * instead, if shares allow that: one of the ends would not be seen, there is a limit, or
 * a reason that is counted; PEP_FOLLOW_PASS when there may not be another one in the
 * table, or of the subscriber's in it, which is counted.
 */
enum pep_follow_verdict pep_early_open(struct pep_gen *gen, enum pep_side side,
				       struct sk_buff *skb,
				       const struct pep_packet *pkt,
				       enum pep_stat *reason)
{
	struct pep_net *pn = gen->pn;
	enum pep_stat counter;
	struct pep_sock *ps;

	*reason = PEP_STAT_NONE;
	/* The answers of an end would not arrive here, or soon stop. */
	if (!atomic_read(&pn->devices[!side]) ||
	    pep_leave_soon(pn, skb->dev->ifindex)) {
		*reason = PEP_STAT_SPLIT_PASS_DEVICE;
		return PEP_FOLLOW_UNKNOWN;
	}
	*reason = pep_limit_check(gen);
	if (*reason && READ_ONCE(tcp_memory_pressure))
		pep_share_relieve(pn);
	if (*reason) {
		pep_limit_refused(pn, *reason, NULL);
		return PEP_FOLLOW_UNKNOWN;
	}
	counter = pep_early_check_share(gen, pkt, side);
	if (counter) {
		/* That of connections counts when one is to be followed. */
		if (counter != PEP_STAT_FOLLOW_SUBSCRIBER)
			*reason = counter;
		return PEP_FOLLOW_UNKNOWN;
	}
	if (pep_limit_pending(pn) ||
	    atomic_read(pep_early_share(pn, &pkt->tuple)) >= PEP_EARLY_SHARE) {
		pep_stat_unsplit(pn, side, &pkt->tuple,
				 PEP_STAT_SPLIT_PASS_MAX_PENDING);
		return PEP_FOLLOW_UNKNOWN;
	}
	if (!pep_early_listens(gen, pkt->tuple.family, side)) {
		pep_stat_syn(pn, side, &pkt->tuple,
			     PEP_STAT_SYN_PASS_NO_LISTENER);
		return PEP_FOLLOW_UNKNOWN;
	}
	if (!pep_early_takes_vrf(pn->net, skb->dev)) {
		pep_stat_syn(pn, side, &pkt->tuple, PEP_STAT_SYN_PASS_VRF);
		return PEP_FOLLOW_UNKNOWN;
	}
	/* Behind the limits: a flood beyond one is not routed twice. */
	counter = pep_source_check(pn->net, skb, pkt);
	if (counter) {
		pep_stat_syn(pn, side, &pkt->tuple, counter);
		return PEP_FOLLOW_UNKNOWN;
	}
	ps = pep_pool_take(this_cpu_ptr(gen->pools),
			   pep_pool_connector(!side, pkt->tuple.family));
	if (!ps)
		return pep_early_wait(gen, side, skb, pkt) ?
		       PEP_FOLLOW_CONSUMED : PEP_FOLLOW_UNKNOWN;
	counter = pep_early_enter(gen, side, skb, pkt, ps);
	if (counter == PEP_STAT_DROPPED) {
		pep_stat_inc(pn, counter);
		kfree_skb(skb);
		return PEP_FOLLOW_CONSUMED;
	}
	pep_stat_syn(pn, side, &pkt->tuple, counter ?: PEP_STAT_SYN_ANSWERED);
	switch (counter) {
	case PEP_STAT_NONE:
		pep_accept_offer(gen, side, skb);
		return PEP_FOLLOW_CONSUMED;
	case PEP_STAT_FOLLOW_SUBSCRIBER:
	case PEP_STAT_FOLLOW_RATE:
	case PEP_STAT_FOLLOW_FULL:
		return PEP_FOLLOW_PASS;
	default:
		return PEP_FOLLOW_UNKNOWN;
	}
}

/* Resume a SYN that waited for a socket, see pep_pool_resume. */
static void pep_early_resume(struct pep_gen *gen, struct sk_buff *skb)
{
	enum pep_side side = PEP_HELD_CB(skb)->opener;
	enum pep_follow_verdict verdict;
	struct pep_packet pkt;
	enum pep_stat reason;

	if (!pep_deliver_unhold(gen->pn, skb))
		return;
	if (pep_packet_parse(skb, &pkt) == PEP_PACKET_TCP) {
		switch (pep_reopen(gen->pn, skb, &pkt)) {
		case PEP_FOLLOW_UNKNOWN:
			if (READ_ONCE(gen->pn->stopping))
				break;
			verdict = pep_early_open(gen, side, skb, &pkt,
						 &reason);
			if (verdict == PEP_FOLLOW_CONSUMED)
				return;
			if (verdict == PEP_FOLLOW_UNKNOWN)
				pep_handshake_syn(gen, side, skb, &pkt, reason);
			break;
		case PEP_FOLLOW_CONSUMED:
			return;
		case PEP_FOLLOW_SPLIT:
			if (pep_accept_repeat(gen->pn, skb, &pkt))
				return;
			break;
		case PEP_FOLLOW_PASS:
			break;
		}
	}
	pep_stat_inc(gen->pn, PEP_STAT_PASS_SYN);
	pep_deliver_pass(skb);
}

/**
 * pep_early_init() - register this file for SYNs that waited for a socket
 *
 * Context: once, at load.
 */
void __init pep_early_init(void)
{
	pep_pool_set_resume(pep_early_resume);
}
