// SPDX-License-Identifier: GPL-2.0
/*
 * A copy of the payload of one packet.
 *
 * Page fragments are kept by reference. The linear part is copied: encryption on the way
 * out may write to it in place. The packet is not cloned, for ip_forward() would copy the
 * header of a clone.
 */

#include "copy.h"

#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "gather.h"
#include "spare.h"

/* Fragments of one copy: more than a packet of 64 KiB has. */
#define PEP_COPY_BVECS		256

/* Memory that a part of the linear payload is copied to, bytes. */
#define PEP_COPY_PART		2048

/* Linear payload that is kept with the copy itself, bytes: a message of that size
 * pins no page, and most are never loaded into a leg.
 */
#define PEP_COPY_INLINE		192

static_assert(PEP_COPY_INLINE <= U8_MAX);
static_assert(struct_size_t(struct pep_copy, bvec, 1) + PEP_COPY_INLINE <=
	      PEP_SPARE_SIZE);

/* The linear payload that is kept with a copy. */
static void *pep_copy_data(struct pep_copy *copy)
{
	return &copy->bvec[copy->most];
}

/* A copy with room for N fragments and HEAD bytes, or NULL. */
static struct pep_copy *pep_copy_alloc(unsigned int n, u8 head)
{
	u32 size = struct_size_t(struct pep_copy, bvec, n) + head;
	struct pep_copy *copy;

	/* A message or a request, mostly. */
	if (size <= PEP_SPARE_SIZE) {
		size = PEP_SPARE_SIZE;
		copy = pep_spare_get();
	} else {
		copy = kmalloc(size, GFP_ATOMIC);
	}
	if (!copy)
		return NULL;
	copy->memory = size;
	copy->n = 0;
	copy->most = n;
	copy->head = head;
	copy->again = false;
	return copy;
}

/* Free the memory of a copy. */
static void pep_copy_discard(struct pep_copy *copy)
{
	if (struct_size(copy, bvec, copy->most) + copy->head > PEP_SPARE_SIZE)
		kfree(copy);
	else
		pep_spare_put(copy);
}

/**
 * pep_copy_free() - free a copy
 * @copy: copy, in no list
 *
 * Context: BH off.
 */
void pep_copy_free(struct pep_copy *copy)
{
	unsigned int i;

	for (i = 0; i < copy->n; i++)
		if (copy->bvec[i].bv_page)
			put_page(copy->bvec[i].bv_page);
	pep_copy_discard(copy);
}

/* Most fragments that a packet's payload can take. */
static unsigned int pep_copy_count(const struct sk_buff *skb)
{
	const struct sk_buff *part;
	unsigned int n;

	n = DIV_ROUND_UP(skb_headlen(skb), PEP_COPY_PART) +
	    skb_shinfo(skb)->nr_frags;
	skb_walk_frags(skb, part)
		n += DIV_ROUND_UP(skb_headlen(part), PEP_COPY_PART) +
		     skb_shinfo(part)->nr_frags;
	return n;
}

/* Bytes of a packet's linear payload to keep with its copy: all or none. */
static u8 pep_copy_inline(const struct sk_buff *skb, u32 off, u32 payload)
{
	u32 linear = skb_headlen(skb) > off ? skb_headlen(skb) - off : 0;

	linear = min(linear, payload);
	return linear <= PEP_COPY_INLINE ? linear : 0;
}

/* Add a fragment, with a reference to its page, or without a page; false when
 * there is no room for it.
 */
static bool pep_copy_push(struct pep_copy *copy, struct page *page, u32 len,
			  unsigned int off)
{
	if (WARN_ON_ONCE(copy->n == copy->most))
		return false;
	bvec_set_page(&copy->bvec[copy->n++], page, len, off);
	if (page)
		copy->memory += max_t(u32, len, PEP_GATHER_KEPT);
	return true;
}

/* Copy from the linear part to pages; false for lack of memory. */
static bool pep_copy_pages(struct pep_copy *copy, const void *data, u32 len)
{
	while (len) {
		u32 part = min_t(u32, len, PEP_COPY_PART);
		void *to = napi_alloc_frag(part);
		struct page *page;

		if (!to)
			return false;
		memcpy(to, data, part);
		page = virt_to_head_page(to);
		if (!pep_copy_push(copy, page, part, to - page_address(page))) {
			put_page(page);
			return false;
		}
		data += part;
		len -= part;
	}
	return true;
}

/*
 * Take up to *left bytes of one sk_buff, not of its list, behind *off; reduce
 * both by the bytes that it holds.
 */
static bool pep_copy_flat(struct pep_copy *copy, const struct sk_buff *skb,
			  u32 *off, u32 *left)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	u32 head = skb_headlen(skb), skip = min(*off, head), len;
	int i;

	/* Device memory has no pages. */
	if (!skb_frags_readable(skb))
		return false;
	len = min(head - skip, *left);
	*off -= skip;
	*left -= len;
	if (len && len == copy->head && !copy->n) {
		memcpy(pep_copy_data(copy), skb->data + skip, len);
		if (!pep_copy_push(copy, NULL, len, 0))
			return false;
	} else if (!pep_copy_pages(copy, skb->data + skip, len)) {
		return false;
	}
	for (i = 0; i < info->nr_frags && *left; i++) {
		const skb_frag_t *frag = &info->frags[i];
		struct page *page = skb_frag_page(frag);

		skip = min(*off, skb_frag_size(frag));
		len = min(skb_frag_size(frag) - skip, *left);
		*off -= skip;
		*left -= len;
		if (!len)
			continue;
		if (!pep_copy_push(copy, page, len, skb_frag_off(frag) + skip))
			return false;
		get_page(page);
	}
	return true;
}

/* Take the payload of a packet; false when that is impossible. */
static bool pep_copy_fill(struct pep_copy *copy, const struct sk_buff *skb,
			  u32 off, u32 len)
{
	const struct sk_buff *part;

	if (!pep_copy_flat(copy, skb, &off, &len))
		return false;
	skb_walk_frags(skb, part) {
		/* GRO makes lists of one level only. */
		if (skb_has_frag_list(part) ||
		    !pep_copy_flat(copy, part, &off, &len))
			return false;
	}
	return !len;
}

/**
 * pep_copy_take() - copy the payload of a packet
 * @skb: packet; its headers may move, so pointers into it become stale
 * @off: offset of the payload from skb->data, bytes
 * @seq: sequence number of its first byte
 * @len: its length, bytes
 *
 * Context: softirq.
 * Return: the copy, in no list, for pep_copy_free(); or NULL: there is no memory, or the
 * packet has a form that cannot be copied.
 */
struct pep_copy *pep_copy_take(struct sk_buff *skb, u32 off, u32 seq, u32 len)
{
	struct pep_copy *copy;
	unsigned int n;

	/* A local sender's pages are to be given back to it: other pages replace
	 * them, and may be more.
	 */
	if (pep_gather_lent(skb) || skb_orphan_frags_rx(skb, GFP_ATOMIC))
		return NULL;
	n = pep_copy_count(skb);
	if (n > PEP_COPY_BVECS)
		return NULL;
	copy = pep_copy_alloc(n, pep_copy_inline(skb, off, len));
	if (!copy)
		return NULL;
	copy->at = ktime_get_ns();
	copy->seq = seq;
	copy->len = len;
	if (!pep_copy_fill(copy, skb, off, len)) {
		pep_copy_free(copy);
		return NULL;
	}
	return copy;
}

/**
 * pep_copy_page() - have all of a copy in pages, to which a leg takes references
 * @copy: copy of which this is called once
 *
 * Context: softirq.
 * Return: memory that it keeps more than before, bytes; or -ENOMEM.
 */
int pep_copy_page(struct pep_copy *copy)
{
	struct page *page;
	u32 memory;
	void *to;

	if (!copy->head)
		return 0;
	to = napi_alloc_frag(copy->head);
	if (!to)
		return -ENOMEM;
	memcpy(to, pep_copy_data(copy), copy->head);
	page = virt_to_head_page(to);
	bvec_set_page(&copy->bvec[0], page, copy->head, to - page_address(page));
	memory = max_t(u32, copy->head, PEP_GATHER_KEPT);
	copy->memory += memory;
	return memory;
}
