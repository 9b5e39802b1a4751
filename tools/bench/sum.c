// SPDX-License-Identifier: GPL-2.0
/* The checksum of TCP. */
#include "load.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* Add 16-bit words to a checksum that is not folded yet. */
static __u32 sum_add(__u32 sum, const void *data, size_t size)
{
	const __u16 *word = data;

	for (; size > 1; size -= 2)
		sum += *word++;
	return sum;
}

/**
 * sum_segment() - the checksum of a segment, RFC 9293 section 3.1
 * @segment: TCP header, with 0 for the checksum, and all after it
 * @size: bytes of it, even
 * @from: source address
 * @to: destination address, of the same family
 *
 * Return: the checksum in network byte order.
 */
__u16 sum_segment(const void *segment, size_t size, const struct place *from,
		  const struct place *to)
{
	size_t address = from->sa.ss_family == AF_INET ? 4 : 16;
	__u32 sum = htons(IPPROTO_TCP);

	sum += htons(size);
	sum = sum_add(sum, place_address(from), address);
	sum = sum_add(sum, place_address(to), address);
	sum = sum_add(sum, segment, size);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}
