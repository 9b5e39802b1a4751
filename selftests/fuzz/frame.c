// SPDX-License-Identifier: GPL-2.0
/*
 * Packets from inputs. Checksums are corrected unless the input forbids it, as no
 * fuzzer guesses them, and most of the parser comes after their check.
 */

#include "frame.h"

#include <linux/unaligned.h>
#include <stdlib.h>

#include "expect.h"
#include "reading.h"
#include "sum.h"

#define FRAME_CONTROL		10

/* From this number on, further bytes are counted in pages of 16 KiB. */
#define FRAME_PAGES		248
#define FRAME_PAGE		16384

/* Write a checksum so that the sum of LEN bytes, and of a pseudo header, is right. */
static void frame_mend_sum(u8 *sum, const u8 *bytes, u32 len, u32 pseudo)
{
	u16 right;

	sum[0] = 0;
	sum[1] = 0;
	right = 0xffff - sum_bytes(bytes, len, pseudo);
	sum[0] = right >> 8;
	sum[1] = right;
}

static void frame_mend_ip(struct frame *frame)
{
	u32 hlen = frame->len ? (frame->bytes[0] & 0xf) * 4 : 0;

	if (hlen >= 20 && hlen <= frame->len)
		frame_mend_sum(frame->bytes + 10, frame->bytes, hlen, 0);
}

/* The second reader finds the segment by a sum that may be wrong. */
static void frame_mend_tcp(struct frame *frame)
{
	struct reading reading;

	reading_of_frame(frame, &reading);
	if (!reading.segment)
		return;
	frame_mend_sum(frame->bytes + reading.thoff + 16,
		       frame->bytes + reading.thoff,
		       reading.end - reading.thoff, reading.pseudo);
}

/* Length of the added bytes: most packets are short, and many can be tried. */
static u32 frame_more(u8 number)
{
	if (number < FRAME_PAGES)
		return number;
	return (number - FRAME_PAGES + 1) * FRAME_PAGE;
}

/**
 * frame_read() - make a packet from an input
 * @frame: result
 * @input: the input
 * @size: its length, bytes
 *
 * Return: false when the input is too short for one.
 */
bool frame_read(struct frame *frame, const u8 *input, size_t size)
{
	u32 len, i;

	if (size < FRAME_CONTROL)
		return false;
	frame->flags = input[0];
	frame->summed = input[1];
	frame->linear = get_unaligned_be16(input + 2);
	frame->allocations = input[5] - 1;
	frame->ack = get_unaligned_be32(input + 6);
	len = size - FRAME_CONTROL;
	frame->len = len + frame_more(input[4]);
	frame->bytes = malloc(frame->len);
	memcpy(frame->bytes, input + FRAME_CONTROL, len);
	for (i = len; i < frame->len; i++)
		frame->bytes[i] = i;
	frame->linear = min(frame->linear, len);
	if (!(frame->flags & (FRAME_IPV6 | FRAME_OTHER | FRAME_BAD_IP)))
		frame_mend_ip(frame);
	if (!(frame->flags & FRAME_BAD_TCP))
		frame_mend_tcp(frame);
	return true;
}

/* Will the packet be cut into segments? */
bool frame_is_gso(const struct frame *frame)
{
	return frame->flags & (FRAME_GSO_TCP | FRAME_GSO_UDP);
}

/* Has the checksum been found right before, or is it yet to be made? */
bool frame_trusts_sum(const struct frame *frame)
{
	u8 summed = frame->summed & FRAME_SUMMED;

	return summed == CHECKSUM_UNNECESSARY || summed == CHECKSUM_PARTIAL;
}

/**
 * frame_to_skb() - make a struct sk_buff of a packet
 * @frame: packet
 * @skb: result, for frame_free()
 */
void frame_to_skb(const struct frame *frame, struct sk_buff *skb)
{
	memset(skb, 0, sizeof(*skb));
	skb->len = frame->len;
	skb->data_len = frame->len - frame->linear;
	skb->data = malloc(frame->linear);
	skb->paged = malloc(skb->data_len);
	memcpy(skb->data, frame->bytes, frame->linear);
	memcpy(skb->paged, frame->bytes + frame->linear, skb->data_len);
	skb->gso_size = frame_is_gso(frame);
	if (frame->flags & FRAME_GSO_TCP)
		skb->gso_type |= SKB_GSO_TCPV4;
	if (frame->flags & FRAME_GSO_UDP)
		skb->gso_type |= SKB_GSO_UDP_L4;
	skb->allocations = frame->allocations;
	skb->protocol = htons(frame->flags & FRAME_OTHER ? ETH_P_ARP :
			      frame->flags & FRAME_IPV6 ? ETH_P_IPV6 : ETH_P_IP);
	skb->ip_summed = frame->summed & FRAME_SUMMED;
	skb->tagged = frame->flags & FRAME_TAGGED;
	skb->cloned = frame->flags & FRAME_CLONED;
}

/**
 * frame_equals() - is a struct sk_buff still the packet that it was made from?
 * @frame: packet
 * @skb: result of frame_to_skb()
 *
 * Return: whether all bytes are the same.
 */
bool frame_equals(const struct frame *frame, const struct sk_buff *skb)
{
	unsigned int headlen = skb_headlen(skb);

	return skb->len == frame->len && headlen <= skb->len &&
	       !memcmp(skb->data, frame->bytes, headlen) &&
	       !memcmp(skb->paged, frame->bytes + headlen, skb->data_len);
}

/**
 * frame_clone_is_kept() - is a clone still the packet that it was made from?
 * @frame: packet
 * @skb: result of frame_to_skb(), which may have a copy of its own
 *
 * Return: whether the linear part is the same, or there is no clone.
 */
bool frame_clone_is_kept(const struct frame *frame, const struct sk_buff *skb)
{
	const u8 *data = skb->cloned ? skb->data : skb->shared;

	return !data || !memcmp(data, frame->bytes, frame->linear);
}

/**
 * frame_free() - free a packet
 * @frame: packet
 * @skb: result of frame_to_skb()
 */
void frame_free(struct frame *frame, struct sk_buff *skb)
{
	free(skb->shared);
	free(skb->data);
	free(skb->paged);
	free(frame->bytes);
}
