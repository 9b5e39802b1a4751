/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_READING_H
#define _FUZZ_READING_H

#include "frame.h"
#include "option.h"
#include "packet.h"

/**
 * struct reading - a packet as the RFCs define it, read byte by byte
 * @kind: verdict on it
 * @segment: there is a TCP header that fits; a wrong checksum does not matter
 * @summed: the segment's checksum is right
 * @tuple: as in struct pep_packet
 * @protocol: protocol after all IP headers
 * @nhoff: offset of the byte that has @protocol
 * @thoff: offset of the TCP or ICMP header
 * @hlen: length of the TCP header with its options, bytes
 * @end: length that the IP header gives, bytes
 * @pseudo: sum of the pseudo header
 * @dsfield: DSCP and ECN
 * @ip_options: there are IPv4 options or extension headers
 * @last_hop: it may not be forwarded any more
 *
 * Tuple and below are valid for PEP_PACKET_TCP and PEP_PACKET_ICMP; hlen, pseudo and
 * summed where there is a segment.
 */
struct reading {
	enum pep_packet_kind kind;
	bool segment;
	bool summed;
	struct pep_tuple tuple;
	u8 protocol;
	u32 nhoff;
	u32 thoff;
	u32 hlen;
	u32 end;
	u32 pseudo;
	u8 dsfield;
	bool ip_options;
	bool last_hop;
};

/**
 * struct reading_options - the options of a SYN, read byte by byte
 * @options: as pep_option_scan() has to find them
 * @mptcp: there are options of Multipath TCP before any broken one
 */
struct reading_options {
	struct pep_options options;
	bool mptcp;
};

void reading_of_frame(const struct frame *frame, struct reading *reading);
void reading_6(const struct frame *frame, struct reading *reading);
void reading_tcp(const struct frame *frame, struct reading *reading);
void reading_icmp(const struct frame *frame, struct reading *reading);
enum pep_packet_kind reading_udp(const struct frame *frame, u32 off);
enum pep_packet_kind reading_header4(const u8 *opt, u32 len);
bool reading_header6(const u8 *opt, u32 len, bool jumbo);
void reading_of_options(const u8 *opt, u32 len,
			struct reading_options *reading);
void reading_strip(u8 *opt, u32 len);

#endif
