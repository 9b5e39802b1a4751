/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: reads of numbers in network byte order. */
#ifndef _FUZZ_LINUX_UNALIGNED_H
#define _FUZZ_LINUX_UNALIGNED_H

#include <linux/types.h>

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *byte = p;

	return byte[0] << 8 | byte[1];
}

static inline u32 get_unaligned_be32(const void *p)
{
	return (u32)get_unaligned_be16(p) << 16 |
	       get_unaligned_be16((const u8 *)p + 2);
}

#endif
