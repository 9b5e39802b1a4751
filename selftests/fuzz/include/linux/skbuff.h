/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stand-in for struct sk_buff. The linear part is a block of the heap that has its
 * exact size, so that ASan sees every access beyond it. A pull moves the linear part
 * to another block, so that ASan sees accesses by pointers from before.
 */
#ifndef _FUZZ_LINUX_SKBUFF_H
#define _FUZZ_LINUX_SKBUFF_H

#include <linux/if_ether.h>
#include <linux/string.h>
#include <linux/types.h>
#include <net/checksum.h>

#define CHECKSUM_NONE		0
#define CHECKSUM_UNNECESSARY	1
#define CHECKSUM_COMPLETE	2
#define CHECKSUM_PARTIAL	3

#define SKB_GSO_TCPV4		1
#define SKB_GSO_UDP_L4		2
#define SKB_GSO_TCPV6		4
#define SKB_GSO_FRAGLIST	8

/**
 * struct sk_buff - a packet whose network header is where its data begins
 * @data: linear part, of @len - @data_len bytes
 * @paged: the rest, of @data_len bytes
 * @shared: the linear part that a clone had in common with this packet, once this
 *	one has a copy of its own; the clone owns it
 * @len: length of the packet, bytes
 * @data_len: length of the part that is not linear, bytes
 * @gso_size: payload of each segment that this one will be cut into, bytes, 0 for
 *	none
 * @gso_type: SKB_GSO_* of those segments
 * @allocations: how many allocations succeed until one fails, -1 for all
 * @protocol: ETH_P_*, in network byte order
 * @ip_summed: CHECKSUM_*
 * @tagged: a VLAN tag was taken off
 * @cloned: a clone has @data, too
 * @starved: an allocation has failed
 */
struct sk_buff {
	u8 *data;
	u8 *paged;
	u8 *shared;
	unsigned int len;
	unsigned int data_len;
	unsigned int gso_size;
	unsigned int gso_type;
	int allocations;
	__be16 protocol;
	u8 ip_summed;
	bool tagged;
	bool cloned;
	bool starved;
};

bool pskb_may_pull(struct sk_buff *skb, unsigned int len);
int skb_copy_bits(const struct sk_buff *skb, int offset, void *to, int len);
void *skb_header_pointer(const struct sk_buff *skb, int offset, int len,
			 void *buffer);
int skb_ensure_writable(struct sk_buff *skb, unsigned int len);
__wsum skb_checksum(const struct sk_buff *skb, int offset, int len,
		    __wsum csum);

static inline unsigned int skb_headlen(const struct sk_buff *skb)
{
	return skb->len - skb->data_len;
}

static inline unsigned char *skb_network_header(const struct sk_buff *skb)
{
	return skb->data;
}

static inline int skb_network_offset(const struct sk_buff *skb)
{
	return skb_network_header(skb) - skb->data;
}

static inline bool skb_is_gso(const struct sk_buff *skb)
{
	return skb->gso_size;
}

static inline bool skb_is_gso_tcp(const struct sk_buff *skb)
{
	return skb->gso_type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6);
}

/* The only member that is read of it is one of the packet here. */
static inline const struct sk_buff *skb_shinfo(const struct sk_buff *skb)
{
	return skb;
}

static inline int skb_checksum_start_offset(const struct sk_buff *skb)
{
	return 0;
}

#endif
