// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that a listener has accepted: each is paired with the target leg
 * that waits for it (truthful), or gets one that connects now (early).
 */

#include "accept.h"

#include <net/tcp.h>

#include "deliver.h"
#include "gen.h"
#include "handshake.h"
#include "stamp.h"
#include "stat.h"
#include "trace.h"

/* Reset a connection that was accepted in vain. */
static void pep_accept_refuse(struct pep_net *pn, struct sock *child,
			      struct pep_sock *shell)
{
	bh_lock_sock(child);
	sock_graft(child, shell->sock);
	pep_leg_abort(child);
	bh_unlock_sock(child);
	pep_pool_release(shell);
	pep_stat_inc(pn, PEP_A_STAT_ACCEPT_UNPAIRED);
}

/* Both legs are there. Return: the SYN-ACK that the target leg waits for. */
static struct sk_buff *pep_accept_join(struct pep_flow *flow,
				       struct sock *child,
				       struct pep_sock *shell)
{
	struct sk_buff *synack = flow->synack;

	flow->synack = NULL;
	pep_flow_set_leg(flow, flow->opener, child, shell);
	pep_flow_lock_legs(flow);
	sock_graft(child, shell->sock);
	pep_leg_attach(flow, child);
	if (synack) {
		pep_handshake_copy_dscp(flow, child,
					pep_packet_dsfield(synack));
		pep_leg_resume(pep_flow_target(flow)->sk,
			       ktime_get_ns() - flow->at[PEP_FLOW_TIME_HALF]);
	}
	pep_flow_unlock_legs(flow);
	pep_flow_advance(flow, PEP_FLOW_UP);
	pep_stat_inc(flow->pn, PEP_A_STAT_FLOW_ESTABLISHED);
	if (timer_delete(&flow->timer))
		pep_flow_put(flow);
	return synack;
}

/* Pair an accepted connection with its target leg; false when there is none. */
static bool pep_accept_pair(struct pep_listener *l, struct sock *child,
			    struct pep_sock *shell,
			    const struct pep_tuple *tuple)
{
	int bound = pep_gen_bound(l->gen, !l->opener,
				  READ_ONCE(child->sk_bound_dev_if));
	struct pep_net *pn = l->gen->pn;
	struct sk_buff *synack = NULL;
	struct pep_flow *flow;
	struct sock *target;
	bool paired;

	flow = pep_handshake_find(pn->net, tuple, bound);
	if (!flow)
		return false;
	spin_lock(&flow->lock);
	paired = flow->state == PEP_FLOW_STATE_ANSWERED;
	if (paired) {
		synack = pep_accept_join(flow, child, shell);
		pep_flow_schedule(flow);
	}
	spin_unlock(&flow->lock);
	if (synack && pep_deliver_unhold(pn, synack)) {
		target = pep_flow_target(flow)->sk;
		sock_hold(target);
		pep_deliver_local(pn, synack, target);
	}
	pep_flow_put(flow);
	return paired;
}

/* Begin to connect a leg to the target of an opener, both legs locked. */
static int pep_accept_connect(const struct pep_listener *l, struct sock *sk,
			      const struct pep_tuple *tuple)
{
	if (l->opener == PEP_SIDE_WIRELESS &&
	    l->gen->values.source == PEP_SOURCE_MODE_LOCAL)
		return pep_leg_connect_local(sk, tuple);
	return pep_leg_connect(sk, tuple, 0, NULL);
}

/* Connect to the target of a connection that was answered early. */
static bool pep_accept_early(struct pep_listener *l, struct sock *child,
			     struct pep_sock *shell,
			     const struct pep_tuple *tuple, u8 dsfield,
			     u64 syn_at)
{
	struct pep_gen *gen = l->gen;
	struct pep_flow *flow;
	struct pep_sock *ps;
	struct sock *sk;

	ps = pep_pool_take(this_cpu_ptr(gen->pools),
			   pep_pool_connector(!l->opener, l->family));
	if (!ps)
		return false;
	flow = pep_flow_create(gen, l->opener, tuple,
			       READ_ONCE(child->sk_rx_dst_ifindex), syn_at);
	if (!flow) {
		pep_pool_release(ps);
		return false;
	}
	sk = ps->sock->sk;
	spin_lock(&flow->lock);
	if (flow->state == PEP_FLOW_STATE_DEAD) {
		spin_unlock(&flow->lock);
		pep_flow_put(flow);
		pep_pool_release(ps);
		return false;
	}
	pep_flow_set_leg(flow, l->opener, child, shell);
	pep_flow_set_leg(flow, !l->opener, sk, ps);
	pep_flow_lock_legs(flow);
	sock_graft(child, shell->sock);
	pep_leg_attach(flow, child);
	pep_leg_attach(flow, sk);
	WRITE_ONCE(sk->sk_bound_dev_if,
		   pep_gen_bound(gen, !l->opener, child->sk_bound_dev_if));
	pep_handshake_copy_dscp(flow, sk, dsfield);
	/* One that was reset before it had callbacks will not call them. */
	if (pep_leg_failed(child))
		pep_flow_end(flow, PEP_A_STAT_OPENER_LOST);
	else if (pep_accept_connect(l, sk, tuple))
		pep_flow_end(flow, PEP_A_STAT_CONNECT_FAILED);
	else
		pep_stamp(flow, PEP_FLOW_TIME_SYN_OUT);
	pep_flow_unlock_legs(flow);
	spin_unlock(&flow->lock);
	pep_flow_put(flow);
	return true;
}

/**
 * pep_accept_take() - take a connection that a listener accepted
 * @l: listener
 * @child: the connection, with a reference that is consumed
 * @shell: what to graft it on; consumed
 * @dsfield: TOS or traffic class of the opener's SYN
 * @syn_at: when that came, ns of ktime_get_ns()
 *
 * Context: softirq, RCU read side.
 */
void pep_accept_take(struct pep_listener *l, struct sock *child,
		     struct pep_sock *shell, u8 dsfield, u64 syn_at)
{
	struct pep_net *pn = l->gen->pn;
	struct pep_tuple tuple;
	const char *result;
	bool taken;

	pep_tuple_of_peer(&tuple, child);
	if (l->gen->values.mode == PEP_CONNECT_MODE_EARLY) {
		taken = pep_accept_early(l, child, shell, &tuple, dsfield,
					 syn_at);
		result = "early";
	} else {
		taken = pep_accept_pair(l, child, shell, &tuple);
		result = "paired";
	}
	trace_pep_accept(pn, &tuple, l->opener, taken ? result : "refused");
	if (!taken)
		pep_accept_refuse(pn, child, shell);
}
