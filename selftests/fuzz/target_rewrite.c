// SPDX-License-Identifier: GPL-2.0
/*
 * Rewriting a segment changes the intended bytes and nothing else, its checksum stays
 * as right or as wrong as before, and without memory nothing changes. A clone keeps
 * the packet that it was made from.
 */

#include "target.h"

#include <linux/string.h>
#include <linux/unaligned.h>

#include "expect.h"
#include "frame.h"
#include "reading.h"
#include "sum.h"

/* Offsets in a TCP header, bytes. */
#define TARGET_SEQ		4
#define TARGET_ACK		8
#define TARGET_SUM		16
#define TARGET_OPTIONS		20

/**
 * struct target - a packet that is rewritten
 * @frame: the packet as received, for its clone
 * @expected: the packet as it has to be now
 * @skb: the packet
 * @pkt: its headers
 */
struct target {
	struct frame frame;
	struct frame expected;
	struct sk_buff skb;
	struct pep_packet pkt;
};

/* Sum of the expected segment; 0 and 0xffff are the same one. */
static u16 target_sum(const struct target *target)
{
	const struct pep_packet *pkt = &target->pkt;

	return sum_bytes(target->expected.bytes + pkt->thoff,
			 pkt->end - pkt->thoff, 0) % 0xffff;
}

/* Take the checksum from the packet: with it the SUM has to be as before. */
static void target_check(struct target *target, u16 sum)
{
	u32 thoff = target->pkt.thoff, at = thoff + TARGET_SUM;
	struct sk_buff *skb = &target->skb;

	if (skb->ip_summed != CHECKSUM_PARTIAL) {
		expect(!skb_copy_bits(skb, at, target->expected.bytes + at, 2));
		expect(target_sum(target) == sum);
	}
	expect(frame_equals(&target->expected, skb));
	expect(frame_clone_is_kept(&target->frame, skb));
	expect((const u8 *)target->pkt.th == skb->data + thoff);
	expect(thoff + TARGET_OPTIONS + target->pkt.options <=
	       skb_headlen(skb));
}

static void target_number(u8 *to, u32 number)
{
	to[0] = number >> 24;
	to[1] = number >> 16;
	to[2] = number >> 8;
	to[3] = number;
}

static void target_renumber(struct target *target, u32 ack)
{
	u16 sum = target_sum(target);
	u8 *tcp = target->expected.bytes + target->pkt.thoff;
	u32 seq = ack << 16 | ack >> 16;

	if (pep_packet_renumber(&target->skb, &target->pkt, seq, ack)) {
		target_number(tcp + TARGET_SEQ, seq);
		target_number(tcp + TARGET_ACK, ack);
	} else {
		expect(target->skb.starved);
	}
	target_check(target, sum);
}

static void target_strip(struct target *target)
{
	u16 sum = target_sum(target);
	u8 *tcp = target->expected.bytes + target->pkt.thoff;

	if (pep_packet_strip(&target->skb, &target->pkt))
		reading_strip(tcp + TARGET_OPTIONS, target->pkt.options);
	else
		expect(target->skb.starved);
	target_check(target, sum);
}

/* After all rewrites, the packet is parsed as before. */
static void target_parse_again(struct target *target, bool csum_ok)
{
	struct pep_packet *before = &target->pkt, again;

	expect(pep_packet_parse(&target->skb, &again) == PEP_PACKET_TCP);
	expect(!memcmp(&again.tuple, &before->tuple, sizeof(again.tuple)));
	expect(again.th == before->th);
	expect(again.options == before->options);
	expect(again.thoff == before->thoff);
	expect(again.end == before->end);
	expect(again.payload == before->payload);
	expect(pep_packet_csum_ok(&target->skb, &again) == csum_ok);
}

static void target_rewrite(struct target *target)
{
	bool csum_ok = pep_packet_csum_ok(&target->skb, &target->pkt);

	target_renumber(target, target->frame.ack);
	target_renumber(target, target->frame.ack);
	if (pep_packet_is_syn(target->pkt.th)) {
		target_strip(target);
		target_strip(target);
	}
	target_parse_again(target, csum_ok);
}

int target_run(const u8 *input, size_t size)
{
	struct target target;

	if (!frame_read(&target.frame, input, size))
		return 0;
	frame_read(&target.expected, input, size);
	frame_to_skb(&target.frame, &target.skb);
	if (pep_packet_parse(&target.skb, &target.pkt) == PEP_PACKET_TCP)
		target_rewrite(&target);
	free(target.expected.bytes);
	frame_free(&target.frame, &target.skb);
	return 0;
}
