// SPDX-License-Identifier: GPL-2.0
/*
 * The parser reads a packet as the second reader does, wherever its linear part ends,
 * and changes no byte of it.
 */

#include "target.h"

#include <linux/string.h>
#include <linux/unaligned.h>

#include "expect.h"
#include "frame.h"
#include "reading.h"

/* The parser finds the TCP header and its parts where the other reader does. */
static void target_tcp(const struct frame *frame, const struct sk_buff *skb,
		       const struct pep_packet *pkt,
		       const struct reading *reading)
{
	const u8 *tcp = frame->bytes + reading->thoff;

	expect((const u8 *)pkt->th == skb->data + pkt->thoff);
	expect(pkt->thoff + reading->hlen <= skb_headlen(skb));
	expect(pkt->options == reading->hlen - 20);
	expect(pkt->payload == reading->end - reading->thoff - reading->hlen);
	expect(pkt->last_hop == reading->last_hop);
	expect(pkt->th->seq == htonl(get_unaligned_be32(tcp + 4)));
	expect(pep_packet_is_syn(pkt->th) == ((tcp[13] & 0x17) == 2));
	expect(pep_packet_dsfield(skb) == reading->dsfield);
	expect(pep_packet_csum_ok(skb, pkt) ==
	       (reading->summed || frame_trusts_sum(frame)));
}

/* Parse once and compare the result with the reading. */
static void target_parse(const struct frame *frame, struct sk_buff *skb,
			 const struct reading *reading, u8 before)
{
	enum pep_packet_kind kind;
	struct pep_packet pkt;

	memset(&pkt, before, sizeof(pkt));
	kind = pep_packet_parse(skb, &pkt);
	expect(frame_equals(frame, skb));
	expect(frame_clone_is_kept(frame, skb));
	if (skb->starved) {
		expect(kind == PEP_PACKET_MALFORMED);
		return;
	}
	expect(kind == reading->kind);
	if (kind != PEP_PACKET_TCP && kind != PEP_PACKET_ICMP)
		return;
	expect(!memcmp(&pkt.tuple, &reading->tuple, sizeof(pkt.tuple)));
	expect(pkt.thoff == reading->thoff);
	expect(pkt.end == reading->end);
	expect(pkt.end <= skb->len);
	expect(pkt.ip_options == reading->ip_options);
	if (kind == PEP_PACKET_TCP)
		target_tcp(frame, skb, &pkt, reading);
}

/* The offset of TCP or ICMPv6, as deliver.c requests it. */
static void target_headers6(struct sk_buff *skb, const struct reading *reading)
{
	struct pep_headers6 h;

	memset(&h, 0xa5, sizeof(h));
	expect(pep_packet_headers6(skb, &h) == PEP_PACKET_TCP);
	expect(h.nexthdr == reading->protocol);
	expect(h.nhoff == reading->nhoff);
	expect(h.thoff == reading->thoff);
}

int target_run(const u8 *input, size_t size)
{
	struct reading reading;
	struct frame frame;
	struct sk_buff skb;

	if (!frame_read(&frame, input, size))
		return 0;
	reading_of_frame(&frame, &reading);
	frame_to_skb(&frame, &skb);
	/* The second time all bytes needed are linear already. */
	target_parse(&frame, &skb, &reading, 0xa5);
	target_parse(&frame, &skb, &reading, 0x5a);
	if (!skb.starved && reading.tuple.family == 10 &&
	    (reading.kind == PEP_PACKET_TCP || reading.kind == PEP_PACKET_ICMP))
		target_headers6(&skb, &reading);
	frame_free(&frame, &skb);
	return 0;
}
