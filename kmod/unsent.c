// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of legs that find no route, and those that TCP does not send.
 *
 * tcp_send_active_reset() makes a reset once, and IP frees it where the leg has no route:
 * the link to the end is down, or routing changes. There may be no memory for it, too. The
 * end would wait for ever where it sends nothing itself. Such a reset is built here from
 * the numbers of the leg, and sent as soon as there is a route; again.c repeats it then, as
 * all resets. The hook of untrack.c shows that a reset went out.
 *
 * A process that destroys a leg, as ss -K does, closes it without a reset when its FIN is
 * still on the way. Nobody repeats the FIN then, so a reset takes its place. In other states
 * TCP sends one, which is sent here once more, and repeated. TCP sends none either when its
 * patience with an end is over, as at the profile's user-timeout: an end that acknowledges,
 * and reads nothing, would notice only if it asked, see memo.c, while that is remembered.
 */

#include "unsent.h"

#include <linux/ktime.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/sched.h>
#include <net/inet_ecn.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "again.h"
#include "leg.h"
#include "route.h"
#include "scope.h"

/* Time between two looks for a route. */
#define PEP_UNSENT_RETRY	(HZ / 10)

/* Time for which a reset waits for a route, ms. */
#define PEP_UNSENT_WAIT		10000

/* Time for which the module waits for them when it goes, jiffies. */
#define PEP_UNSENT_LINGER	(2 * HZ)

/* Resets of a namespace that may wait. */
#define PEP_UNSENT_MOST		4096

/* The states in which a leg is reset, see pep_leg_abort() and tcp_disconnect(). */
#define PEP_UNSENT_STATES	(TCPF_ESTABLISHED | TCPF_CLOSE_WAIT | TCPF_FIN_WAIT1 | \
				 TCPF_FIN_WAIT2 | TCPF_SYN_RECV | TCPF_LAST_ACK | \
				 TCPF_CLOSING)

/**
 * struct pep_unsent_cb - skb->cb of a reset that waits; skb->tstamp is its deadline and
 *	skb->skb_iif the device that its leg was bound to
 * @again: numbers of its repetitions, or NULL
 */
struct pep_unsent_cb {
	struct pep_again *again;
};

#define PEP_UNSENT_CB(skb)	((struct pep_unsent_cb *)(skb)->cb)

/* Read the addresses, ports and TOS or traffic class of a reset. */
static void pep_unsent_parse(const struct sk_buff *skb, struct pep_tuple *tuple,
			     u8 *dsfield)
{
	memset(tuple, 0, sizeof(*tuple));
	tuple->sport = tcp_hdr(skb)->source;
	tuple->dport = tcp_hdr(skb)->dest;
	if (skb->protocol == htons(ETH_P_IP)) {
		tuple->family = AF_INET;
		tuple->src.v4 = ip_hdr(skb)->saddr;
		tuple->dst.v4 = ip_hdr(skb)->daddr;
		*dsfield = ip_hdr(skb)->tos;
	} else {
		tuple->family = AF_INET6;
		tuple->src.v6 = ipv6_hdr(skb)->saddr;
		tuple->dst.v6 = ipv6_hdr(skb)->daddr;
		*dsfield = ipv6_get_dsfield(ipv6_hdr(skb));
	}
}

#if IS_ENABLED(CONFIG_IPV6)
static void pep_unsent_ip6(struct sk_buff *skb, const struct pep_unsent *reset)
{
	struct ipv6hdr *hdr = skb_push(skb, sizeof(*hdr));

	ip6_flow_hdr(hdr, reset->tos, 0);
	hdr->nexthdr = IPPROTO_TCP;
	hdr->saddr = reset->tuple.dst.v6;
	hdr->daddr = reset->tuple.src.v6;
	skb->protocol = htons(ETH_P_IPV6);
}
#else
static void pep_unsent_ip6(struct sk_buff *skb, const struct pep_unsent *reset)
{
}
#endif

static void pep_unsent_drop(struct sk_buff *skb)
{
	kfree(PEP_UNSENT_CB(skb)->again);
	kfree_skb(skb);
}

/* Send a reset; false without a route. */
static bool pep_unsent_send(struct pep_net *pn, struct sk_buff *skb)
{
	struct pep_again *again = PEP_UNSENT_CB(skb)->again;
	struct pep_tuple tuple;
	struct dst_entry *dst;
	u8 dsfield;

	pep_unsent_parse(skb, &tuple, &dsfield);
	dst = pep_route_out(pn->net, &tuple, skb->skb_iif, skb->mark, dsfield);
	if (!dst)
		return false;
	memset(skb->cb, 0, sizeof(skb->cb));
	skb->tstamp = 0;
	skb->skb_iif = 0;
	skb_dst_set(skb, dst);
	if (tuple.family == AF_INET)
		ip_hdr(skb)->ttl = ip4_dst_hoplimit(dst);
	else if (IS_ENABLED(CONFIG_IPV6))
		ipv6_hdr(skb)->hop_limit = ip6_dst_hoplimit(dst);
	local_bh_disable();
	pep_again_keep(pn, skb, again);
	local_bh_enable();
	pep_scope_send(pn->net, skb);
	return true;
}

/* Keep a reset that has no route yet, or drop it when it has waited for long, or others
 * have taken its place meanwhile.
 */
static void pep_unsent_wait(struct pep_net *pn, struct sk_buff *skb)
{
	if (ktime_before(ktime_get(), skb->tstamp) &&
	    skb_queue_len_lockless(&pn->unsent) < PEP_UNSENT_MOST)
		skb_queue_tail(&pn->unsent, skb);
	else
		pep_unsent_drop(skb);
}

static void pep_unsent_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, unsent_work);
	struct sk_buff_head list;
	struct sk_buff *skb;

	__skb_queue_head_init(&list);
	spin_lock_bh(&pn->unsent.lock);
	skb_queue_splice_tail_init(&pn->unsent, &list);
	spin_unlock_bh(&pn->unsent.lock);
	while ((skb = __skb_dequeue(&list))) {
		if (!pep_unsent_send(pn, skb))
			pep_unsent_wait(pn, skb);
		cond_resched();
	}
	if (!skb_queue_empty_lockless(&pn->unsent))
		schedule_delayed_work(&pn->unsent_work, PEP_UNSENT_RETRY);
}

/**
 * pep_unsent_init() - prepare the resets without a route
 * @pn: new instance
 */
void pep_unsent_init(struct pep_net *pn)
{
	skb_queue_head_init(&pn->unsent);
	INIT_DELAYED_WORK(&pn->unsent_work, pep_unsent_work);
}

/**
 * pep_unsent_stop() - drop the resets that still wait
 * @pn: instance without flows
 *
 * When the module goes and the namespace stays, they have PEP_UNSENT_LINGER to find a
 * route.
 *
 * Context: may sleep.
 */
void pep_unsent_stop(struct pep_net *pn)
{
	unsigned long until = jiffies + PEP_UNSENT_LINGER;
	struct sk_buff *skb;

	while (check_net(pn->net) && time_before(jiffies, until)) {
		flush_delayed_work(&pn->unsent_work);
		if (skb_queue_empty_lockless(&pn->unsent))
			break;
		schedule_timeout_uninterruptible(PEP_UNSENT_RETRY);
	}
	cancel_delayed_work_sync(&pn->unsent_work);
	while ((skb = skb_dequeue(&pn->unsent)))
		pep_unsent_drop(skb);
}

/* Is the end of a leg to get a reset? */
static bool pep_unsent_due(const struct sock *sk)
{
	if (tcp_sk(sk)->repair)
		return false;
	/* TCP has lost patience; these are the errors of resets that the end has sent. */
	if (sk->sk_state == TCP_CLOSE)
		return sk->sk_err && !pep_leg_was_reset(sk);
	return (1 << sk->sk_state) & PEP_UNSENT_STATES;
}

/**
 * pep_unsent_note() - note the reset that a leg sends when it is closed, or should have
 *	sent then
 * @reset: result
 * @sk: locked leg, before pep_leg_abort()
 *
 * The number is the one of tcp_send_active_reset(), tcp_acceptable_seq().
 *
 * Context: BH off.
 */
void pep_unsent_note(struct pep_unsent *reset, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 edge = tcp_wnd_end(tp), beyond = tp->snd_nxt - edge;

	pep_tuple_of_peer(&reset->tuple, sk);
	reset->due = pep_unsent_due(sk);
	reset->seq = tp->snd_nxt;
	if (before(edge, tp->snd_nxt) &&
	    !(tp->rx_opt.wscale_ok && beyond < 1U << tp->rx_opt.rcv_wscale))
		reset->seq = edge;
	reset->ack = tp->rcv_nxt;
	reset->mark = sk->sk_mark;
	reset->oif = sk->sk_bound_dev_if;
	reset->tos = sk->sk_family == AF_INET ? inet_sk(sk)->tos :
		     inet6_sk(sk)->tclass;
	/* No reset is ECN-capable: RFC 3168, section 6.1.1. */
	reset->tos &= ~INET_ECN_MASK;
}

static void pep_unsent_tcp(struct sk_buff *skb, const struct pep_unsent *reset)
{
	struct tcphdr *th = skb_push(skb, sizeof(*th));
	const struct pep_tuple *tuple = &reset->tuple;

	memset(th, 0, sizeof(*th));
	skb_reset_transport_header(skb);
	th->source = tuple->dport;
	th->dest = tuple->sport;
	th->seq = htonl(reset->seq);
	th->ack_seq = htonl(reset->ack);
	th->doff = sizeof(*th) / 4;
	th->rst = 1;
	th->ack = 1;
	if (tuple->family == AF_INET)
		th->check = tcp_v4_check(sizeof(*th), tuple->dst.v4, tuple->src.v4,
					 csum_partial(th, sizeof(*th), 0));
	else
		th->check = tcp_v6_check(sizeof(*th), &tuple->dst.v6, &tuple->src.v6,
					 csum_partial(th, sizeof(*th), 0));
}

static void pep_unsent_ip4(struct sk_buff *skb, const struct pep_unsent *reset)
{
	struct iphdr *iph = skb_push(skb, sizeof(*iph));

	memset(iph, 0, sizeof(*iph));
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = reset->tos;
	iph->frag_off = htons(IP_DF);
	iph->protocol = IPPROTO_TCP;
	iph->saddr = reset->tuple.dst.v4;
	iph->daddr = reset->tuple.src.v4;
	skb->protocol = htons(ETH_P_IP);
}

/**
 * pep_unsent_keep() - send a reset when there is a route
 * @pn: instance
 * @reset: reset that is due, and was not sent, or not by a leg of a flow
 * @again: numbers of its repetitions, consumed; NULL for no repetition
 *
 * It is dropped where there is no memory, beyond PEP_UNSENT_MOST of them, and after
 * PEP_UNSENT_WAIT without a route.
 *
 * Context: BH off.
 */
void pep_unsent_keep(struct pep_net *pn, const struct pep_unsent *reset,
		     struct pep_again *again)
{
	struct sk_buff *skb = NULL;

	if (skb_queue_len_lockless(&pn->unsent) < PEP_UNSENT_MOST)
		skb = alloc_skb(MAX_TCP_HEADER, GFP_ATOMIC);
	if (!skb) {
		kfree(again);
		return;
	}
	skb_reserve(skb, MAX_TCP_HEADER);
	pep_unsent_tcp(skb, reset);
	if (reset->tuple.family == AF_INET)
		pep_unsent_ip4(skb, reset);
	else
		pep_unsent_ip6(skb, reset);
	skb_reset_network_header(skb);
	skb_set_nfct(skb, IP_CT_UNTRACKED);
	skb->mark = reset->mark;
	skb->skb_iif = reset->oif;
	skb->tstamp = ktime_add_ms(ktime_get(), PEP_UNSENT_WAIT);
	PEP_UNSENT_CB(skb)->again = again;
	skb_queue_tail(&pn->unsent, skb);
	schedule_delayed_work(&pn->unsent_work, 0);
}
