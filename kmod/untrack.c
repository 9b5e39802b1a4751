// SPDX-License-Identifier: GPL-2.0
/*
 * Keeping conntrack out of split connections.
 *
 * The two legs differ in nothing but the direction: conntrack takes them for
 * one connection whose sequence numbers make no sense. Received packets are
 * marked as untracked where they are delivered. A hook on LOCAL_OUT before
 * conntrack's marks the packets that a socket of ours sends, and those that none
 * sends in answer to a packet of ours: SYN cookies, resets, and the answers of
 * TIME_WAIT, which TCP's control sockets send.
 *
 * Each CPU notes the packets of ours that are in the stack, in a list because
 * devices that hand a packet over at once make deliveries nest. Deliveries run
 * with BH off and so stay on their CPU, but with PREEMPT_RT others may run on
 * it meanwhile, hence the task.
 *
 * Conntrack has an entry for a connection that was followed first, but sees none
 * of its packets while it is split. The entry is made liberal about windows, so
 * that packets are valid when the connection is handed back.
 */

#include "untrack.h"

#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netfilter/nf_conntrack.h>
#include <net/netfilter/nf_conntrack_core.h>
#include <net/sock.h>

#include "again.h"
#include "callback.h"
#include "flow.h"
#include "tuple.h"

#if IS_ENABLED(CONFIG_NF_CONNTRACK)

static DEFINE_PER_CPU(struct pep_untrack_scope *, pep_untrack_scopes);

/**
 * pep_untrack_skb() - make conntrack ignore a packet
 * @skb: packet, not shared
 *
 * Context: any.
 */
void pep_untrack_skb(struct sk_buff *skb)
{
	nf_reset_ct(skb);
	skb_set_nfct(skb, IP_CT_UNTRACKED);
}

/**
 * pep_untrack_enter() - note that a packet of ours enters the local stack
 * @scope: for pep_untrack_leave() when the stack has returned
 * @net: namespace
 *
 * Context: softirq or BH off.
 */
void pep_untrack_enter(struct pep_untrack_scope *scope, const struct net *net)
{
	scope->net = net;
	scope->task = current;
	preempt_disable();
	scope->next = __this_cpu_read(pep_untrack_scopes);
	__this_cpu_write(pep_untrack_scopes, scope);
	preempt_enable();
}

/**
 * pep_untrack_leave() - undo pep_untrack_enter()
 * @scope: scope on this CPU, the first one but for those of other tasks
 *
 * Context: as pep_untrack_enter().
 */
void pep_untrack_leave(struct pep_untrack_scope *scope)
{
	struct pep_untrack_scope **p;

	preempt_disable();
	p = this_cpu_ptr(&pep_untrack_scopes);
	while (*p != scope)
		p = &(*p)->next;
	*p = scope->next;
	preempt_enable();
}

/*
 * nf_conntrack_find_get(), once conntrack is loaded; with a reference to its module
 * that is dropped at unload. A direct call would need the module loaded.
 */
static typeof(nf_conntrack_find_get) *pep_untrack_find;

static typeof(nf_conntrack_find_get) *pep_untrack_finder(void)
{
	typeof(nf_conntrack_find_get) *find = READ_ONCE(pep_untrack_find);

	if (find || !rcu_access_pointer(nf_ct_hook))
		return find;
	find = symbol_get(nf_conntrack_find_get);
	if (find && cmpxchg(&pep_untrack_find, NULL, find))
		symbol_put(nf_conntrack_find_get);
	return find;
}

/**
 * pep_untrack_exit() - drop the reference to conntrack
 *
 * Context: may sleep; once, at unload.
 */
void pep_untrack_exit(void)
{
	if (pep_untrack_find)
		symbol_put(nf_conntrack_find_get);
}

/**
 * pep_untrack_liberal() - make conntrack accept a connection once handed back
 * @net: namespace
 * @tuple: tuple of the opener's packets
 *
 * It is in the default zone, and without NAT, as no other connection is split.
 *
 * Context: BH off.
 */
void pep_untrack_liberal(struct net *net, const struct pep_tuple *tuple)
{
	typeof(nf_conntrack_find_get) *find = pep_untrack_finder();
	struct nf_conntrack_tuple ct_tuple = {
		.src.l3num = tuple->family,
		.src.u.tcp.port = tuple->sport,
		.dst.u.tcp.port = tuple->dport,
		.dst.protonum = IPPROTO_TCP,
	};
	struct nf_conntrack_tuple_hash *hash;
	struct nf_conn *ct;

	if (!find)
		return;
	memcpy(&ct_tuple.src.u3, &tuple->src, sizeof(ct_tuple.src.u3));
	memcpy(&ct_tuple.dst.u3, &tuple->dst, sizeof(ct_tuple.dst.u3));
	hash = find(net, &nf_ct_zone_dflt, &ct_tuple);
	if (!hash)
		return;
	ct = nf_ct_tuplehash_to_ctrack(hash);
	spin_lock(&ct->lock);
	ct->proto.tcp.seen[0].flags |= IP_CT_TCP_FLAG_BE_LIBERAL;
	ct->proto.tcp.seen[1].flags |= IP_CT_TCP_FLAG_BE_LIBERAL;
	spin_unlock(&ct->lock);
	nf_conntrack_put(&ct->ct_general);
}

/* Is this task, here, handing a packet of ours to the stack of @net? */
static bool pep_untrack_within(const struct net *net)
{
	const struct pep_untrack_scope *scope;

	preempt_disable();
	scope = __this_cpu_read(pep_untrack_scopes);
	while (scope && (scope->task != current || scope->net != net))
		scope = scope->next;
	preempt_enable();
	return scope;
}

static bool pep_untrack_is_tcp(const struct sk_buff *skb, u8 family)
{
	if (family == NFPROTO_IPV6)
		return ipv6_hdr(skb)->nexthdr == IPPROTO_TCP;
	return ip_hdr(skb)->protocol == IPPROTO_TCP;
}

/*
 * The socket is a connection, a listener, a request or in TIME_WAIT, TCP's raw
 * control socket, or none.
 */
static bool pep_untrack_is_ours(const struct sk_buff *skb,
				const struct nf_hook_state *state)
{
	const struct sock *sk = state->sk;

	if (sk && sk_fullsock(sk) && sk->sk_type != SOCK_RAW)
		return pep_callback_owns(sk);
	if (!pep_untrack_is_tcp(skb, state->pf))
		return false;
	if (sk && !sk_fullsock(sk) && pep_callback_owns(sk))
		return true;
	return pep_untrack_within(state->net);
}

/* The flow of a leg whose end has to get a reset, whatever is lost, or NULL. A closed
 * socket sends only resets, from within pep_flow_end(), which has the flow locked. The
 * reset of a flow that has never been up is repeated only where this host ends the flow.
 */
static struct pep_flow *pep_untrack_ends(const struct sock *sk)
{
	struct pep_flow *flow;

	if (!sk || sk->sk_state != TCP_CLOSE || sk->sk_type != SOCK_STREAM)
		return NULL;
	flow = rcu_dereference_sk_user_data(sk);
	return flow && pep_flow_resets(flow) ? flow : NULL;
}

static unsigned int pep_untrack_out(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	struct pep_flow *flow;

	if (!pep_untrack_is_ours(skb, state))
		return NF_ACCEPT;
	pep_untrack_skb(skb);
	flow = pep_untrack_ends(state->sk);
	if (flow) {
		flow->leg[pep_flow_side(flow, state->sk)].reset_sent = true;
		pep_again_keep(pep_net(state->net), skb,
			       tcp_sk(state->sk)->snd_una);
	}
	return NF_ACCEPT;
}

/* Before defragmentation, conntrack, and the chains that look at its state. */
static const struct nf_hook_ops pep_untrack_ops[] = {
	{
		.hook = pep_untrack_out,
		.pf = NFPROTO_INET,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = NF_IP_PRI_RAW_BEFORE_DEFRAG,
	},
};

/**
 * pep_untrack_start() - begin to mark sent packets
 * @pn: instance
 *
 * Context: may sleep, pn->lock held.
 * Return: 0 or a negative error.
 */
int pep_untrack_start(struct pep_net *pn)
{
	return nf_register_net_hooks(pn->net, pep_untrack_ops,
				     ARRAY_SIZE(pep_untrack_ops));
}

/**
 * pep_untrack_stop() - undo pep_untrack_start()
 * @pn: instance without flows, listeners and deliveries
 *
 * Context: may sleep.
 */
void pep_untrack_stop(struct pep_net *pn)
{
	nf_unregister_net_hooks(pn->net, pep_untrack_ops,
				ARRAY_SIZE(pep_untrack_ops));
}

#else

void pep_untrack_exit(void)
{
}

void pep_untrack_liberal(struct net *net, const struct pep_tuple *tuple)
{
}

void pep_untrack_skb(struct sk_buff *skb)
{
}

void pep_untrack_enter(struct pep_untrack_scope *scope, const struct net *net)
{
}

void pep_untrack_leave(struct pep_untrack_scope *scope)
{
}

int pep_untrack_start(struct pep_net *pn)
{
	return 0;
}

void pep_untrack_stop(struct pep_net *pn)
{
}

#endif
