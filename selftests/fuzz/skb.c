// SPDX-License-Identifier: GPL-2.0
/* Stand-ins for the kernel's functions that read, move and sum up packets. */

#include <linux/skbuff.h>
#include <stdlib.h>

#include "expect.h"

/* Is there memory for one more allocation? */
static bool skb_allocates(struct sk_buff *skb)
{
	if (!skb->allocations)
		skb->starved = true;
	else if (skb->allocations > 0)
		skb->allocations--;
	return !skb->starved;
}

/* Move the linear part to a block of LEN bytes, and fill that from the paged part. */
static bool skb_move(struct sk_buff *skb, unsigned int len)
{
	unsigned int headlen = skb_headlen(skb), more = len - headlen;
	u8 *data;

	if (!skb_allocates(skb))
		return false;
	data = malloc(len);
	memcpy(data, skb->data, headlen);
	memcpy(data + headlen, skb->paged, more);
	memmove(skb->paged, skb->paged + more, skb->data_len - more);
	skb->data_len -= more;
	if (skb->cloned)
		skb->shared = skb->data;
	else
		free(skb->data);
	skb->cloned = false;
	skb->data = data;
	return true;
}

bool pskb_may_pull(struct sk_buff *skb, unsigned int len)
{
	if (len <= skb_headlen(skb))
		return true;
	return len <= skb->len && skb_move(skb, len);
}

int skb_ensure_writable(struct sk_buff *skb, unsigned int len)
{
	if (!pskb_may_pull(skb, len))
		return -1;
	return skb->cloned && !skb_move(skb, skb_headlen(skb)) ? -1 : 0;
}

int skb_copy_bits(const struct sk_buff *skb, int offset, void *to, int len)
{
	int i, headlen = skb_headlen(skb);
	u8 *byte = to;

	if (offset < 0 || len < 0 || offset > (int)skb->len - len)
		return -1;
	for (i = offset; i < offset + len; i++)
		*byte++ = i < headlen ? skb->data[i] : skb->paged[i - headlen];
	return 0;
}

void *skb_header_pointer(const struct sk_buff *skb, int offset, int len,
			 void *buffer)
{
	if (offset + len <= (int)skb_headlen(skb))
		return skb->data + offset;
	return skb_copy_bits(skb, offset, buffer, len) ? NULL : buffer;
}

__wsum csum_partial(const void *buffer, int len, __wsum sum)
{
	const u8 *byte = buffer;

	for (; len > 1; len -= 2, byte += 2)
		sum = csum_add(sum, byte[0] | byte[1] << 8);
	return len ? csum_add(sum, byte[0]) : sum;
}

/* The kernel stops on a request to sum up more bytes than there are. */
__wsum skb_checksum(const struct sk_buff *skb, int offset, int len,
		    __wsum csum)
{
	u8 *copy = malloc(len);

	expect(!skb_copy_bits(skb, offset, copy, len));
	csum = csum_partial(copy, len, csum);
	free(copy);
	return csum;
}
