// SPDX-License-Identifier: GPL-2.0
/* The Internet checksum as RFC 1071 defines it, apart from the kernel's functions. */

#include "sum.h"

/**
 * sum_bytes() - add up 16-bit words in network byte order, by one's complement
 * @bytes: the words; a last odd byte is the upper half of one
 * @len: their length, bytes
 * @sum: sum of the words before
 *
 * Return: the sum; 0xffff where it covers a right checksum.
 */
u16 sum_bytes(const u8 *bytes, u32 len, u32 sum)
{
	u64 all = sum;
	u32 i;

	for (i = 0; i < len; i++)
		all += i % 2 ? bytes[i] : bytes[i] << 8;
	while (all > 0xffff)
		all = (all & 0xffff) + (all >> 16);
	return all;
}
