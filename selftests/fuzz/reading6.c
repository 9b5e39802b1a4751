// SPDX-License-Identifier: GPL-2.0
/* The second reader's part for IPv6, RFC 8200. */

#include <linux/unaligned.h>

#include "reading.h"
#include "sum.h"

/* Most extension headers that are skipped. */
#define READING_6_MOST		8

static enum pep_packet_kind reading_6_fragment(const struct frame *frame,
					       u32 off)
{
	if (off + 8 > frame->len)
		return PEP_PACKET_MALFORMED;
	switch (frame->bytes[off]) {
	case 6:
		return PEP_PACKET_FRAGMENT;
	case 0:
	case 43:
	case 44:
	case 51:
	case 58:
	case 59:
	case 60:
		return PEP_PACKET_FRAGMENT_OTHER;
	default:
		return PEP_PACKET_OTHER;
	}
}

/* Skip options or a routing header. Return: PEP_PACKET_TCP, or the verdict. */
static enum pep_packet_kind reading_6_step(const struct frame *frame,
					   struct reading *reading)
{
	const u8 *header = frame->bytes + reading->thoff;
	bool jumbo, skipped;
	u32 size;

	if (reading->thoff + 8 > frame->len)
		return PEP_PACKET_MALFORMED;
	size = 8 * header[1] + 8;
	if (reading->thoff + size > frame->len)
		return PEP_PACKET_MALFORMED;
	jumbo = reading->protocol == 0 && frame_is_gso(frame) &&
		!frame->bytes[4] && !frame->bytes[5];
	if (reading->protocol == 43)
		skipped = header[2] != 0 && header[3] == 0;
	else
		skipped = reading_header6(header + 2, size - 2, jumbo);
	reading->protocol = header[0];
	reading->nhoff = reading->thoff;
	reading->thoff += size;
	return skipped ? PEP_PACKET_TCP : PEP_PACKET_EXTHDR;
}

/* Find TCP or ICMPv6. Return: PEP_PACKET_TCP, or the verdict on another packet. */
static enum pep_packet_kind reading_6_headers(const struct frame *frame,
					      struct reading *reading)
{
	enum pep_packet_kind kind;
	unsigned int stepped;

	for (stepped = 0; stepped <= READING_6_MOST; stepped++) {
		u8 protocol = reading->protocol;

		if (protocol == 6 || protocol == 58)
			return PEP_PACKET_TCP;
		if (protocol == 17)
			return reading_udp(frame, reading->thoff);
		if (protocol == 44)
			return reading_6_fragment(frame, reading->thoff);
		if (protocol == 51 || protocol == 135 ||
		    (protocol == 0 && stepped))
			return PEP_PACKET_EXTHDR;
		if (protocol != 0 && protocol != 43 && protocol != 60)
			return PEP_PACKET_OTHER;
		kind = reading_6_step(frame, reading);
		if (kind != PEP_PACKET_TCP)
			return kind;
	}
	return PEP_PACKET_EXTHDR;
}

/**
 * reading_6() - read an IPv6 packet
 * @frame: packet
 * @reading: result, all zero before
 */
void reading_6(const struct frame *frame, struct reading *reading)
{
	const u8 *ip = frame->bytes;

	reading->kind = PEP_PACKET_MALFORMED;
	if (frame->len < 40 || ip[0] >> 4 != 6)
		return;
	reading->protocol = ip[6];
	reading->nhoff = 6;
	reading->thoff = 40;
	reading->kind = reading_6_headers(frame, reading);
	if (reading->kind != PEP_PACKET_TCP &&
	    reading->kind != PEP_PACKET_FRAGMENT)
		return;
	reading->end = get_unaligned_be16(ip + 4) + 40;
	if (reading->end == 40 && frame_is_gso(frame))
		reading->end = frame->len;
	if (reading->end > frame->len)
		reading->kind = PEP_PACKET_MALFORMED;
	if (reading->kind != PEP_PACKET_TCP)
		return;
	reading->tuple.family = 10;
	memcpy(&reading->tuple.src, ip + 8, 16);
	memcpy(&reading->tuple.dst, ip + 24, 16);
	reading->pseudo = sum_bytes(ip + 8, 32, 0);
	reading->dsfield = ip[0] << 4 | ip[1] >> 4;
	reading->ip_options = reading->thoff != 40;
	reading->last_hop = ip[7] < 2;
	if (reading->protocol == 58)
		reading_icmp(frame, reading);
	else
		reading_tcp(frame, reading);
}
