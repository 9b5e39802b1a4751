/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: fragments and the checksum of IPv4. */
#ifndef _FUZZ_NET_IP_H
#define _FUZZ_NET_IP_H

#include <linux/ip.h>

#define IP_MF		0x2000
#define IP_OFFSET	0x1fff

static inline bool ip_is_fragment(const struct iphdr *iph)
{
	return iph->frag_off & htons(IP_MF | IP_OFFSET);
}

static inline __sum16 ip_fast_csum(const void *header, unsigned int words)
{
	return csum_fold(csum_partial(header, words * 4, 0));
}

#endif
