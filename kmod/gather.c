// SPDX-License-Identifier: GPL-2.0
/*
 * Payload by reference: collected from received packets, handed to a socket
 * that takes references to its pages.
 *
 * Copied are slab memory, which has no pages to refer to, the linear part of a packet that
 * has a clone, whose owner may write to it, and small pieces, which may keep far more
 * memory than TCP charges for them. They go into one page after another, which the flows
 * of a CPU share: a page of a socket's own would stay with the socket, see
 * sk_page_frag_refill().
 */

#include "gather.h"

#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/uio.h>
#include <net/hotdata.h>
#include <net/tcp.h>

#include "socket.h"

/* Most that a leg takes at once, bytes: all that it may hold unsent, and one
 * packet.
 */
#define PEP_GATHER_MOST		(PEP_SOCKET_NOTSENT + GSO_LEGACY_MAX_SIZE)

/* Does a piece lie behind the last one in memory? */
static bool pep_gather_adjoins(const struct pep_gather *g,
			       const struct page *page, u32 off)
{
	const struct bio_vec *last = &g->bvec[g->n - 1];

	return g->n && last->bv_page == page &&
	       last->bv_offset + last->bv_len == off;
}

/*
 * Add a fragment; false when there is no room. Segments that were cut out of
 * one piece of memory become one again.
 */
static bool pep_gather_add(struct pep_gather *g, struct page *page, u32 off,
			   u32 len)
{
	if (pep_gather_adjoins(g, page, off)) {
		g->bvec[g->n - 1].bv_len += len;
		g->memory += len;
	} else {
		if (g->n == PEP_GATHER_BVECS)
			return false;
		bvec_set_page(&g->bvec[g->n++], page, len, off);
		g->memory += max_t(u32, len, PEP_GATHER_KEPT);
	}
	g->len += len;
	return true;
}

/* Make room for a small piece; false when there is none. */
static bool pep_gather_room(struct pep_gather *g)
{
	struct pep_gather_page *to = g->to;
	struct page *page;

	if (to->page && PAGE_SIZE - to->used >= PEP_GATHER_SMALL)
		return true;
	/* Its reference is the only one until the pieces have been sent. */
	if (g->copied)
		return false;
	page = alloc_page(GFP_ATOMIC | __GFP_NOWARN | __GFP_NOMEMALLOC);
	if (!page) {
		g->err = -ENOMEM;
		return false;
	}
	pep_gather_drop(to);
	to->page = page;
	return true;
}

/* Copy a piece that begins at @off; false when not all of it was copied. */
static bool pep_gather_copy(struct pep_gather *g, const struct sk_buff *skb,
			    u32 off, u32 len)
{
	struct pep_gather_page *to = g->to;
	u32 part;

	if (!pep_gather_room(g))
		return false;
	part = min_t(u32, len, PAGE_SIZE - to->used);
	if (skb_copy_bits(skb, off, page_address(to->page) + to->used, part)) {
		g->err = -EFAULT;
		return false;
	}
	if (!pep_gather_add(g, to->page, to->used, part))
		return false;
	to->used += part;
	g->copied += part;
	return part == len;
}

/* Take a piece that begins at @off and lies in a page; false when not all was taken. */
static bool pep_gather_piece(struct pep_gather *g, const struct sk_buff *skb,
			     u32 off, struct page *page, u32 start, u32 len)
{
	if (len < PEP_GATHER_SMALL && !pep_gather_adjoins(g, page, start))
		return pep_gather_copy(g, skb, off, len);
	return pep_gather_add(g, page, start, len);
}

/* Take the linear part from @off on; false when not all was taken. */
static bool pep_gather_head(struct pep_gather *g, const struct sk_buff *skb,
			    u32 off)
{
	u32 len = skb_headlen(skb) - off;
	void *data = skb->data + off;
	struct page *page;

	/* sendpage_ok() refuses slab memory, and the owner of a clone may write to memory
	 * that both have, once the packet is freed here.
	 */
	if (skb_head_is_locked(skb))
		return pep_gather_copy(g, skb, off, len);
	page = virt_to_head_page(data);
	return pep_gather_piece(g, skb, off, page, data - page_address(page),
				len);
}

/* Take payload of one sk_buff, without its list, from @off on; false when not all. */
static bool pep_gather_flat(struct pep_gather *g, const struct sk_buff *skb,
			    u32 off)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	const skb_frag_t *frag = info->frags;
	const skb_frag_t *end = frag + info->nr_frags;
	u32 at = skb_headlen(skb);

	/* Memory of a device has no pages. */
	if (!skb_frags_readable(skb)) {
		g->err = -EFAULT;
		return false;
	}
	if (off < at && !pep_gather_head(g, skb, off))
		return false;
	for (; frag < end && off >= at + skb_frag_size(frag); frag++)
		at += skb_frag_size(frag);
	off = max(off, at);
	while (frag < end) {
		struct page *page = skb_frag_page(frag);
		u32 start = skb_frag_off(frag) + off - at;
		u32 stop = skb_frag_off(frag) + skb_frag_size(frag);

		/* GRO often joins fragments that lie side by side. */
		for (frag++; frag < end && skb_frag_page(frag) == page &&
		     skb_frag_off(frag) == stop; frag++)
			stop += skb_frag_size(frag);
		if (stop != start &&
		    !pep_gather_piece(g, skb, off, page, start, stop - start))
			return false;
		off += stop - start;
		at = off;
	}
	return true;
}

/**
 * pep_gather_skb() - collect the payload of a packet, with its list
 * @g: payload collected so far
 * @skb: packet
 * @off: offset to begin at, from skb->data, bytes
 *
 * Context: softirq, with the page to copy to for the caller alone.
 * Return: false when only a part could be taken, which was added.
 */
bool pep_gather_skb(struct pep_gather *g, const struct sk_buff *skb, u32 off)
{
	u32 flat = skb_headlen(skb);
	const struct sk_buff *part;
	unsigned int i;

	if (!skb_has_frag_list(skb))
		return pep_gather_flat(g, skb, off);
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++)
		flat += skb_frag_size(&skb_shinfo(skb)->frags[i]);
	if (off < flat) {
		if (!pep_gather_flat(g, skb, off))
			return false;
		off = 0;
	} else {
		off -= flat;
	}
	skb_walk_frags(skb, part) {
		if (off >= part->len) {
			off -= part->len;
			continue;
		}
		/* GRO makes lists of one level only. */
		if (skb_has_frag_list(part) || !pep_gather_flat(g, part, off))
			return false;
		off = 0;
	}
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(pep_gather_skb);

/**
 * pep_gather_taken() - give the room of copies back that a socket has not taken
 * @g: collected payload
 * @len: the part of it that the socket has taken, from the first byte on, bytes
 *
 * Context: as pep_gather_skb(), whose last call this has to follow.
 * Return: the part of @len that was copied, bytes.
 */
u32 pep_gather_taken(struct pep_gather *g, u32 len)
{
	u32 copied = 0, part;
	unsigned int i;

	for (i = 0; i < g->n && len; i++) {
		part = min(g->bvec[i].bv_len, len);
		len -= part;
		if (g->bvec[i].bv_page == g->to->page)
			copied += part;
	}
	/* A leg on this host may have got the page from here, as a fragment. */
	copied = min(copied, g->copied);
	g->to->used -= g->copied - copied;
	return copied;
}
EXPORT_SYMBOL_IF_KUNIT(pep_gather_taken);

/**
 * pep_gather_drop() - give up the page that pieces are copied to
 * @to: page, for the caller alone
 *
 * Context: any.
 */
void pep_gather_drop(struct pep_gather_page *to)
{
	if (to->page)
		put_page(to->page);
	to->page = NULL;
	to->used = 0;
}
EXPORT_SYMBOL_IF_KUNIT(pep_gather_drop);

/* No callbacks: no event needs one. */
static const struct ubuf_info_ops pep_gather_ubuf_ops;

/*
 * Append fragments to a packet, with references to their pages. Called by
 * tcp_sendmsg_locked() as it is for a zerocopy sender; see
 * __zerocopy_sg_from_iter(), which charges the socket with the growth of
 * truesize. A fragment of its own counts for the memory that it keeps, so that
 * single bytes cannot fill it behind a window that stays closed.
 */
static int pep_gather_append(struct sk_buff *skb, struct iov_iter *from,
			     size_t len)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	u32 max = READ_ONCE(net_hotdata.sysctl_max_skb_frags);
	int err = 0;

	/* Charge it from the first byte on, and make writers copy it first:
	 * the pages are those of the received packets.
	 */
	info->flags &= ~SKBFL_PURE_ZEROCOPY;
	info->flags |= SKBFL_SHARED_FRAG;
	len = min(len, iov_iter_count(from));
	while (len && !err) {
		const struct bio_vec *bvec = from->bvec;
		u32 part = min_t(size_t, len,
				 bvec->bv_len - from->iov_offset);
		unsigned int before = info->nr_frags;

		err = skb_append_pagefrags(skb, bvec->bv_page,
					   bvec->bv_offset + from->iov_offset,
					   part, max);
		if (!err) {
			skb_len_add(skb, part);
			if (info->nr_frags != before && part < PEP_GATHER_KEPT)
				skb->truesize += PEP_GATHER_KEPT - part;
			iov_iter_advance(from, part);
			len -= part;
		}
	}
	return err;
}

/**
 * pep_gather_lent() - has a packet's list pages that their sender wants back?
 * @skb: packet
 *
 * skb_orphan_frags_rx() replaces those of the packet itself.
 *
 * Context: any.
 * Return: true when it has.
 */
bool pep_gather_lent(const struct sk_buff *skb)
{
	struct sk_buff *part;

	skb_walk_frags(skb, part)
		if (skb_zcopy(part))
			return true;
	return false;
}

/**
 * pep_gather_send() - hand collected payload to a socket without copying
 * @to: locked socket
 * @g: collected payload
 * @off: offset in it to begin at, bytes
 * @more: more payload follows at once
 * @ubuf: scratch
 *
 * MSG_SPLICE_PAGES would cut the payload into single pages. So the fragments
 * take the path of MSG_ZEROCOPY, but as ordinary fragments: without the flags
 * of a ubuf_info TCP does not report when they have been sent, and this host
 * does not copy a packet because of them when it receives it.
 *
 * Context: softirq.
 * Return: bytes taken or a negative error, as sendmsg(2).
 */
int pep_gather_send(struct sock *to, const struct pep_gather *g, u32 off,
		    bool more, struct ubuf_info *ubuf)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	int n;

	if (more)
		msg.msg_flags |= MSG_MORE;
	/* TCP does not check for room for the sender's own memory; without
	 * room MSG_SPLICE_PAGES takes as much as TCP allows.
	 */
	if (sk_wmem_schedule(to, min_t(u32, g->memory, PEP_GATHER_MOST))) {
		ubuf->ops = &pep_gather_ubuf_ops;
		/* Each packet takes a reference that it does not give back. */
		refcount_set(&ubuf->refcnt, 1);
		msg.msg_flags |= MSG_ZEROCOPY;
		msg.msg_ubuf = ubuf;
		msg.sg_from_iter = pep_gather_append;
	} else {
		msg.msg_flags |= MSG_SPLICE_PAGES;
	}
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, g->bvec, g->n, g->len);
	iov_iter_advance(&msg.msg_iter, off);
	n = tcp_sendmsg_locked(to, &msg, g->len - off);
	/* Give back the memory reserved for the rest. */
	if (n != g->len - off)
		sk_mem_reclaim(to);
	return n;
}
