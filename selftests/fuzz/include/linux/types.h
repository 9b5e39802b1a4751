/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: the kernel's types of fixed size, and byte orders of a little-endian CPU. */
#ifndef _FUZZ_LINUX_TYPES_H
#define _FUZZ_LINUX_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define htons(x)	__builtin_bswap16(x)
#define htonl(x)	__builtin_bswap32(x)
#define ntohs(x)	htons(x)
#define ntohl(x)	htonl(x)

#endif
