/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stand-in: sums of the Internet checksum, RFC 1071, of words in the byte order of
 * the CPU, which is little-endian.
 */
#ifndef _FUZZ_NET_CHECKSUM_H
#define _FUZZ_NET_CHECKSUM_H

#include <linux/types.h>

__wsum csum_partial(const void *buffer, int len, __wsum sum);

static inline __wsum csum_add(__wsum a, __wsum b)
{
	u64 sum = (u64)a + b;

	return (u32)sum + (u32)(sum >> 32);
}

static inline __wsum csum_sub(__wsum a, __wsum b)
{
	return csum_add(a, ~b);
}

static inline __sum16 csum_fold(__wsum sum)
{
	u32 folded = (sum & 0xffff) + (sum >> 16);

	return ~(folded + (folded >> 16));
}

static inline void csum_replace_by_diff(__sum16 *sum, __wsum diff)
{
	*sum = csum_fold(csum_add(diff, (u16)~*sum));
}

static inline void csum_replace4(__sum16 *sum, __be32 from, __be32 to)
{
	csum_replace_by_diff(sum, csum_sub(to, from));
}

static inline __sum16 csum_tcpudp_magic(__be32 src, __be32 dst, u32 len,
					u8 protocol, __wsum sum)
{
	sum = csum_add(csum_add(sum, src), dst);
	return csum_fold(csum_add(sum, htonl(len + protocol)));
}

#endif
