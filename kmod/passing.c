// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that pass while their connection is handed back: the leg that the end of such a
 * packet has spoken to gets the acknowledgment in it.
 */

#include "passing.h"

#include <net/tcp.h>

#include "deliver.h"
#include "ipsec.h"
#include "release.h"

/* Give an acknowledgment the network header of its packet, without options; its checksums
 * are not looked at.
 */
static void pep_passing_head(struct sk_buff *copy, const struct sk_buff *skb, u32 len)
{
	if (skb->protocol == htons(ETH_P_IP)) {
		struct iphdr *iph = skb_put_data(copy, ip_hdr(skb), sizeof(*iph));

		iph->ihl = sizeof(*iph) / 4;
		iph->tot_len = htons(sizeof(*iph) + len);
	} else {
		struct ipv6hdr *h = skb_put_data(copy, ipv6_hdr(skb), sizeof(*h));

		h->nexthdr = IPPROTO_TCP;
		h->payload_len = htons(len);
	}
}

/*
 * Make the acknowledgment of a packet that goes on; for the INPUT hooks and policies of
 * IPsec it came the same way. Return: a packet without payload, or NULL, which is like a
 * lost one.
 */
static struct sk_buff *pep_passing_copy(const struct sk_buff *skb,
					const struct pep_packet *pkt,
					const struct pep_release_way *way)
{
	u32 len = __tcp_hdrlen(pkt->th);
	struct sk_buff *copy;
	struct tcphdr *th;

	copy = alloc_skb(NET_SKB_PAD + sizeof(struct ipv6hdr) + len, GFP_ATOMIC);
	if (!copy)
		return NULL;
	skb_reserve(copy, NET_SKB_PAD);
	skb_reset_network_header(copy);
	skb_reset_mac_header(copy);
	copy->dev = skb->dev;
	copy->skb_iif = skb->skb_iif;
	copy->protocol = skb->protocol;
	copy->pkt_type = PACKET_HOST;
	copy->mark = skb->mark;
	skb_copy_secmark(copy, skb);
	skb_ext_copy(copy, skb);
	if (!pep_ipsec_own(copy)) {
		kfree_skb(copy);
		return NULL;
	}
	pep_passing_head(copy, skb, len);
	th = skb_put_data(copy, pkt->th, len);
	th->seq = htonl(way->seq);
	th->ack_seq = htonl(way->ack);
	th->fin = 0;
	th->urg = 0;
	/* The checksum of the packet itself was correct. */
	copy->ip_summed = CHECKSUM_UNNECESSARY;
	return copy;
}

/**
 * pep_passing_deliver() - deliver a packet or its acknowledgment to a leg
 * @pn: instance
 * @skb: packet; consumed unless it passes
 * @pkt: parsed @skb
 * @way: from pep_release_packet(), with a leg
 *
 * Context: BH off, RCU read side, no socket locked.
 */
void pep_passing_deliver(struct pep_net *pn, struct sk_buff *skb,
			 const struct pep_packet *pkt,
			 const struct pep_release_way *way)
{
	if (way->pass)
		skb = pep_passing_copy(skb, pkt, way);
	if (skb)
		pep_deliver_local(pn, skb, way->leg);
	else
		sock_put(way->leg);
}
