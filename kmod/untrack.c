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
 * Conntrack has an entry for a connection that was followed first, but sees none
 * of its packets while it is split. The entry is made liberal about windows, so
 * that packets are valid when the connection is handed back. It would expire
 * meanwhile, soon where it has seen payload without its acknowledgment, so it is
 * kept for as long as the flow lives. Then it is in TIME_WAIT, or goes.
 */

#include "untrack.h"

#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netfilter/nf_conntrack.h>
#include <net/netfilter/nf_conntrack_core.h>
#include <net/netfilter/nf_conntrack_l4proto.h>
#include <net/sock.h>

#include "again.h"
#include "callback.h"
#include "flow.h"
#include "leg.h"
#include "scope.h"
#include "track.h"
#include "tuple.h"

#if IS_ENABLED(CONFIG_NF_CONNTRACK)

/* Lifetime of the entry of a split connection, and how often that time begins
 * anew, jiffies.
 */
#define PEP_UNTRACK_TIME	(300 * HZ)
#define PEP_UNTRACK_PERIOD	(60 * HZ)

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

/*
 * Conntrack's entry of a connection, by the tuple of the opener's packets, with a
 * reference, or NULL; @dir is the direction of these packets. Only the default zone is
 * searched: an entry in another one is not found. It is without NAT, as no connection
 * with NAT is split.
 */
static struct nf_conn *pep_untrack_entry(struct net *net,
					 const struct pep_tuple *tuple,
					 enum ip_conntrack_dir *dir)
{
	typeof(nf_conntrack_find_get) *find = pep_untrack_finder();
	struct nf_conntrack_tuple ct_tuple = {
		.src.l3num = tuple->family,
		.src.u.tcp.port = tuple->sport,
		.dst.u.tcp.port = tuple->dport,
		.dst.protonum = IPPROTO_TCP,
	};
	struct nf_conntrack_tuple_hash *hash;

	if (!find)
		return NULL;
	memcpy(&ct_tuple.src.u3, &tuple->src, sizeof(ct_tuple.src.u3));
	memcpy(&ct_tuple.dst.u3, &tuple->dst, sizeof(ct_tuple.dst.u3));
	hash = find(net, &nf_ct_zone_dflt, &ct_tuple);
	if (!hash)
		return NULL;
	*dir = NF_CT_DIRECTION(hash);
	return nf_ct_tuplehash_to_ctrack(hash);
}

/* Let an entry expire after a time, as packets do; see __nf_ct_refresh_acct(). */
static void pep_untrack_expire(struct nf_conn *ct, u32 timeout)
{
	if (nf_ct_is_confirmed(ct) &&
	    !test_bit(IPS_FIXED_TIMEOUT_BIT, &ct->status))
		WRITE_ONCE(ct->timeout, nfct_time_stamp + timeout);
}

/**
 * pep_untrack_split() - prepare conntrack's entry of a connection that is split
 * @net: namespace
 * @tuple: tuple of the opener's packets
 *
 * Context: BH off, with the flow locked, so that pep_untrack_over() comes later.
 */
void pep_untrack_split(struct net *net, const struct pep_tuple *tuple)
{
	enum ip_conntrack_dir dir;
	struct nf_conn *ct;

	ct = pep_untrack_entry(net, tuple, &dir);
	if (!ct)
		return;
	spin_lock(&ct->lock);
	ct->proto.tcp.seen[0].flags |= IP_CT_TCP_FLAG_BE_LIBERAL;
	ct->proto.tcp.seen[1].flags |= IP_CT_TCP_FLAG_BE_LIBERAL;
	spin_unlock(&ct->lock);
	pep_untrack_expire(ct, PEP_UNTRACK_TIME);
	nf_conntrack_put(&ct->ct_general);
}

/* Note the numbers of an end as tcp_in_window() does. */
static void pep_untrack_numbers(struct ip_ct_tcp_state *seen,
				const struct pep_track_end *self,
				const struct pep_track_end *peer)
{
	u32 window = after(self->edge, self->ack) ? self->edge - self->ack : 0;

	seen->td_end = self->high;
	seen->td_maxend = peer->edge;
	seen->td_maxwin = max(seen->td_maxwin, window);
	seen->td_maxack = self->ack;
	seen->flags &= ~IP_CT_TCP_FLAG_DATA_UNACKNOWLEDGED;
}

/**
 * pep_untrack_back() - prepare conntrack's entry of a connection that is handed back
 * @net: namespace
 * @tuple: tuple of the opener's packets
 * @opener: the opener
 * @other: the other end
 *
 * Each end has acknowledged the payload that conntrack has not seen, or will past this host.
 * The entry lasts from now on as it would after such an acknowledgment; payload that is
 * under way past the legs is in packets that conntrack sees. By the acknowledgments of before,
 * which may be 2 GiB behind, it would find resets invalid.
 *
 * Context: BH off, with the flow locked, see pep_untrack_prolong().
 */
void pep_untrack_back(struct net *net, const struct pep_tuple *tuple,
		      const struct pep_track_end *opener, const struct pep_track_end *other)
{
	enum ip_conntrack_dir dir;
	struct nf_conn *ct;
	u8 state;

	ct = pep_untrack_entry(net, tuple, &dir);
	if (!ct)
		return;
	spin_lock(&ct->lock);
	pep_untrack_numbers(&ct->proto.tcp.seen[dir], opener, other);
	pep_untrack_numbers(&ct->proto.tcp.seen[!dir], other, opener);
	state = ct->proto.tcp.state;
	spin_unlock(&ct->lock);
	pep_untrack_expire(ct, nf_tcp_pernet(net)->timeouts[state]);
	nf_conntrack_put(&ct->ct_general);
}

/**
 * pep_untrack_over() - expire conntrack's entry of a connection that has ended
 * @flow: flow that has ended, locked
 * @cause: counter of the cause, as for pep_flow_end()
 *
 * Conntrack has seen neither a FIN nor a reset. Where a flowtable has the entry, the entry
 * goes at once: nf_flow_table_extend_ct_timeout() would let it last for a day, so that the
 * entries of a day would fill conntrack's table, and a SYN of the same ends would pass
 * conntrack by. Else it is in TIME_WAIT, and a SYN opens the connection anew.
 *
 * Context: BH off.
 */
void pep_untrack_over(const struct pep_flow *flow, enum pep_stat cause)
{
	struct net *net = flow->pn->net;
	enum ip_conntrack_dir dir;
	struct nf_conn *ct;
	bool over;

	if (flow->mode != PEP_CONNECT_MODE_FOLLOW || pep_flow_released(cause))
		return;
	ct = pep_untrack_entry(net, &flow->tuple, &dir);
	if (ct && test_bit(IPS_OFFLOAD_BIT, &ct->status)) {
		pep_untrack_expire(ct, 0);
		nf_conntrack_put(&ct->ct_general);
		/* Conntrack removes an expired entry when it meets it. */
		ct = pep_untrack_entry(net, &flow->tuple, &dir);
	}
	if (!ct)
		return;
	spin_lock(&ct->lock);
	over = ct->proto.tcp.state == TCP_CONNTRACK_ESTABLISHED;
	if (over) {
		ct->proto.tcp.state = TCP_CONNTRACK_TIME_WAIT;
		ct->proto.tcp.seen[dir].flags |= IP_CT_TCP_FLAG_CLOSE_INIT;
	}
	spin_unlock(&ct->lock);
	if (over)
		pep_untrack_expire(ct, nf_tcp_pernet(net)->timeouts[TCP_CONNTRACK_TIME_WAIT]);
	nf_conntrack_put(&ct->ct_general);
}

/* Keep the entry of a flow's connection. The lock keeps this from coming after
 * pep_untrack_back(), which sets the time of a connection that is handed back. Return:
 * there is an entry.
 */
static bool pep_untrack_prolong(struct pep_flow *flow)
{
	enum ip_conntrack_dir dir;
	struct nf_conn *ct = NULL;
	bool found;

	spin_lock_bh(&flow->lock);
	if (flow->mode == PEP_CONNECT_MODE_FOLLOW &&
	    flow->state != PEP_FLOW_STATE_DEAD)
		ct = pep_untrack_entry(flow->pn->net, &flow->tuple, &dir);
	found = ct;
	if (found) {
		pep_untrack_expire(ct, PEP_UNTRACK_TIME);
		nf_conntrack_put(&ct->ct_general);
	}
	spin_unlock_bh(&flow->lock);
	return found;
}

static void pep_untrack_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, untrack_work);

	if (pep_untrack_finder())
		pep_flow_each(pn, NULL, NULL, pep_untrack_prolong);
	schedule_delayed_work(&pn->untrack_work, PEP_UNTRACK_PERIOD);
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
	return pep_scope_within(state->net);
}

/* Find the leg whose reset is to be repeated. A closed leg sends resets from
 * within pep_flow_end(), which has the flow locked; a listener sends none. A packet that
 * comes from encryption, maybe on another CPU, has the leg, too, and is no TCP; one that
 * a rule has queued to a program comes without the lock as well. Return: the leg, or NULL
 * where the reset is not repeated.
 */
static struct pep_leg *pep_untrack_ends(const struct sk_buff *skb,
					const struct nf_hook_state *state)
{
	const struct sock *sk = state->sk;
	struct pep_flow *flow;
	enum pep_side side;

	if (!sk || sk->sk_state != TCP_CLOSE || sk->sk_type != SOCK_STREAM ||
	    !pep_untrack_is_tcp(skb, state->pf) || !tcp_hdr(skb)->rst)
		return NULL;
	flow = rcu_dereference_sk_user_data(sk);
	if (!flow)
		return NULL;
	side = pep_flow_side(flow, sk);
	return pep_flow_resets(flow, side) ? &flow->leg[side] : NULL;
}

/* A leg that repeats payload after a time-out gives its part of the link to others, and the
 * kernel chooses its flow label. TCP has the socket locked when it sends: in softirq, or as
 * its owner. It has not for a packet that comes from encryption or from a VRF's queue, or
 * that a rule has queued to a program, which answers in process context; from a VRF without
 * a queue a packet comes a second time. Those of a VRF have its device. Return: false when
 * the packet has lost its route, and is to be dropped.
 */
static bool pep_untrack_again(struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct sock *sk = state->sk;
	struct pep_flow *flow;

	if (!sk || !sk_fullsock(sk) || sk->sk_type != SOCK_STREAM ||
	    !inet_csk(sk)->icsk_retransmits ||
	    (skb->dev && skb->dev != state->out) ||
	    !(in_softirq() || sock_owned_by_user_nocheck(sk)) ||
	    !pep_untrack_is_tcp(skb, state->pf))
		return true;
	/* A route with IPsec may have no other reference than the socket's. */
	if (!skb_dst_force(skb))
		return false;
	pep_leg_forget_label(sk);
	flow = rcu_dereference_sk_user_data(sk);
	if (flow && flow->leg[PEP_SIDE_WIRELESS].sk == sk)
		pep_link_sent(flow);
	return true;
}

static unsigned int pep_untrack_out(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	struct pep_leg *leg;

	if (!pep_untrack_is_ours(skb, state))
		return NF_ACCEPT;
	pep_untrack_skb(skb);
	if (!pep_untrack_again(skb, state))
		return NF_DROP;
	leg = pep_untrack_ends(skb, state);
	/* By a VRF the packet comes here twice. */
	if (leg && !leg->reset_sent) {
		leg->reset_sent = true;
		pep_again_keep(pep_net(state->net), skb, xchg(&leg->again, NULL));
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
 * pep_untrack_start() - begin to mark sent packets, and to keep entries
 * @pn: instance
 *
 * Context: may sleep, pn->lock held.
 * Return: 0 or a negative error.
 */
int pep_untrack_start(struct pep_net *pn)
{
	int err;

	err = nf_register_net_hooks(pn->net, pep_untrack_ops,
				    ARRAY_SIZE(pep_untrack_ops));
	if (err)
		return err;
	INIT_DELAYED_WORK(&pn->untrack_work, pep_untrack_work);
	schedule_delayed_work(&pn->untrack_work, PEP_UNTRACK_PERIOD);
	return 0;
}

/**
 * pep_untrack_stop() - undo pep_untrack_start()
 * @pn: instance without flows, listeners and deliveries
 *
 * Context: may sleep.
 */
void pep_untrack_stop(struct pep_net *pn)
{
	cancel_delayed_work_sync(&pn->untrack_work);
	nf_unregister_net_hooks(pn->net, pep_untrack_ops,
				ARRAY_SIZE(pep_untrack_ops));
}

#else

void pep_untrack_exit(void)
{
}

void pep_untrack_split(struct net *net, const struct pep_tuple *tuple)
{
}

void pep_untrack_back(struct net *net, const struct pep_tuple *tuple,
		      const struct pep_track_end *opener, const struct pep_track_end *other)
{
}

void pep_untrack_over(const struct pep_flow *flow, enum pep_stat cause)
{
}

void pep_untrack_skb(struct sk_buff *skb)
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
