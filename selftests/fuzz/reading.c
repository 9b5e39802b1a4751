// SPDX-License-Identifier: GPL-2.0
/*
 * A second reader of packets, to compare the module's parser with. It reads the
 * packet as an array of bytes, by offsets and numbers of the RFCs, and is neither
 * fast nor concerned with the linear part.
 *
 * Where a packet passes unsplit for one reason or another, bytes after the end that
 * its IP header gives count as part of it, as long as they are there.
 */

#include "reading.h"

#include <linux/unaligned.h>

#include "sum.h"

/**
 * reading_udp() - is it QUIC?
 * @frame: packet
 * @off: offset of the UDP header
 *
 * Return: PEP_PACKET_QUIC or PEP_PACKET_OTHER.
 */
enum pep_packet_kind reading_udp(const struct frame *frame, u32 off)
{
	const u8 *ports = frame->bytes + off;

	if (off + 4 > frame->len)
		return PEP_PACKET_OTHER;
	return get_unaligned_be16(ports) == 443 ||
	       get_unaligned_be16(ports + 2) == 443 ? PEP_PACKET_QUIC :
						      PEP_PACKET_OTHER;
}

/**
 * reading_tcp() - read a TCP header, RFC 9293
 * @frame: packet
 * @reading: result; thoff, end and addresses are set, and the latter's sum in pseudo
 */
void reading_tcp(const struct frame *frame, struct reading *reading)
{
	u32 off = reading->thoff, end = reading->end, size = end - off;
	const u8 *tcp = frame->bytes + off;

	reading->kind = PEP_PACKET_MALFORMED;
	if (off + 20 > end)
		return;
	reading->hlen = (tcp[12] >> 4) * 4;
	if (reading->hlen < 20 || off + reading->hlen > end)
		return;
	reading->segment = true;
	reading->pseudo += 6 + (size >> 16) + (size & 0xffff);
	reading->summed = sum_bytes(tcp, size, reading->pseudo) == 0xffff;
	reading->tuple.sport = htons(get_unaligned_be16(tcp));
	reading->tuple.dport = htons(get_unaligned_be16(tcp + 2));
	if (!(tcp[13] & 2) || reading->summed || frame_trusts_sum(frame))
		reading->kind = PEP_PACKET_TCP;
}

/* Is it an error that concerns a leg? Redirects and source quench do not. */
static bool reading_icmp_is_error(u8 type, bool v6)
{
	if (v6)
		return type == 1 || type == 2 || type == 3 || type == 4;
	return type == 3 || type == 11 || type == 12;
}

/**
 * reading_icmp() - read an ICMP or ICMPv6 message, RFC 792 and RFC 4443
 * @frame: packet
 * @reading: result; thoff and end are set
 */
void reading_icmp(const struct frame *frame, struct reading *reading)
{
	bool v6 = frame->flags & FRAME_IPV6;
	u32 off = reading->thoff + 8, size = v6 ? 40 : 20;
	const u8 *ip = frame->bytes + off;
	u32 from = v6 ? 8 : 12, addr = v6 ? 16 : 4, hlen = size;

	reading->kind = PEP_PACKET_MALFORMED;
	if (off > reading->end)
		return;
	if (!reading_icmp_is_error(ip[-8], v6)) {
		reading->kind = PEP_PACKET_OTHER;
		return;
	}
	if (off + size > frame->len || ip[0] >> 4 != (v6 ? 6 : 4))
		return;
	if (!v6)
		hlen = (ip[0] & 0xf) * 4;
	if (hlen < size)
		return;
	if (ip[v6 ? 6 : 9] != 6 ||
	    (!v6 && get_unaligned_be16(ip + 6) & 0x1fff)) {
		reading->kind = PEP_PACKET_ICMP_OTHER;
		return;
	}
	if (off + hlen + 8 > reading->end)
		return;
	memcpy(&reading->tuple.dst, ip + from, addr);
	memcpy(&reading->tuple.src, ip + from + addr, addr);
	reading->tuple.dport = htons(get_unaligned_be16(ip + hlen));
	reading->tuple.sport = htons(get_unaligned_be16(ip + hlen + 2));
	reading->kind = PEP_PACKET_ICMP;
}

/* Read the options of an IPv4 header and all after it. */
static void reading_inner4(const struct frame *frame, struct reading *reading,
			   u32 hlen)
{
	const u8 *ip = frame->bytes;

	reading->kind = reading_header4(ip + 20, hlen - 20);
	if (reading->kind != PEP_PACKET_TCP)
		return;
	reading->nhoff = 9;
	reading->thoff = hlen;
	reading->tuple.family = 2;
	memcpy(&reading->tuple.src, ip + 12, 4);
	memcpy(&reading->tuple.dst, ip + 16, 4);
	reading->pseudo = sum_bytes(ip + 12, 8, 0);
	reading->dsfield = ip[1];
	reading->ip_options = hlen != 20;
	reading->last_hop = ip[8] < 2;
	if (reading->protocol == 1)
		reading_icmp(frame, reading);
	else
		reading_tcp(frame, reading);
}

/* Read an IPv4 packet, RFC 791. */
static void reading_4(const struct frame *frame, struct reading *reading)
{
	const u8 *ip = frame->bytes;
	u32 hlen, fragment;

	reading->kind = PEP_PACKET_MALFORMED;
	if (frame->len < 20)
		return;
	hlen = (ip[0] & 0xf) * 4;
	reading->end = get_unaligned_be16(ip + 2);
	if (!reading->end && frame->flags & FRAME_GSO_TCP)
		reading->end = frame->len;
	if (ip[0] >> 4 != 4 || hlen < 20 || hlen > reading->end ||
	    hlen > frame->len)
		return;
	reading->protocol = ip[9];
	fragment = get_unaligned_be16(ip + 6) & 0x3fff;
	if (reading->protocol != 6 && reading->protocol != 1) {
		reading->kind = reading->protocol == 17 && !(fragment & 0x1fff) ?
				reading_udp(frame, hlen) : PEP_PACKET_OTHER;
		return;
	}
	if (reading->end > frame->len || sum_bytes(ip, hlen, 0) != 0xffff)
		return;
	if (!fragment)
		reading_inner4(frame, reading, hlen);
	else
		reading->kind = reading->protocol == 6 ?
				PEP_PACKET_FRAGMENT : PEP_PACKET_FRAGMENT_OTHER;
}

/**
 * reading_of_frame() - read a packet
 * @frame: packet
 * @reading: result
 */
void reading_of_frame(const struct frame *frame, struct reading *reading)
{
	memset(reading, 0, sizeof(*reading));
	if (frame->flags & (FRAME_TAGGED | FRAME_OTHER))
		reading->kind = PEP_PACKET_OTHER;
	else if (frame->flags & FRAME_IPV6)
		reading_6(frame, reading);
	else
		reading_4(frame, reading);
}
