/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: the IPv4 header of a packet. */
#ifndef _FUZZ_LINUX_IP_H
#define _FUZZ_LINUX_IP_H

#include_next <linux/ip.h>
#include <linux/in.h>
#include <linux/skbuff.h>

static inline struct iphdr *ip_hdr(const struct sk_buff *skb)
{
	return (struct iphdr *)skb_network_header(skb);
}

/* BIG TCP leaves the length in the header empty. */
static inline unsigned int iph_totlen(const struct sk_buff *skb,
				      const struct iphdr *iph)
{
	if (!iph->tot_len && skb_is_gso(skb) && skb_is_gso_tcp(skb))
		return skb->len - skb_network_offset(skb);
	return ntohs(iph->tot_len);
}

#endif
