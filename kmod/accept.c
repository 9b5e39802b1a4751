// SPDX-License-Identifier: GPL-2.0
/*
 * Openers that are answered early, from the listener's SYN-ACK on: they complete their
 * handshakes, repeat their SYNs, or reset.
 *
 * An accepted socket, and each packet that has no other socket, finds the flow that
 * waits for the opener in the table of connections.
 */

#include "accept.h"

#include <net/l3mdev.h>
#include <net/route.h>
#include <net/tcp.h>

#include "again.h"
#include "callback.h"
#include "deliver.h"
#include "flow.h"
#include "gen.h"
#include "memo.h"
#include "stamp.h"
#include "stat.h"
#include "trace.h"
#include "track.h"
#include "unsent.h"

/* Find the flow that waits for an opener by the tuple of the opener's packets and the VRF
 * that receives them. Return: the flow with a reference, and in @isn the opener's ISN where it
 * is wanted, or NULL.
 */
static struct pep_flow *pep_accept_find(struct pep_net *pn,
					const struct pep_tuple *tuple, int vrf,
					u32 *isn)
{
	struct pep_conn *conn = pep_track_find(pn, tuple, vrf);
	struct pep_flow *flow = NULL;

	if (!conn || !pep_tuple_equal(tuple, &conn->tuple))
		return NULL;
	spin_lock(&conn->lock);
	if (conn->stage == PEP_TRACK_SPLIT &&
	    conn->flow->mode == PEP_CONNECT_MODE_EARLY &&
	    READ_ONCE(conn->flow->state) == PEP_FLOW_STATE_CONNECTING &&
	    !READ_ONCE(pep_flow_opener(conn->flow)->sk)) {
		flow = conn->flow;
		refcount_inc(&flow->ref);
		if (isn)
			*isn = conn->end[conn->opener].isn;
	}
	spin_unlock(&conn->lock);
	return flow;
}

/**
 * pep_accept_offer() - hand a SYN to the listener of a generation
 * @gen: generation, protected by RCU or a reference
 * @side: side that the SYN came from, enum pep_side
 * @skb: SYN; consumed
 *
 * Context: BH off, RCU read side.
 */
void pep_accept_offer(struct pep_gen *gen, enum pep_side side,
		      struct sk_buff *skb)
{
	int family = skb->protocol == htons(ETH_P_IPV6) ? AF_INET6 : AF_INET;
	struct sock *sk;

	sk = rcu_dereference(pep_gen_listener(gen, family, side)->sk);
	if (sk) {
		pep_deliver_local(gen->pn, skb, sk);
	} else {
		pep_stat_inc(gen->pn, PEP_STAT_DROPPED);
		kfree_skb(skb);
	}
}

/**
 * pep_accept_repeat() - hand a repeated SYN of an opener to the listener
 * @pn: started instance
 * @skb: SYN of a connection that a flow has
 * @pkt: parsed @skb
 *
 * Context: BH off, RCU read side.
 * Return: false when no flow waits for it.
 */
bool pep_accept_repeat(struct pep_net *pn, struct sk_buff *skb,
		       const struct pep_packet *pkt)
{
	struct pep_flow *flow;

	flow = pep_accept_find(pn, &pkt->tuple, pep_tuple_vrf(skb->dev), NULL);
	if (!flow)
		return false;
	pep_stat_syn(pn, flow->opener, &pkt->tuple, PEP_STAT_SYN_DUPLICATE);
	pep_accept_offer(flow->gen, flow->opener, skb);
	pep_flow_put(flow);
	return true;
}

/* End a flow whose opener has reset before it was accepted, unless a process owns its leg. */
static void pep_accept_lose(struct pep_flow *flow)
{
	const struct sock *target;

	spin_lock(&flow->lock);
	if (flow->state == PEP_FLOW_STATE_CONNECTING) {
		pep_flow_lock_legs(flow);
		pep_stamp(flow, pep_flow_time_on(PEP_FLOW_TIME_RST_FROM, flow->opener));
		/* The flow has not run since. */
		target = pep_flow_target(flow)->sk;
		if (target && pep_leg_can_send(target) &&
		    !flow->at[PEP_FLOW_TIME_ANSWERED]) {
			pep_stamp(flow, PEP_FLOW_TIME_ANSWERED);
			trace_pep_connect(flow, PEP_STAT_NONE);
		}
		if (!pep_flow_legs_owned(flow))
			pep_flow_end(flow, PEP_STAT_OPENER_LOST);
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);
}

/* Reset an accepted connection that no flow waits for: its target has refused, mostly, and
 * the opener may wait for it to speak. The hook of untrack.c repeats the resets of flows, so
 * TCP sends this one, and unsent.c once more, with repetitions.
 */
static void pep_accept_refuse(struct pep_net *pn, struct sock *child,
			      struct pep_sock *shell)
{
	struct pep_unsent reset;

	bh_lock_sock(child);
	sock_graft(child, shell->sock);
	pep_unsent_note(&reset, child);
	if (reset.due) {
		pep_memo_add(&pn->reset, &reset.tuple);
		pep_unsent_keep(pn, &reset, pep_again_alloc(child));
	}
	pep_leg_abort(child);
	bh_unlock_sock(child);
	pep_pool_release(shell);
	pep_stat_inc(pn, PEP_STAT_ACCEPT_UNPAIRED);
}

/* Give a flow its opener's leg; false when the flow does not wait any more. */
static bool pep_accept_join(struct pep_flow *flow, struct sock *child,
			    struct pep_sock *shell)
{
	lockdep_assert_held(&flow->lock);
	if (flow->state != PEP_FLOW_STATE_CONNECTING ||
	    pep_flow_opener(flow)->sk)
		return false;
	WRITE_ONCE(pep_flow_opener(flow)->ifindex, flow->ifindex);
	pep_flow_set_leg(flow, flow->opener, child, shell);
	pep_leg_lock(child, flow->opener);
	sock_graft(child, shell->sock);
	pep_callback_attach(flow, child);
	pep_leg_unlock(child);
	pep_stamp(flow, PEP_FLOW_TIME_ACCEPTED);
	if (timer_delete(&flow->timer))
		pep_flow_put(flow);
	/* A leg that was reset before it had callbacks did not call them. */
	pep_flow_schedule(flow);
	return true;
}

/* Take a connection that a listener accepted, see pep_listener_take. */
static void pep_accept_take(struct pep_listener *l, struct sock *child,
			    struct pep_sock *shell)
{
	struct pep_net *pn = l->gen->pn;
	struct pep_tuple tuple;
	struct pep_flow *flow;
	bool taken = false;
	int vrf;

	pep_tuple_of_peer(&tuple, child);
	/* The child is bound to its VRF, or to the device of the profile. */
	vrf = l3mdev_master_ifindex_by_index(pn->net,
					     READ_ONCE(child->sk_bound_dev_if));
	flow = pep_accept_find(pn, &tuple, vrf, NULL);
	if (flow) {
		spin_lock(&flow->lock);
		taken = pep_accept_join(flow, child, shell);
		spin_unlock(&flow->lock);
		pep_flow_put(flow);
	}
	trace_pep_accept(pn, &tuple, l->opener, taken ? "accepted" : "refused");
	if (!taken)
		pep_accept_refuse(pn, child, shell);
}

/**
 * pep_accept_routed() - is there a route to an opener that completes its handshake?
 * @req: its connection request
 *
 * Where tcp_v4_syn_recv_sock() finds no route with inet_csk_route_child_sock(), it frees
 * a child that does not yet hold a reference to its congestion control
 * (tcp_ca_openreq_child()), and drops a reference that belongs to another socket.
 * After as many of these as there are sockets the module could be removed while it is in
 * use. IPv6 looks up the route before it creates the child.
 *
 * Context: BH off, RCU read side.
 * Return: false when the packet must not reach TCP.
 */
bool pep_accept_routed(const struct sock *req)
{
	const struct inet_request_sock *ireq = inet_rsk(inet_reqsk(req));
	const struct sock *listener = inet_reqsk(req)->rsk_listener;
	struct net *net = sock_net(req);
	struct flowi4 fl4;
	struct rtable *rt;

	if (req->sk_family != AF_INET)
		return true;
	flowi4_init_output(&fl4, ireq->ir_iif, ireq->ir_mark,
			   ip_sock_rt_tos(listener), ip_sock_rt_scope(listener),
			   IPPROTO_TCP, inet_sk_flowi_flags(listener),
			   ireq->ir_rmt_addr, ireq->ir_loc_addr,
			   ireq->ir_rmt_port, htons(ireq->ir_num),
			   sock_net_uid(net, listener));
	rt = ip_route_output_flow(net, &fl4, listener);
	if (IS_ERR(rt))
		return false;
	ip_rt_put(rt);
	return true;
}

/**
 * pep_accept_reset() - handle the reset of an opener that is not yet accepted
 * @pn: started instance
 * @req: its connection request, with a reference that is consumed
 * @skb: reset; consumed
 * @pkt: parsed @skb
 *
 * When the reset ends the request, the target is reset, too.
 *
 * Context: BH off, RCU read side.
 */
void pep_accept_reset(struct pep_net *pn, struct sock *req, struct sk_buff *skb,
		      const struct pep_packet *pkt)
{
	const struct net_device *dev = skb->dev;
	struct pep_tuple tuple = pkt->tuple;
	int vrf = pep_tuple_vrf(dev);
	struct pep_flow *flow;
	struct sock *sk;

	pep_deliver_local(pn, skb, req);
	sk = pep_tuple_lookup_dev(pn->net, &tuple, dev);
	if (sk) {
		/* The reset was not in window. */
		sock_gen_put(sk);
		return;
	}
	flow = pep_accept_find(pn, &tuple, vrf, NULL);
	if (flow) {
		pep_accept_lose(flow);
		pep_flow_put(flow);
	}
}

/**
 * pep_accept_reset_cookie() - handle the reset of an opener without a request
 * @pn: started instance
 * @skb: reset that finds no socket
 * @pkt: parsed @skb
 *
 * The opener was answered by SYN cookie. The target is reset, too.
 *
 * Context: BH off, RCU read side.
 * Return: whether a flow waited for the opener, and the reset has the number that the
 * opener's leg would expect (RFC 5961, section 3.2).
 */
bool pep_accept_reset_cookie(struct pep_net *pn, const struct sk_buff *skb,
			     const struct pep_packet *pkt)
{
	struct pep_flow *flow;
	bool fits;
	u32 isn;

	flow = pep_accept_find(pn, &pkt->tuple, pep_tuple_vrf(skb->dev), &isn);
	if (!flow)
		return false;
	fits = ntohl(pkt->th->seq) == isn + 1 && pep_packet_csum_ok(skb, pkt);
	if (fits)
		pep_accept_lose(flow);
	pep_flow_put(flow);
	return fits;
}

/**
 * pep_accept_awaits() - may an opener complete by SYN cookie?
 * @pn: started instance
 * @skb: ACK that finds no socket
 * @pkt: parsed @skb
 *
 * Without a flow that waits for the opener, a cookie in the ACK is the target's own.
 *
 * Context: BH off, RCU read side.
 * Return: whether a listener may get the ACK.
 */
bool pep_accept_awaits(struct pep_net *pn, const struct sk_buff *skb,
		       const struct pep_packet *pkt)
{
	struct pep_flow *flow;

	flow = pep_accept_find(pn, &pkt->tuple, pep_tuple_vrf(skb->dev), NULL);
	if (!flow)
		return false;
	pep_flow_put(flow);
	return true;
}

/**
 * pep_accept_init() - register this file as the receiver of accepted connections
 *
 * Context: once, at load.
 */
void __init pep_accept_init(void)
{
	pep_listener_set_take(pep_accept_take);
}
