// SPDX-License-Identifier: GPL-2.0
/*
 * Fragments of TCP packets. Only the first of them holds the ports, so that
 * they are reassembled before the lookup, as in act_ct. A packet that turns
 * out not to be ours goes on as one packet and is fragmented again where it
 * does not fit.
 */

#include "fragment.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/ip.h>
#include <net/ipv6_frag.h>
#include <net/pkt_sched.h>
#if IS_ENABLED(CONFIG_NF_DEFRAG_IPV6)
#include <net/netfilter/ipv6/nf_defrag_ipv6.h>
#endif

#include "packet.h"
#include "stat.h"

/*
 * User of the fragments: in the range of conntrack's zones, whose timeouts are
 * not reported to the sender, and a zone that no other code has ("pe").
 */
#define PEP_FRAGMENT_USER4	(IP_DEFRAG_CONNTRACK_IN + 0x7065)
#define PEP_FRAGMENT_USER6	(IP6_DEFRAG_CONNTRACK_IN + 0x7065)

static int pep_fragment_gather4(struct net *net, struct sk_buff *skb)
{
	if (pskb_trim_rcsum(skb, iph_totlen(skb, ip_hdr(skb)))) {
		kfree_skb(skb);
		return -ENOMEM;
	}
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	return ip_defrag(net, skb, PEP_FRAGMENT_USER4);
}

#if IS_ENABLED(CONFIG_NF_DEFRAG_IPV6)
static int pep_fragment_gather6(struct net *net, struct sk_buff *skb)
{
	int err = -ENOMEM;

	if (!pskb_trim_rcsum(skb, pep_packet_len6(skb, ipv6_hdr(skb)))) {
		memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
		err = nf_ct_frag6_gather(net, skb, PEP_FRAGMENT_USER6);
	}
	if (err && err != -EINPROGRESS)
		kfree_skb(skb);
	return err;
}
#else
/* Fragments pass as they are. */
static int pep_fragment_gather6(struct net *net, struct sk_buff *skb)
{
	return 0;
}
#endif

/* Was one of the fragments a list itself, as the payload of a tunnel can be? */
static bool pep_fragment_nested(const struct sk_buff *skb)
{
	struct sk_buff *part;

	skb_walk_frags(skb, part)
		if (skb_has_frag_list(part))
			return true;
	return false;
}

/**
 * pep_fragment_gather() - reassemble the fragments of a TCP packet
 * @pn: instance
 * @skb: packet at ingress, PEP_PACKET_FRAGMENT; has to be parsed anew unless
 *	it was consumed
 *
 * Context: softirq, RCU read side.
 * Return: true when the fragment was consumed, to be kept until the others are
 * there; false when @skb is the whole packet, or has to pass as it is.
 */
bool pep_fragment_gather(struct pep_net *pn, struct sk_buff *skb)
{
	struct tc_skb_cb cb = *tc_skb_cb(skb);
	int err;

	/* The result would not be the sk_buff that tc goes on with. */
	if (skb_shared(skb))
		return false;
	err = skb->protocol == htons(ETH_P_IP) ?
	      pep_fragment_gather4(pn->net, skb) :
	      pep_fragment_gather6(pn->net, skb);
	if (err) {
		pep_stat_inc(pn, err == -EINPROGRESS ?
				 PEP_STAT_FRAGMENT_GATHERED :
				 PEP_STAT_DROPPED);
		return true;
	}
	/* TCP's code, and ours, goes through lists of one level. */
	if (pep_fragment_nested(skb) && skb_linearize(skb)) {
		pep_stat_inc(pn, PEP_STAT_DROPPED);
		kfree_skb(skb);
		return true;
	}
	*tc_skb_cb(skb) = cb;
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	skb_clear_hash(skb);
	/* No device has to take the packet whole. */
	skb->ignore_df = 1;
	return false;
}
