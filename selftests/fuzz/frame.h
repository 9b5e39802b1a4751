/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_FRAME_H
#define _FUZZ_FRAME_H

#include <linux/skbuff.h>

/* The first byte of an input: FRAME_*. */
#define FRAME_IPV6		0x01
#define FRAME_OTHER		0x02	/* neither IPv4 nor IPv6 */
#define FRAME_TAGGED		0x04	/* with a VLAN tag */
#define FRAME_GSO_TCP		0x08
#define FRAME_GSO_UDP		0x10
#define FRAME_BAD_IP		0x20	/* leave the IPv4 checksum as it is */
#define FRAME_BAD_TCP		0x40	/* leave the TCP checksum as it is */
#define FRAME_CLONED		0x80

/* The second byte: the low two bits are CHECKSUM_*. */
#define FRAME_SUMMED		0x03

/**
 * struct frame - a packet as it comes in, made from an input
 * @bytes: the packet from its network header on; the owner frees it
 * @len: length of it, bytes
 * @linear: how many of them are linear
 * @flags: FRAME_* of the first byte
 * @summed: the second byte
 * @allocations: how many allocations succeed until one fails, -1 for all
 * @ack: a number to acknowledge
 *
 * An input begins with ten bytes: flags; summed; two of linear; the number of bytes that
 * are added at the end, each with its offset as its value, from 248 on pages of 16 KiB;
 * the number of the allocation that fails, 0 for none; four of ack. The packet follows.
 */
struct frame {
	u8 *bytes;
	u32 len;
	u32 linear;
	u8 flags;
	u8 summed;
	int allocations;
	u32 ack;
};

bool frame_read(struct frame *frame, const u8 *input, size_t size);
bool frame_is_gso(const struct frame *frame);
bool frame_trusts_sum(const struct frame *frame);
void frame_to_skb(const struct frame *frame, struct sk_buff *skb);
bool frame_equals(const struct frame *frame, const struct sk_buff *skb);
bool frame_clone_is_kept(const struct frame *frame, const struct sk_buff *skb);
void frame_free(struct frame *frame, struct sk_buff *skb);

#endif
