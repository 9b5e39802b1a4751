// SPDX-License-Identifier: GPL-2.0
/*
 * Opening a flow.
 *
 * Truthful: the opener's SYN is held and the target leg connects, with the
 * opener's own initial sequence number. The target's SYN-ACK is held, too,
 * and the SYN goes to the listener. When the opener has completed that
 * handshake the accepted socket is paired with the target leg, which gets its
 * SYN-ACK. A refusal ends the target leg by a copy, while the original goes
 * on to the opener, whose stack takes it for the answer to its SYN because
 * the sequence numbers are the same.
 *
 * Early: the SYN goes to the listener, and the target leg connects when the
 * opener's connection is accepted.
 */

#include "handshake.h"

#include <net/tcp.h>

#include "deliver.h"
#include "gen.h"
#include "stamp.h"
#include "stat.h"
#include "untrack.h"

/**
 * pep_handshake_flow() - find the flow of a socket
 * @sk: any TCP socket, by a reference
 *
 * Context: RCU read side.
 * Return: the flow with a reference, or NULL when the socket has none.
 */
struct pep_flow *pep_handshake_flow(struct sock *sk)
{
	struct pep_flow *flow;

	if (!sk_fullsock(sk) || !pep_leg_owns(sk))
		return NULL;
	flow = rcu_dereference_sk_user_data(sk);
	return flow && refcount_inc_not_zero(&flow->ref) ? flow : NULL;
}

/**
 * pep_handshake_find() - find the flow whose target leg speaks for an opener
 * @net: namespace
 * @tuple: tuple of the opener's packets
 * @bound: device that the target leg is bound to, 0 for none
 *
 * Context: RCU read side.
 * Return: the flow with a reference, which keeps its legs, or NULL.
 */
struct pep_flow *pep_handshake_find(struct net *net,
				    const struct pep_tuple *tuple, int bound)
{
	struct pep_tuple reverse;
	struct pep_flow *flow;
	struct sock *sk;

	pep_tuple_reverse(&reverse, tuple);
	sk = pep_tuple_lookup(net, &reverse, bound);
	if (!sk)
		return NULL;
	flow = pep_handshake_flow(sk);
	if (flow && READ_ONCE(pep_flow_target(flow)->sk) != sk) {
		pep_flow_put(flow);
		flow = NULL;
	}
	sock_gen_put(sk);
	return flow;
}

/**
 * pep_handshake_give_up() - end a flow unless a process owns one of its legs
 * @flow: live flow, locked
 * @cause: counter of the cause, PEP_A_STAT_*
 *
 * Context: softirq.
 * Return: whether it was ended.
 */
bool pep_handshake_give_up(struct pep_flow *flow, unsigned int cause)
{
	bool owned;

	pep_flow_lock_legs(flow);
	owned = pep_flow_legs_owned(flow);
	if (!owned)
		pep_flow_end(flow, cause);
	pep_flow_unlock_legs(flow);
	return !owned;
}

/**
 * pep_handshake_offer() - hand a SYN to the listener
 * @gen: generation whose listener it is
 * @opener: side that the SYN came from, enum pep_side
 * @skb: SYN; consumed
 *
 * Context: softirq, RCU read side, no lock of ours held.
 */
void pep_handshake_offer(struct pep_gen *gen, unsigned int opener,
			 struct sk_buff *skb)
{
	int family = skb->protocol == htons(ETH_P_IPV6) ? AF_INET6 : AF_INET;
	struct sock *sk;

	sk = rcu_dereference(pep_gen_listener(gen, family, opener)->sk);
	if (sk) {
		pep_deliver_local(gen->pn, skb, sk);
	} else {
		pep_stat_inc(gen->pn, PEP_A_STAT_DROPPED);
		kfree_skb(skb);
	}
}

/**
 * pep_handshake_copy_dscp() - have a leg send with the DSCP of the other end
 * @flow: flow whose profile tells whether it is to
 * @sk: locked leg
 * @dsfield: TOS or traffic class of a packet of the other end
 */
void pep_handshake_copy_dscp(const struct pep_flow *flow,
			     struct sock *sk, u8 dsfield)
{
	if (flow->gen->values.dscp == PEP_DSCP_COPY)
		pep_leg_set_dsfield(sk, dsfield);
}

/* The target has answered: the opener gets until the deadline. */
static struct sk_buff *pep_handshake_answered(struct pep_flow *flow)
{
	struct sk_buff *syn = flow->syn;

	flow->syn = NULL;
	pep_flow_advance(flow, PEP_FLOW_ANSWER);
	flow->deadline = jiffies + PEP_HANDSHAKE_TIMEOUT;
	pep_flow_wake_in(flow, PEP_HANDSHAKE_TIMEOUT);
	return syn;
}

/* With the flow and its legs locked. Return: the SYN to offer, or NULL. */
static struct sk_buff *pep_handshake_hold(struct pep_flow *flow,
					  struct sock *sk,
					  struct sk_buff *skb,
					  const struct tcphdr *th,
					  bool *consumed)
{
	*consumed = false;
	if (sock_owned_by_user(sk) || sk->sk_state != TCP_SYN_SENT ||
	    ntohl(th->ack_seq) != tcp_sk(sk)->snd_nxt)
		return NULL;
	*consumed = true;
	flow->synack = pep_deliver_hold(skb);
	if (!flow->synack) {
		pep_stat_inc(flow->pn, PEP_A_STAT_DROPPED);
		return NULL;
	}
	pep_stat_inc(flow->pn, PEP_A_STAT_HELD);
	pep_leg_pause(sk);
	return pep_handshake_answered(flow);
}

/**
 * pep_handshake_synack() - hold the answer of a target, offer the SYN
 * @sk: leg that the packet is for, with a reference of the caller
 * @skb: SYN-ACK
 * @th: its TCP header
 *
 * Context: softirq, RCU read side.
 * Return: true when the packet was consumed; false when it is to be delivered
 * as any other.
 */
bool pep_handshake_synack(struct sock *sk, struct sk_buff *skb,
			  const struct tcphdr *th)
{
	struct pep_flow *flow = pep_handshake_flow(sk);
	struct sk_buff *syn = NULL;
	bool consumed = false;

	if (!flow)
		return false;
	spin_lock(&flow->lock);
	if (flow->state == PEP_FLOW_STATE_ANSWERED && flow->synack) {
		/* The one that is held will do. */
		pep_stat_inc(flow->pn, PEP_A_STAT_HELD);
		kfree_skb(skb);
		consumed = true;
	} else if (flow->state == PEP_FLOW_STATE_CONNECTING && flow->syn) {
		pep_flow_lock_legs(flow);
		syn = pep_handshake_hold(flow, sk, skb, th, &consumed);
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);
	if (syn && pep_deliver_unhold(flow->pn, syn))
		pep_handshake_offer(flow->gen, flow->opener, syn);
	pep_flow_put(flow);
	return consumed;
}

/* Is the flow one whose refusal the opener may still be shown? */
static bool pep_handshake_set_mirrored(struct sock *sk, bool on)
{
	struct pep_flow *flow = pep_handshake_flow(sk);
	bool pending;

	if (!flow)
		return false;
	spin_lock(&flow->lock);
	pending = flow->state == PEP_FLOW_STATE_CONNECTING && flow->syn &&
		  sk->sk_state == TCP_SYN_SENT;
	if (pending)
		flow->mirrored = on;
	spin_unlock(&flow->lock);
	pep_flow_put(flow);
	return pending;
}

/**
 * pep_handshake_mirror() - let a refusal end the target leg and pass
 * @pn: instance
 * @sk: leg that the refusal is for, with a reference of the caller
 * @skb: reset or ICMP error; a copy of it is delivered
 * @icmp: it is an ICMP error
 *
 * Context: softirq, RCU read side.
 * Return: true when @skb is to pass on to the opener; false when it is to be
 * delivered as any other.
 */
bool pep_handshake_mirror(struct pep_net *pn, struct sock *sk,
			  struct sk_buff *skb, bool icmp)
{
	struct sk_buff *copy;

	if (!pep_handshake_set_mirrored(sk, true))
		return false;
	copy = skb_clone(skb, GFP_ATOMIC);
	if (copy) {
		if (!icmp)
			sock_hold(sk);
		pep_deliver_local(pn, copy, icmp ? NULL : sk);
	}
	/* Out of window, or a bad checksum: the leg is still waiting. */
	pep_handshake_set_mirrored(sk, false);
	pep_untrack_skb(skb);
	return true;
}

/* What is the target leg of a request's flow bound to? */
static int pep_handshake_bound(const struct sock *listener,
			       const struct sk_buff *skb)
{
	const struct pep_listener *l = rcu_dereference_sk_user_data(listener);

	return l ? pep_gen_bound(l->gen, !l->opener, skb->dev->ifindex) : 0;
}

/* Give a flow up whose opener has reset without a leg that would tell. */
static bool pep_handshake_lost(struct pep_flow *flow)
{
	pep_stamp(flow, PEP_FLOW_TIME_RST_FROM + flow->opener);
	return pep_handshake_give_up(flow, PEP_A_STAT_OPENER_LOST);
}

/**
 * pep_handshake_opener_reset() - an opener resets before it is accepted
 * @pn: instance
 * @req: its connection request, with a reference that is consumed
 * @skb: reset; a copy of it is delivered
 * @pkt: parsed @skb
 *
 * When that ends the request, the target leg is given up silently and the
 * reset passes on to the target, to which its sequence number is right.
 *
 * Context: softirq, RCU read side.
 * Return: true when @skb is to pass on; false when it was consumed.
 */
bool pep_handshake_opener_reset(struct pep_net *pn, struct sock *req,
				struct sk_buff *skb,
				const struct pep_packet *pkt)
{
	int bound = pep_handshake_bound(inet_reqsk(req)->rsk_listener, skb);
	struct pep_flow *flow;
	struct sk_buff *copy;
	bool pass = false;
	struct sock *sk;

	copy = skb_clone(skb, GFP_ATOMIC);
	if (copy)
		pep_deliver_local(pn, copy, req);
	else
		sock_gen_put(req);

	sk = pep_tuple_lookup_dev(pn->net, &pkt->tuple, skb->dev);
	if (sk) {
		/* Not in window. */
		sock_gen_put(sk);
		kfree_skb(skb);
		return false;
	}
	flow = pep_handshake_find(pn->net, &pkt->tuple, bound);
	if (flow) {
		spin_lock(&flow->lock);
		pass = flow->state == PEP_FLOW_STATE_ANSWERED &&
		       pep_handshake_lost(flow);
		spin_unlock(&flow->lock);
		pep_flow_put(flow);
	}
	if (pass)
		pep_untrack_skb(skb);
	else
		kfree_skb(skb);
	return pass;
}

/**
 * pep_handshake_opener_speaks() - an opener goes on before it was answered
 * @gen: generation of the profile of its device
 * @opener: side that it came from, enum pep_side
 * @skb: packet that is no SYN and finds no socket
 * @pkt: parsed @skb
 *
 * A truthful flow's opener that acknowledges its SYN has had the target's
 * answer on a way that does not lead here, and one that resets has given up.
 * The flow ends without a word and the packet passes: what the leg has sent
 * is just what the opener would have.
 *
 * Context: softirq, RCU read side.
 */
void pep_handshake_opener_speaks(struct pep_gen *gen, unsigned int opener,
				 const struct sk_buff *skb,
				 const struct pep_packet *pkt)
{
	int bound = pep_gen_bound(gen, !opener, skb->dev->ifindex);
	struct pep_flow *flow;

	flow = pep_handshake_find(gen->pn->net, &pkt->tuple, bound);
	if (!flow)
		return;
	spin_lock(&flow->lock);
	if (flow->state != PEP_FLOW_STATE_CONNECTING ||
	    flow->mode != PEP_CONNECT_MODE_TRUTHFUL ||
	    !(pkt->th->ack || pkt->th->rst) ||
	    ntohl(pkt->th->seq) != flow->isn + 1)
		goto out;
	if (pkt->th->rst)
		pep_handshake_lost(flow);
	else if (pep_handshake_give_up(flow, PEP_A_STAT_CONNECT_ASYMMETRIC))
		pep_bypass_add(&gen->pn->bypass, &flow->tuple,
			       PEP_BYPASS_REASON_ASYMMETRIC);
out:
	spin_unlock(&flow->lock);
	pep_flow_put(flow);
}

/**
 * pep_handshake_awaits() - may an opener complete by SYN cookie?
 * @gen: generation of the profile of its device
 * @opener: side that it came from, enum pep_side
 * @skb: ACK that finds no socket
 * @pkt: parsed @skb
 *
 * A truthful flow that waits for its opener is there then. Without one the
 * connection is not split, and the cookie, if it is one, the target's own.
 *
 * Context: softirq, RCU read side.
 * Return: whether a listener may be asked.
 */
bool pep_handshake_awaits(struct pep_gen *gen, unsigned int opener,
			  const struct sk_buff *skb,
			  const struct pep_packet *pkt)
{
	int bound = pep_gen_bound(gen, !opener, skb->dev->ifindex);
	struct pep_flow *flow;
	bool awaits;

	if (gen->values.mode == PEP_CONNECT_MODE_EARLY)
		return true;
	flow = pep_handshake_find(gen->pn->net, &pkt->tuple, bound);
	if (!flow)
		return false;
	awaits = READ_ONCE(flow->state) == PEP_FLOW_STATE_ANSWERED;
	pep_flow_put(flow);
	return awaits;
}

static unsigned int pep_handshake_cause(const struct sock *sk)
{
	switch (sk->sk_err) {
	case ECONNREFUSED:
		return PEP_A_STAT_CONNECT_REFUSED;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EACCES:
	case EPROTO:
	case ENOPROTOOPT:
		return PEP_A_STAT_CONNECT_UNREACHABLE;
	case ETIMEDOUT:
		return PEP_A_STAT_CONNECT_TIMEOUT;
	default:
		return PEP_A_STAT_CONNECT_FAILED;
	}
}

/*
 * Look after a flow that is being opened, with its legs locked and not owned.
 * Return: a SYN to let go, with *offer telling whether to the listener or on.
 */
static struct sk_buff *pep_handshake_step(struct pep_flow *flow, bool *offer)
{
	struct sock *opener = pep_flow_opener(flow)->sk;
	struct sock *target = pep_flow_target(flow)->sk;
	struct sk_buff *syn = NULL;
	unsigned int cause;

	*offer = false;
	if (READ_ONCE(flow->killed)) {
		swap(syn, flow->syn);
		pep_flow_end(flow, PEP_A_STAT_FLOW_KILLED);
	} else if (pep_leg_failed(target)) {
		cause = pep_handshake_cause(target);
		/* Shown already, or nothing to show but silence. */
		if (!flow->mirrored && cause != PEP_A_STAT_CONNECT_TIMEOUT)
			swap(syn, flow->syn);
		pep_flow_end(flow, cause);
	} else if (opener && pep_leg_failed(opener)) {
		pep_flow_end(flow, PEP_A_STAT_OPENER_LOST);
	} else if (opener && pep_leg_can_send(target)) {
		pep_leg_keep_alive(target);
		pep_flow_advance(flow, PEP_FLOW_UP);
		pep_stat_inc(flow->pn, PEP_A_STAT_FLOW_ESTABLISHED);
	} else if (flow->syn && pep_leg_can_send(target)) {
		pep_leg_keep_alive(target);
		*offer = true;
		syn = pep_handshake_answered(flow);
	} else if (flow->mode == PEP_CONNECT_MODE_TRUTHFUL &&
		   !time_before(jiffies, flow->deadline)) {
		pep_flow_end(flow, flow->state == PEP_FLOW_STATE_ANSWERED ?
			     PEP_A_STAT_OPENER_LOST :
			     PEP_A_STAT_CONNECT_TIMEOUT);
	} else if (flow->mode == PEP_CONNECT_MODE_TRUTHFUL &&
		   !timer_pending(&flow->timer)) {
		/* It was used to wait for a leg that a process owned. */
		pep_flow_wake_in(flow, flow->deadline - jiffies);
	}
	return syn;
}

/* Let a SYN that was held pass unsplit, and those that follow it. */
static void pep_handshake_release(struct pep_flow *flow, struct sk_buff *syn)
{
	pep_memo_add(&flow->pn->passed, &flow->tuple);
	pep_stat_inc(flow->pn, PEP_A_STAT_SYN_RELEASED);
	pep_deliver_pass(syn);
}

/**
 * pep_handshake_run() - look after a flow that is being opened
 * @flow: flow with a reference; nothing is done when it is up or dead
 *
 * Context: softirq, RCU read side.
 */
void pep_handshake_run(struct pep_flow *flow)
{
	struct sk_buff *syn = NULL;
	bool offer = false;

	spin_lock(&flow->lock);
	if (flow->state < PEP_FLOW_STATE_ESTABLISHED) {
		pep_flow_lock_legs(flow);
		if (pep_flow_legs_owned(flow)) {
			pep_stat_inc(flow->pn, PEP_A_STAT_RELAY_OWNED);
			pep_flow_wake_in(flow, 1);
		} else {
			syn = pep_handshake_step(flow, &offer);
		}
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);

	if (!syn || !pep_deliver_unhold(flow->pn, syn))
		return;
	if (offer)
		pep_handshake_offer(flow->gen, flow->opener, syn);
	else
		pep_handshake_release(flow, syn);
}
