/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: the checksum with IPv6's pseudo header, RFC 8200, section 8.1. */
#ifndef _FUZZ_NET_IP6_CHECKSUM_H
#define _FUZZ_NET_IP6_CHECKSUM_H

#include <linux/in6.h>
#include <net/checksum.h>

static inline __sum16 csum_ipv6_magic(const struct in6_addr *src,
				      const struct in6_addr *dst, u32 len,
				      u8 protocol, __wsum sum)
{
	sum = csum_partial(src, sizeof(*src), sum);
	sum = csum_partial(dst, sizeof(*dst), sum);
	sum = csum_add(sum, htonl(len));
	return csum_fold(csum_add(sum, htonl(protocol)));
}

#endif
