/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_PACKET_H
#define _PEP_PACKET_H

#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/dsfield.h>
#include <net/ipv6.h>

#include "tuple.h"

/**
 * enum pep_packet_kind - kind of packet for the proxy
 * @PEP_PACKET_TCP: TCP with sane headers
 * @PEP_PACKET_ICMP: an ICMP or ICMPv6 error about a TCP packet
 * @PEP_PACKET_OTHER: not TCP over IPv4 or IPv6, with a VLAN tag, or ICMP that is no error
 * @PEP_PACKET_QUIC: UDP to or from port 443
 * @PEP_PACKET_MALFORMED: headers that contradict themselves or are cut off, or a SYN or
 *	SYN-ACK with a wrong checksum
 * @PEP_PACKET_FRAGMENT: a fragment of TCP
 * @PEP_PACKET_FRAGMENT_OTHER: a fragment of ICMP, or of IPv6 with an extension
 *	header in the fragments
 * @PEP_PACKET_EXTHDR: with an IPv6 extension header or an IPv4 source route
 *	that a leg cannot ignore
 * @PEP_PACKET_ICMP_OTHER: an ICMP error that is not about TCP
 */
enum pep_packet_kind {
	PEP_PACKET_TCP,
	PEP_PACKET_ICMP,
	PEP_PACKET_OTHER,
	PEP_PACKET_QUIC,
	PEP_PACKET_MALFORMED,
	PEP_PACKET_FRAGMENT,
	PEP_PACKET_FRAGMENT_OTHER,
	PEP_PACKET_EXTHDR,
	PEP_PACKET_ICMP_OTHER,
};

/**
 * struct pep_packet - a parsed packet
 * @tuple: ends of the packet; for an ICMP error the ends of an answer to the
 *	quoted packet, so that it finds the socket that sent that packet
 * @th: TCP header with its options in the linear part; unset for ICMP
 * @options: length of the TCP options, bytes; unset for ICMP
 * @last_hop: the packet must not be forwarded, as its TTL is 1 or less
 * @thoff: offset of the TCP or ICMP header from the network header, bytes
 * @end: length that the IP header gives, bytes
 * @payload: length of the TCP payload, bytes; unset for ICMP
 * @ip_options: an IPv4 header with options, or IPv6 extension headers
 */
struct pep_packet {
	struct pep_tuple tuple;
	const struct tcphdr *th;
	u8 options;
	bool ip_options;
	bool last_hop;
	u32 thoff;
	u32 end;
	u32 payload;
};

/**
 * struct pep_headers6 - end of the headers of an IPv6 packet
 * @nexthdr: protocol behind them
 * @nhoff: offset of the byte that names it, from the network header, bytes
 * @thoff: offset of that protocol's header, from the network header, bytes
 */
struct pep_headers6 {
	u8 nexthdr;
	unsigned int nhoff;
	unsigned int thoff;
};

bool pep_packet_strip(struct sk_buff *skb, struct pep_packet *pkt);
bool pep_packet_renumber(struct sk_buff *skb, struct pep_packet *pkt, u32 seq,
			 u32 ack);
bool pep_packet_csum_ok(const struct sk_buff *skb, const struct pep_packet *pkt);
enum pep_packet_kind pep_packet_parse(struct sk_buff *skb,
				      struct pep_packet *pkt);
#if IS_ENABLED(CONFIG_IPV6)
enum pep_packet_kind pep_packet_headers6(struct sk_buff *skb,
					 struct pep_headers6 *h);
#endif
#if IS_ENABLED(CONFIG_KUNIT)
enum pep_packet_kind pep_packet_options4(const u8 *opt, unsigned int len);
#if IS_ENABLED(CONFIG_IPV6)
bool pep_packet_options6(const u8 *opt, unsigned int len, bool jumbo);
#endif
#endif

/**
 * pep_packet_len6() - length of an IPv6 packet
 * @skb: packet with skb->data at the network header
 * @iph: that header
 *
 * Return: the length that the header gives, bytes, itself included; with BIG
 * TCP, which leaves the field empty, the length of @skb. iph_totlen() is the
 * same for IPv4.
 */
static inline u32 pep_packet_len6(const struct sk_buff *skb,
				  const struct ipv6hdr *iph)
{
	if (!iph->payload_len && skb_is_gso(skb))
		return skb->len;
	return ntohs(iph->payload_len) + sizeof(*iph);
}

/**
 * pep_packet_dsfield() - TOS or traffic class of a packet
 * @skb: IPv4 or IPv6 packet whose header is linear
 *
 * Return: DSCP and ECN from the header.
 */
static inline u8 pep_packet_dsfield(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6) ?
	       ipv6_get_dsfield(ipv6_hdr(skb)) : ipv4_get_dsfield(ip_hdr(skb));
}

/* Set in each result of pep_packet_label() for IPv6; a label has 20 bits. */
#define PEP_PACKET_LABELLED	BIT(31)

/**
 * pep_packet_label() - flow label of a packet, RFC 6437
 * @skb: IPv4 or IPv6 packet whose header is linear
 *
 * Return: the label, with PEP_PACKET_LABELLED; 0 for IPv4.
 */
static inline u32 pep_packet_label(const struct sk_buff *skb)
{
	if (skb->protocol != htons(ETH_P_IPV6))
		return 0;
	return ntohl(ip6_flowlabel(ipv6_hdr(skb))) | PEP_PACKET_LABELLED;
}

/**
 * pep_packet_gtsm() - does the sender use TTL security, RFC 5082?
 * @skb: packet, parsed
 *
 * Return: true when its TTL or hop limit is 255; that of a leg is another one.
 */
static inline bool pep_packet_gtsm(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6) ?
	       ipv6_hdr(skb)->hop_limit == 255 : ip_hdr(skb)->ttl == 255;
}

/**
 * pep_packet_is_syn() - does the packet open a connection?
 * @th: TCP header
 *
 * Return: true for a SYN without ACK, RST and FIN.
 */
static inline bool pep_packet_is_syn(const struct tcphdr *th)
{
	return th->syn && !th->ack && !th->rst && !th->fin;
}

#endif
