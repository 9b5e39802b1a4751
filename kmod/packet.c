// SPDX-License-Identifier: GPL-2.0
/*
 * Parsing of a packet at clsact ingress, where skb->data is the network
 * header and nothing has been checked yet. Changes no byte of it unless stated
 * otherwise.
 */

#include "packet.h"

#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "option.h"

/* Maximum of extension headers in a packet; no sane packet has more. */
#define PEP_PACKET_EXTHDRS	8

/* Port of HTTP/3. */
#define PEP_PACKET_QUIC_PORT	443

/* Bits of an IPv6 option's type: action of a node that does not recognise it. */
#define PEP_PACKET_TLV_ACTION	0xc0

/**
 * pep_packet_csum_ok() - is the checksum of a TCP segment right?
 * @skb: packet
 * @pkt: parsed @skb; only its addresses and the offsets of the segment
 *
 * For segments that are handled before TCP receives them.
 *
 * Context: any.
 * Return: true when it is, or when it has been verified before.
 */
bool pep_packet_csum_ok(const struct sk_buff *skb, const struct pep_packet *pkt)
{
	const struct pep_tuple *tuple = &pkt->tuple;
	u32 len = pkt->end - pkt->thoff;
	__wsum csum;

	/* GRO has verified each packet of a list, whose first header it keeps. Unlike
	 * skb_csum_unnecessary() this overlooks csum_valid: tunnels set it when they
	 * have verified the outer packet, and TCP resets it before it looks.
	 */
	if (skb->ip_summed == CHECKSUM_UNNECESSARY ||
	    (skb->ip_summed == CHECKSUM_PARTIAL &&
	     skb_checksum_start_offset(skb) >= 0) ||
	    skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST)
		return true;
	csum = skb_checksum(skb, pkt->thoff, len, 0);
#if IS_ENABLED(CONFIG_IPV6)
	if (tuple->family == AF_INET6)
		return !csum_ipv6_magic(&tuple->src.v6, &tuple->dst.v6, len,
					IPPROTO_TCP, csum);
#endif
	return !csum_tcpudp_magic(tuple->src.v4, tuple->dst.v4, len,
				  IPPROTO_TCP, csum);
}

/* Distinguish QUIC, which is not to be split, from other UDP. */
static enum pep_packet_kind pep_packet_udp(const struct sk_buff *skb,
					   unsigned int off)
{
	const __be16 *ports;
	__be16 _ports[2];

	ports = skb_header_pointer(skb, off, sizeof(_ports), _ports);
	return ports && (ports[0] == htons(PEP_PACKET_QUIC_PORT) ||
			 ports[1] == htons(PEP_PACKET_QUIC_PORT)) ?
	       PEP_PACKET_QUIC : PEP_PACKET_OTHER;
}

/* Copy the fields of a TCP header of HLEN bytes. */
static void pep_packet_set_tcp(struct pep_packet *pkt, const struct tcphdr *th,
			       unsigned int hlen)
{
	pkt->th = th;
	pkt->tuple.sport = th->source;
	pkt->tuple.dport = th->dest;
	pkt->options = hlen - sizeof(*th);
	pkt->payload = pkt->end - pkt->thoff - hlen;
}

/* Copy the fields of an IPv4 header, with TCP at THOFF. */
static void pep_packet_set4(struct pep_packet *pkt, const struct iphdr *iph,
			    unsigned int thoff, u32 end)
{
	memset(&pkt->tuple, 0, sizeof(pkt->tuple));
	pkt->tuple.family = AF_INET;
	pkt->tuple.src.v4 = iph->saddr;
	pkt->tuple.dst.v4 = iph->daddr;
	pkt->ip_options = thoff > sizeof(*iph);
	pkt->last_hop = iph->ttl <= 1;
	pkt->thoff = thoff;
	pkt->end = end;
}

/*
 * Parse the most common packets: TCP, no SYN, right behind the IPv4 header and
 * linear, with nothing else to inspect. This takes half the time of the whole
 * parser, which is for all others and finds the kind of error.
 * Return: true when it was one.
 */
static bool pep_packet_plain4(const struct sk_buff *skb, struct pep_packet *pkt)
{
	const struct iphdr *iph = ip_hdr(skb);
	unsigned int hlen, thoff = sizeof(*iph);
	const struct tcphdr *th = (const void *)(iph + 1);
	u32 end;

	if (skb_headlen(skb) < thoff + sizeof(*th) ||
	    iph->version != 4 || iph->ihl != 5 ||
	    iph->protocol != IPPROTO_TCP || ip_is_fragment(iph) || th->syn)
		return false;
	hlen = __tcp_hdrlen(th);
	end = ntohs(iph->tot_len);
	if (hlen < sizeof(*th) || skb_headlen(skb) < thoff + hlen ||
	    end < thoff + hlen || skb->len < end ||
	    ip_fast_csum((const u8 *)iph, 5))
		return false;
	pep_packet_set4(pkt, iph, thoff, end);
	pep_packet_set_tcp(pkt, th, hlen);
	return true;
}

/**
 * pep_packet_tcp() - parse the TCP header
 * @skb: packet
 * @pkt: result; the fields of the IP header are set
 *
 * Return: PEP_PACKET_TCP or PEP_PACKET_MALFORMED.
 */
static enum pep_packet_kind pep_packet_tcp(struct sk_buff *skb,
					   struct pep_packet *pkt)
{
	unsigned int thoff = pkt->thoff;
	const struct tcphdr *th;
	u32 end = pkt->end;
	unsigned int hlen;

	if (!pskb_may_pull(skb, thoff + sizeof(*th)))
		return PEP_PACKET_MALFORMED;
	th = (const void *)(skb_network_header(skb) + thoff);
	hlen = __tcp_hdrlen(th);
	if (hlen < sizeof(*th) || end < thoff + hlen ||
	    !pskb_may_pull(skb, thoff + hlen))
		return PEP_PACKET_MALFORMED;
	th = (const void *)(skb_network_header(skb) + thoff);
	if (th->syn && !pep_packet_csum_ok(skb, pkt))
		return PEP_PACKET_MALFORMED;
	pep_packet_set_tcp(pkt, th, hlen);
	return PEP_PACKET_TCP;
}

/**
 * pep_packet_strip() - remove the options of Multipath TCP from a SYN
 * @skb: SYN
 * @pkt: parsed @skb; its header may have moved
 *
 * NOPs stand in their place, and both ends fall back to plain TCP, RFC 8684.
 *
 * Context: softirq.
 * Return: false for lack of memory, with nothing changed.
 */
bool pep_packet_strip(struct sk_buff *skb, struct pep_packet *pkt)
{
	unsigned int len = pkt->options;
	struct tcphdr *th;
	__wsum old;
	u8 *opt;

	if (skb_ensure_writable(skb, skb_network_offset(skb) + pkt->thoff +
				     sizeof(*th) + len))
		return false;
	th = (struct tcphdr *)(skb_network_header(skb) + pkt->thoff);
	pkt->th = th;
	opt = (u8 *)(th + 1);
	old = csum_partial(opt, len, 0);
	/* A partial checksum, yet to be completed, does not cover them. */
	if (pep_option_strip(opt, len) && skb->ip_summed != CHECKSUM_PARTIAL)
		csum_replace_by_diff(&th->check,
				     csum_sub(csum_partial(opt, len, 0), old));
	return true;
}

/**
 * pep_packet_renumber() - change the numbers of a segment
 * @skb: segment
 * @pkt: parsed @skb; its header may have moved
 * @seq: its sequence number
 * @ack: its acknowledgment
 *
 * Context: softirq.
 * Return: false for lack of memory, with nothing changed.
 */
bool pep_packet_renumber(struct sk_buff *skb, struct pep_packet *pkt, u32 seq,
			 u32 ack)
{
	struct tcphdr *th;

	if (skb_ensure_writable(skb, skb_network_offset(skb) + pkt->thoff +
				     sizeof(*th)))
		return false;
	th = (struct tcphdr *)(skb_network_header(skb) + pkt->thoff);
	pkt->th = th;
	if (skb->ip_summed != CHECKSUM_PARTIAL) {
		csum_replace4(&th->check, th->seq, htonl(seq));
		csum_replace4(&th->check, th->ack_seq, htonl(ack));
	}
	th->seq = htonl(seq);
	th->ack_seq = htonl(ack);
	return true;
}

/**
 * pep_packet_quoted_ports() - copy the ports of a quoted TCP header
 * @skb: ICMP error
 * @off: offset of the quoted TCP header from the network header, bytes
 * @pkt: result, in the direction of an answer
 *
 * TCP's error handlers need the sequence number behind the ports, too.
 *
 * Return: PEP_PACKET_ICMP or PEP_PACKET_MALFORMED.
 */
static enum pep_packet_kind pep_packet_quoted_ports(const struct sk_buff *skb,
						    unsigned int off,
						    struct pep_packet *pkt)
{
	__be16 _quoted[4];
	const __be16 *quoted;

	if (pkt->end < off + sizeof(_quoted))
		return PEP_PACKET_MALFORMED;
	quoted = skb_header_pointer(skb, off, sizeof(_quoted), _quoted);
	if (!quoted)
		return PEP_PACKET_MALFORMED;
	pkt->tuple.dport = quoted[0];
	pkt->tuple.sport = quoted[1];
	return PEP_PACKET_ICMP;
}

static noinline_for_stack enum pep_packet_kind
pep_packet_icmp4(const struct sk_buff *skb, struct pep_packet *pkt)
{
	unsigned int off = pkt->thoff;
	const struct icmphdr *icmp;
	const struct iphdr *iph;
	struct icmphdr _icmp;
	struct iphdr _iph;

	icmp = skb_header_pointer(skb, off, sizeof(_icmp), &_icmp);
	if (!icmp || pkt->end < off + sizeof(_icmp))
		return PEP_PACKET_MALFORMED;
	/* A redirect is for the router that this host is, not for a leg. */
	if (!icmp_is_err(icmp->type) || icmp->type == ICMP_REDIRECT ||
	    icmp->type == ICMP_SOURCE_QUENCH)
		return PEP_PACKET_OTHER;
	off += sizeof(_icmp);
	iph = skb_header_pointer(skb, off, sizeof(_iph), &_iph);
	if (!iph || iph->version != 4 || iph->ihl < 5)
		return PEP_PACKET_MALFORMED;
	if (iph->protocol != IPPROTO_TCP || (iph->frag_off & htons(IP_OFFSET)))
		return PEP_PACKET_ICMP_OTHER;
	pkt->tuple.src.v4 = iph->daddr;
	pkt->tuple.dst.v4 = iph->saddr;
	return pep_packet_quoted_ports(skb, off + iph->ihl * 4, pkt);
}

/**
 * pep_packet_options4() - check the options of an IPv4 header
 * @opt: first byte behind the fixed header
 * @len: length of the options, 0 to 40 bytes
 *
 * An unfinished source route leads past the address in the header: the packet
 * is not for the host with that address. Other options do not matter to a leg.
 *
 * Context: any.
 * Return: PEP_PACKET_TCP when a leg may receive the packet, PEP_PACKET_EXTHDR
 * when not, or PEP_PACKET_MALFORMED.
 */
VISIBLE_IF_KUNIT
enum pep_packet_kind pep_packet_options4(const u8 *opt, unsigned int len)
{
	while (len && opt[0] != IPOPT_END) {
		unsigned int size = 1;

		if (opt[0] != IPOPT_NOOP) {
			size = len >= 2 ? opt[1] : 0;
			if (size < 2 || size > len)
				return PEP_PACKET_MALFORMED;
		}
		if ((opt[0] == IPOPT_LSRR || opt[0] == IPOPT_SSRR) &&
		    (size < 3 || opt[2] <= size))
			return PEP_PACKET_EXTHDR;
		opt += size;
		len -= size;
	}
	return PEP_PACKET_TCP;
}
EXPORT_SYMBOL_IF_KUNIT(pep_packet_options4);

/* Parse a TCP or ICMP packet whose fixed header is complete. */
static enum pep_packet_kind pep_packet_inner4(struct sk_buff *skb,
					      unsigned int hlen, u32 end,
					      struct pep_packet *pkt)
{
	const struct iphdr *iph = ip_hdr(skb);
	enum pep_packet_kind kind;

	if (skb->len < end || ip_fast_csum((const u8 *)iph, iph->ihl))
		return PEP_PACKET_MALFORMED;
	if (ip_is_fragment(iph))
		return iph->protocol == IPPROTO_TCP ? PEP_PACKET_FRAGMENT :
						      PEP_PACKET_FRAGMENT_OTHER;
	kind = pep_packet_options4((const u8 *)(iph + 1), hlen - sizeof(*iph));
	if (kind != PEP_PACKET_TCP)
		return kind;

	pep_packet_set4(pkt, iph, hlen, end);
	return iph->protocol == IPPROTO_ICMP ? pep_packet_icmp4(skb, pkt) :
					       pep_packet_tcp(skb, pkt);
}

/* The whole parser of IPv4; out of line, because it needs many registers. */
static noinline_for_stack enum pep_packet_kind
pep_packet_parse4(struct sk_buff *skb, struct pep_packet *pkt)
{
	const struct iphdr *iph;
	unsigned int hlen;
	u32 end;

	if (!pskb_may_pull(skb, sizeof(*iph)))
		return PEP_PACKET_MALFORMED;
	iph = ip_hdr(skb);
	hlen = iph->ihl * 4;
	end = iph_totlen(skb, iph);
	if (iph->version != 4 || hlen < sizeof(*iph) || end < hlen ||
	    !pskb_may_pull(skb, hlen))
		return PEP_PACKET_MALFORMED;
	iph = ip_hdr(skb);
	if (iph->protocol == IPPROTO_TCP || iph->protocol == IPPROTO_ICMP)
		return pep_packet_inner4(skb, hlen, end, pkt);
	if (iph->protocol == IPPROTO_UDP && !(iph->frag_off & htons(IP_OFFSET)))
		return pep_packet_udp(skb, hlen);
	return PEP_PACKET_OTHER;
}

#if IS_ENABLED(CONFIG_IPV6)
/**
 * pep_packet_options6() - may a leg ignore options of IPv6?
 * @opt: first option of a hop-by-hop or destination options header
 * @len: length of the options, bytes
 * @jumbo: a jumbo payload option is expected (BIG TCP)
 *
 * It may when the type of each option makes a node that does not recognise it
 * skip over it (RFC 8200, 4.2).
 *
 * Context: any.
 * Return: true when that holds for all of them.
 */
VISIBLE_IF_KUNIT
bool pep_packet_options6(const u8 *opt, unsigned int len, bool jumbo)
{
	while (len) {
		unsigned int size = 1;

		if (opt[0] != IPV6_TLV_PAD1) {
			size = len >= 2 ? opt[1] + 2 : len + 1;
			if (size > len)
				return false;
			if ((opt[0] & PEP_PACKET_TLV_ACTION) &&
			    !(jumbo && opt[0] == IPV6_TLV_JUMBO))
				return false;
		}
		opt += size;
		len -= size;
	}
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(pep_packet_options6);

/* Copy the fields of an IPv6 header, with TCP at THOFF. */
static void pep_packet_set6(struct pep_packet *pkt, const struct ipv6hdr *iph,
			    unsigned int thoff, u32 end)
{
	pkt->tuple.src.v6 = iph->saddr;
	pkt->tuple.dst.v6 = iph->daddr;
	pkt->tuple.family = AF_INET6;
	pkt->ip_options = thoff > sizeof(*iph);
	pkt->last_hop = iph->hop_limit <= 1;
	pkt->thoff = thoff;
	pkt->end = end;
}

/* Like pep_packet_plain4(). */
static bool pep_packet_plain6(const struct sk_buff *skb, struct pep_packet *pkt)
{
	const struct ipv6hdr *iph = ipv6_hdr(skb);
	unsigned int hlen, thoff = sizeof(*iph);
	const struct tcphdr *th = (const void *)(iph + 1);
	u32 end;

	if (skb_headlen(skb) < thoff + sizeof(*th) || iph->version != 6 ||
	    iph->nexthdr != IPPROTO_TCP || th->syn)
		return false;
	hlen = __tcp_hdrlen(th);
	end = ntohs(iph->payload_len) + sizeof(*iph);
	if (hlen < sizeof(*th) || skb_headlen(skb) < thoff + hlen ||
	    end < thoff + hlen || skb->len < end)
		return false;
	pep_packet_set6(pkt, iph, thoff, end);
	pep_packet_set_tcp(pkt, th, hlen);
	return true;
}

/* Skip one extension header that a leg may ignore. */
static enum pep_packet_kind pep_packet_step6(struct sk_buff *skb,
					     struct pep_headers6 *h)
{
	const struct ipv6_rt_hdr *rt;
	const u8 *header;
	unsigned int len;
	bool jumbo;

	if (!pskb_may_pull(skb, h->thoff + 8))
		return PEP_PACKET_MALFORMED;
	header = skb_network_header(skb) + h->thoff;
	len = (header[1] + 1) * 8;
	if (!pskb_may_pull(skb, h->thoff + len))
		return PEP_PACKET_MALFORMED;
	header = skb_network_header(skb) + h->thoff;
	jumbo = h->nexthdr == NEXTHDR_HOP && skb_is_gso(skb) &&
		!ipv6_hdr(skb)->payload_len;
	rt = (const void *)header;
	if (h->nexthdr == NEXTHDR_ROUTING ?
	    rt->segments_left || rt->type == IPV6_SRCRT_TYPE_0 :
	    !pep_packet_options6(header + 2, len - 2, jumbo))
		return PEP_PACKET_EXTHDR;
	h->nexthdr = header[0];
	h->nhoff = h->thoff;
	h->thoff += len;
	return PEP_PACKET_TCP;
}

static enum pep_packet_kind pep_packet_fragment6(const struct sk_buff *skb,
						 const struct pep_headers6 *h)
{
	const struct frag_hdr *frag;
	struct frag_hdr _frag;

	frag = skb_header_pointer(skb, h->thoff, sizeof(_frag), &_frag);
	if (!frag)
		return PEP_PACKET_MALFORMED;
	if (frag->nexthdr == IPPROTO_TCP)
		return PEP_PACKET_FRAGMENT;
	return frag->nexthdr == IPPROTO_ICMPV6 || ipv6_ext_hdr(frag->nexthdr) ?
	       PEP_PACKET_FRAGMENT_OTHER : PEP_PACKET_OTHER;
}

/**
 * pep_packet_headers6() - find the protocol behind the headers of an IPv6 packet
 * @skb: packet with skb->data at the network header, 40 bytes of it linear;
 *	extension headers are pulled into the linear part
 * @h: result; valid for PEP_PACKET_TCP
 *
 * Context: any.
 * Return: PEP_PACKET_TCP when it is TCP or ICMPv6, behind nothing but
 * extension headers that a leg may ignore; else the kind of the packet.
 */
enum pep_packet_kind pep_packet_headers6(struct sk_buff *skb,
					 struct pep_headers6 *h)
{
	enum pep_packet_kind kind = PEP_PACKET_TCP;
	unsigned int i;

	h->nexthdr = ipv6_hdr(skb)->nexthdr;
	h->nhoff = offsetof(struct ipv6hdr, nexthdr);
	h->thoff = sizeof(struct ipv6hdr);
	for (i = 0; i <= PEP_PACKET_EXTHDRS && kind == PEP_PACKET_TCP; i++) {
		switch (h->nexthdr) {
		case IPPROTO_TCP:
		case IPPROTO_ICMPV6:
			return PEP_PACKET_TCP;
		case IPPROTO_UDP:
			return pep_packet_udp(skb, h->thoff);
		case NEXTHDR_FRAGMENT:
			return pep_packet_fragment6(skb, h);
		case NEXTHDR_HOP:
			if (i)
				return PEP_PACKET_EXTHDR;
			fallthrough;
		case NEXTHDR_ROUTING:
		case NEXTHDR_DEST:
			kind = pep_packet_step6(skb, h);
			break;
		case NEXTHDR_AUTH:
		case NEXTHDR_MOBILITY:
			return PEP_PACKET_EXTHDR;
		default:
			return PEP_PACKET_OTHER;
		}
	}
	return kind == PEP_PACKET_TCP ? PEP_PACKET_EXTHDR : kind;
}

static noinline_for_stack enum pep_packet_kind
pep_packet_icmp6(const struct sk_buff *skb, struct pep_packet *pkt)
{
	unsigned int off = pkt->thoff;
	const struct icmp6hdr *icmp;
	const struct ipv6hdr *iph;
	struct icmp6hdr _icmp;
	struct ipv6hdr _iph;

	icmp = skb_header_pointer(skb, off, sizeof(_icmp), &_icmp);
	if (!icmp || pkt->end < off + sizeof(_icmp))
		return PEP_PACKET_MALFORMED;
	if (!icmpv6_is_err(icmp->icmp6_type))
		return PEP_PACKET_OTHER;
	off += sizeof(_icmp);
	iph = skb_header_pointer(skb, off, sizeof(_iph), &_iph);
	if (!iph || iph->version != 6)
		return PEP_PACKET_MALFORMED;
	if (iph->nexthdr != IPPROTO_TCP)
		return PEP_PACKET_ICMP_OTHER;
	pkt->tuple.src.v6 = iph->daddr;
	pkt->tuple.dst.v6 = iph->saddr;
	return pep_packet_quoted_ports(skb, off + sizeof(_iph), pkt);
}

/* The whole parser of IPv6. */
static noinline_for_stack enum pep_packet_kind
pep_packet_parse6(struct sk_buff *skb, struct pep_packet *pkt)
{
	const struct ipv6hdr *iph;
	enum pep_packet_kind kind;
	struct pep_headers6 h;
	u32 end;

	if (!pskb_may_pull(skb, sizeof(*iph)))
		return PEP_PACKET_MALFORMED;
	if (ipv6_hdr(skb)->version != 6)
		return PEP_PACKET_MALFORMED;
	kind = pep_packet_headers6(skb, &h);
	if (kind != PEP_PACKET_TCP && kind != PEP_PACKET_FRAGMENT)
		return kind;
	iph = ipv6_hdr(skb);
	end = pep_packet_len6(skb, iph);
	if (skb->len < end)
		return PEP_PACKET_MALFORMED;
	if (kind == PEP_PACKET_FRAGMENT)
		return kind;

	pep_packet_set6(pkt, iph, h.thoff, end);
	return h.nexthdr == IPPROTO_ICMPV6 ? pep_packet_icmp6(skb, pkt) :
					     pep_packet_tcp(skb, pkt);
}
#endif

/**
 * pep_packet_parse() - parse a packet at ingress
 * @skb: packet with skb->data at the network header; its headers may be
 *	pulled into the linear part, so pointers into it become stale
 * @pkt: result; valid for PEP_PACKET_TCP and PEP_PACKET_ICMP
 *
 * Context: any.
 * Return: the kind of the packet.
 */
enum pep_packet_kind pep_packet_parse(struct sk_buff *skb,
				      struct pep_packet *pkt)
{
	if (skb_vlan_tag_present(skb))
		return PEP_PACKET_OTHER;
	switch (skb->protocol) {
	case htons(ETH_P_IP):
		return pep_packet_plain4(skb, pkt) ? PEP_PACKET_TCP :
						     pep_packet_parse4(skb, pkt);
#if IS_ENABLED(CONFIG_IPV6)
	case htons(ETH_P_IPV6):
		return pep_packet_plain6(skb, pkt) ? PEP_PACKET_TCP :
						     pep_packet_parse6(skb, pkt);
#endif
	default:
		return PEP_PACKET_OTHER;
	}
}
