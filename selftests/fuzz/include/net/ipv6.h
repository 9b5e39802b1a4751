/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: extension headers and addresses of IPv6. */
#ifndef _FUZZ_NET_IPV6_H
#define _FUZZ_NET_IPV6_H

#include <linux/ipv6.h>

#define NEXTHDR_HOP		0
#define NEXTHDR_ROUTING		43
#define NEXTHDR_FRAGMENT	44
#define NEXTHDR_AUTH		51
#define NEXTHDR_NONE		59
#define NEXTHDR_DEST		60
#define NEXTHDR_MOBILITY	135

#define IPV6_ADDR_UNICAST	0x0001U
#define IPV6_ADDR_LOOPBACK	0x0010U
#define IPV6_ADDR_LINKLOCAL	0x0020U
#define IPV6_ADDR_MAPPED	0x1000U

struct frag_hdr {
	u8 nexthdr;
	u8 reserved;
	__be16 frag_off;
	__be32 identification;
};

int ipv6_addr_type(const struct in6_addr *addr);

static inline __be32 ip6_flowlabel(const struct ipv6hdr *iph)
{
	return *(const __be32 *)iph & htonl(0xfffff);
}

static inline bool ipv6_addr_equal(const struct in6_addr *a,
				   const struct in6_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static inline bool ipv6_ext_hdr(u8 nexthdr)
{
	return nexthdr == NEXTHDR_HOP || nexthdr == NEXTHDR_ROUTING ||
	       nexthdr == NEXTHDR_FRAGMENT || nexthdr == NEXTHDR_AUTH ||
	       nexthdr == NEXTHDR_NONE || nexthdr == NEXTHDR_DEST;
}

#endif
