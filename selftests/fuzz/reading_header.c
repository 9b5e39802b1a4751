// SPDX-License-Identifier: GPL-2.0
/* The second reader's part for the options of IP headers. */

#include "reading.h"

/**
 * reading_header4() - read the options of an IPv4 header, RFC 791
 * @opt: the options
 * @len: their length, bytes
 *
 * Return: PEP_PACKET_EXTHDR for a source route with addresses left,
 * PEP_PACKET_MALFORMED, or PEP_PACKET_TCP when the packet is acceptable.
 */
enum pep_packet_kind reading_header4(const u8 *opt, u32 len)
{
	u32 at = 0, left, size;
	bool route;

	while (at < len) {
		left = len - at;
		if (opt[at] == 0)
			break;
		if (opt[at] == 1) {
			at++;
			continue;
		}
		if (left < 2)
			return PEP_PACKET_MALFORMED;
		size = opt[at + 1];
		if (size < 2 || size > left)
			return PEP_PACKET_MALFORMED;
		route = opt[at] == 131 || opt[at] == 137;
		if (route && !(size > 2 && opt[at + 2] > size))
			return PEP_PACKET_EXTHDR;
		at += size;
	}
	return PEP_PACKET_TCP;
}

/**
 * reading_header6() - read a hop-by-hop or destination options header, RFC 8200
 * @opt: the options
 * @len: their length, bytes
 * @jumbo: the option of jumbo payloads, RFC 2675, is allowed
 *
 * Return: whether a node that supports none of them skips them all.
 */
bool reading_header6(const u8 *opt, u32 len, bool jumbo)
{
	u32 at = 0;

	while (at < len) {
		u8 type = opt[at++];

		if (type == 0)
			continue;
		if (at == len || opt[at] > len - at - 1)
			return false;
		if (type >= 0x40 && !(jumbo && type == 0xc2))
			return false;
		at += 1 + opt[at];
	}
	return true;
}
