// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of payload that has been forwarded and not yet been acknowledged.
 *
 * A connection that may be split keeps them, so that a leg can take over the
 * payload under way as if it had sent it. Page fragments are kept by reference.
 * The linear part is copied: encryption on the way out may write to it in place.
 * No packet is cloned, for ip_forward() would copy the header of a clone.
 */

#include "copy.h"

#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/percpu_counter.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "gather.h"
#include "gen.h"
#include "share.h"
#include "spare.h"
#include "track.h"

/* Memory that a connection's copies may keep, bytes. */
#define PEP_COPY_MOST		(1024 * 1024)

/* Copies of a connection: each packet that is out of order is compared with them. */
#define PEP_COPY_COUNT		1024

/* The share of the machine's memory that the copies of a namespace may keep, a
 * divisor.
 */
#define PEP_COPY_SHARE		32

/* Time after which a copy that nothing has acknowledged is dropped, ns: the other end
 * may have lost it for ever, or not exist.
 */
#define PEP_COPY_LIFE		(30ULL * NSEC_PER_SEC)

/* How often a connection may restart its copies. */
#define PEP_COPY_RESTARTS	16

/* Fragments of one copy: more than a packet of 64 KiB has. */
#define PEP_COPY_BVECS		256

/* Memory that a part of the linear payload is copied to, bytes. */
#define PEP_COPY_PART		2048

/* Linear payload that is kept with the copy itself, bytes: a message of that size
 * pins no page, and most are never loaded into a leg.
 */
#define PEP_COPY_INLINE		192

/* Batch of a CPU's count of the memory of a namespace's copies, bytes. */
#define PEP_COPY_BATCH		(64 * 1024)

/**
 * struct pep_copy - payload of one packet
 * @next: next copy of the same sender, or NULL
 * @at: when it was sent, ns of ktime_get_ns()
 * @seq: sequence number of its first byte
 * @len: its length, bytes
 * @memory: memory that it keeps, bytes
 * @n: number of fragments
 * @most: number of fragments that @bvec has room for
 * @head: linear payload behind @bvec, bytes, the first of the packet; the first
 *	fragment stands for it, without a page until pep_copy_load_head()
 * @again: it was sent again: its acknowledgment is no sample of a round trip
 * @bvec: fragments, each with a reference to its page
 */
struct pep_copy {
	struct pep_copy *next;
	u64 at;
	u32 seq;
	u32 len;
	u32 memory;
	u16 n;
	u16 most;
	u8 head;
	bool again;
	struct bio_vec bvec[];
};

static_assert(PEP_COPY_INLINE <= U8_MAX);
static_assert(struct_size_t(struct pep_copy, bvec, 1) + PEP_COPY_INLINE <=
	      PEP_SPARE_SIZE);

static u32 pep_copy_end(const struct pep_copy *copy)
{
	return copy->seq + copy->len;
}

/* The linear payload that is kept with a copy. */
static void *pep_copy_data(struct pep_copy *copy)
{
	return &copy->bvec[copy->most];
}

static void pep_copies_charge(struct pep_copies *copies, s32 bytes)
{
	copies->memory += bytes;
	percpu_counter_add_batch(&copies->gen->pn->copied, bytes,
				 PEP_COPY_BATCH);
	if (copies->path)
		pep_share_copy(copies->gen->pn, copies->path, bytes);
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

/* Free a copy that is in no list. */
static void pep_copy_free(struct pep_copies *copies, struct pep_copy *copy)
{
	unsigned int i;

	copies->count--;
	pep_copies_charge(copies, -copy->memory);
	for (i = 0; i < copy->n; i++)
		if (copy->bvec[i].bv_page)
			put_page(copy->bvec[i].bv_page);
	pep_copy_discard(copy);
}

/* Free the first copy of a sender. */
static void pep_copies_shift(struct pep_copies *copies, enum pep_side side)
{
	struct pep_copy *copy = copies->first[side];

	copies->first[side] = copy->next;
	pep_copy_free(copies, copy);
}

/* Free the copies of one sender. */
static void pep_copies_flush(struct pep_copies *copies, enum pep_side side)
{
	while (copies->first[side])
		pep_copies_shift(copies, side);
}

/* Insert a copy behind all that begin no later: mostly behind the last one. */
static void pep_copies_insert(struct pep_copies *copies, enum pep_side side,
			      struct pep_copy *copy)
{
	struct pep_copy **at = &copies->first[side];

	if (*at && !after(copies->last[side]->seq, copy->seq))
		at = &copies->last[side]->next;
	else
		while (*at && !after((*at)->seq, copy->seq))
			at = &(*at)->next;
	copy->next = *at;
	*at = copy;
	if (!copy->next)
		copies->last[side] = copy;
}

/**
 * pep_copies_new() - begin to keep copies
 * @gen: generation that may split the connection, protected by RCU
 * @path: entry of its subscriber, which the connection refers to, or NULL
 * @end: its two ends by side; payload that they have sent by now is not kept
 *
 * Context: softirq.
 * Return: empty copies, or NULL.
 */
struct pep_copies *pep_copies_new(struct pep_gen *gen,
				  struct pep_path *path,
				  const struct pep_track_end *end)
{
	struct pep_copies *copies = kzalloc(sizeof(*copies), GFP_ATOMIC);
	enum pep_side side;

	if (!copies)
		return NULL;
	if (!refcount_inc_not_zero(&gen->ref)) {
		kfree(copies);
		return NULL;
	}
	copies->gen = gen;
	copies->path = path;
	for (side = 0; side < 2; side++)
		copies->start[side] = end[side].next;
	return copies;
}

/**
 * pep_copies_free() - free the copies of a connection
 * @copies: from pep_copies_new()
 *
 * Context: BH off.
 */
void pep_copies_free(struct pep_copies *copies)
{
	pep_copies_flush(copies, 0);
	pep_copies_flush(copies, 1);
	pep_gen_put(copies->gen);
	kfree(copies);
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

/* Is there room in the namespace for another copy of a subscriber? They may keep as much
 * as is left: two who take all that they can get leave a third, and others find room. A
 * dynamic threshold, as switches share their buffers by it (Choudhury and Hahne, 1998).
 */
static bool pep_copies_left(struct pep_net *pn,
			    const struct pep_path *path)
{
	u64 most = ((u64)totalram_pages() << PAGE_SHIFT) / PEP_COPY_SHARE;

	return percpu_counter_read(&pn->copied) +
	       (path ? pep_share_copied(path) : 0) < (s64)most;
}

/* May another copy be kept? */
static bool pep_copies_room(const struct pep_copies *copies)
{
	struct pep_net *pn = copies->gen->pn;

	return copies->memory <= PEP_COPY_MOST &&
	       copies->count < PEP_COPY_COUNT &&
	       !pep_share_over(pn, copies->path) &&
	       pep_copies_left(pn, copies->path);
}

/* Mark copies of payload that was sent again. */
static void pep_copies_again(struct pep_copies *copies, enum pep_side side,
			     u32 seq, u32 last)
{
	struct pep_copy *copy;

	for (copy = copies->first[side]; copy && before(copy->seq, last);
	     copy = copy->next)
		if (after(pep_copy_end(copy), seq))
			copy->again = true;
}

/* Advance *next over all copies in front of the first hole. */
static void pep_copies_advance(const struct pep_copy *copy, u32 *next)
{
	for (; copy && !after(copy->seq, *next); copy = copy->next)
		if (after(pep_copy_end(copy), *next))
			*next = pep_copy_end(copy);
}

/**
 * pep_copies_add() - keep the payload of a packet
 * @copies: copies of the connection
 * @side: side that the packet came from, enum pep_side
 * @end: the end that has sent it; its next byte is advanced
 * @skb: packet with payload and a right checksum; its headers may move, so
 *	pointers into it become stale
 * @pkt: parsed @skb
 *
 * Context: softirq, with the connection locked.
 * Return: false when it cannot be kept; @end does not show that gap, so call
 * pep_copies_restart() then.
 */
bool pep_copies_add(struct pep_copies *copies, enum pep_side side,
		    struct pep_track_end *end, struct sk_buff *skb,
		    const struct pep_packet *pkt)
{
	u32 seq = ntohl(pkt->th->seq), off = pkt->thoff + __tcp_hdrlen(pkt->th);
	struct pep_copy *copy;
	unsigned int n;
	bool filled;

	if (!after(seq + pkt->payload, end->next)) {
		pep_copies_again(copies, side, seq, seq + pkt->payload);
		return true;
	}
	if (!pep_copies_room(copies))
		return false;
	/* A local sender's pages are to be given back to it: other pages replace
	 * them, and may be more.
	 */
	if (pep_gather_lent(skb) || skb_orphan_frags_rx(skb, GFP_ATOMIC))
		return false;
	n = pep_copy_count(skb);
	if (n > PEP_COPY_BVECS)
		return false;
	copy = pep_copy_alloc(n, pep_copy_inline(skb, off, pkt->payload));
	if (!copy)
		return false;
	copy->at = ktime_get_ns();
	copy->seq = seq;
	copy->len = pkt->payload;
	filled = pep_copy_fill(copy, skb, off, pkt->payload);
	copies->count++;
	pep_copies_charge(copies, copy->memory);
	if (!filled) {
		pep_copy_free(copies, copy);
		return false;
	}
	pep_copies_insert(copies, side, copy);
	pep_copies_advance(copy, &end->next);
	return true;
}

/**
 * pep_copies_restart() - restart after a packet that could not be kept
 * @copies: copies of the connection
 * @side: side of the sender, enum pep_side
 * @end: the sender, with the packet noted as sent; its next byte is advanced
 *
 * They are usable again when the other end has acknowledged all until here.
 *
 * Context: softirq, with the connection locked.
 * Return: false after too many restarts; the copies are still there.
 */
bool pep_copies_restart(struct pep_copies *copies, enum pep_side side,
			struct pep_track_end *end)
{
	if (copies->restarts++ == PEP_COPY_RESTARTS)
		return false;
	pep_copies_flush(copies, side);
	end->next = end->high;
	copies->start[side] = end->high;
	return true;
}

/**
 * pep_copies_older() - was payload first sent so long ago?
 * @copies: copies of the connection
 * @side: side of the sender, enum pep_side
 * @last: number behind the payload
 * @us: time, us
 *
 * Context: softirq, with the connection locked.
 * Return: false when it was sent later.
 */
bool pep_copies_older(const struct pep_copies *copies, enum pep_side side,
		      u32 last, u32 us)
{
	const struct pep_copy *copy;

	for (copy = copies->first[side]; copy; copy = copy->next)
		if (before(copy->seq, last) && !after(last, pep_copy_end(copy)))
			return ktime_get_ns() - copy->at >=
			       (u64)us * NSEC_PER_USEC;
	return true;
}

/**
 * pep_copies_stale() - has a copy been kept for long?
 * @copies: copies of the connection
 * @side: side of the sender, enum pep_side
 *
 * Context: any, with the connection locked.
 * Return: true when it is time for pep_copies_restart().
 */
bool pep_copies_stale(const struct pep_copies *copies, enum pep_side side)
{
	const struct pep_copy *copy;
	u64 now = ktime_get_ns();

	for (copy = copies->first[side]; copy; copy = copy->next)
		if (now - copy->at > PEP_COPY_LIFE)
			return true;
	return false;
}

/**
 * pep_copies_acked() - free the copies that the other end has acknowledged
 * @copies: copies of the connection
 * @side: side of the sender, enum pep_side
 * @ack: acknowledgment of the other end
 * @next: next byte of the sender; advanced where the other end has received
 *	bytes that did not pass here
 *
 * Context: softirq, with the connection locked.
 */
void pep_copies_acked(struct pep_copies *copies, enum pep_side side, u32 ack,
		      u32 *next)
{
	while (copies->first[side] &&
	       !after(pep_copy_end(copies->first[side]), ack))
		pep_copies_shift(copies, side);
	if (after(ack, copies->start[side]))
		copies->start[side] = ack;
	if (!after(ack, *next))
		return;
	*next = ack;
	pep_copies_advance(copies->first[side], next);
}

/*
 * Set the real time of transmission, so that the acknowledgment is a sample of
 * the rate and, unless the copy was sent again, of the round trip, and RACK has
 * the order. Follows tcp_rate_skb_sent(), which the queue of a socket under
 * repair does not pass.
 */
static void pep_copy_stamp(struct sock *sk, u32 begin, u64 at, bool again)
{
	struct sk_buff *skb = tcp_rtx_queue_tail(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tp->first_tx_mstamp) {
		tp->first_tx_mstamp = div_u64(at, NSEC_PER_USEC);
		tp->delivered_mstamp = tp->first_tx_mstamp;
	}
	for (; skb && !before(TCP_SKB_CB(skb)->seq, begin);
	     skb = skb_rb_prev(skb)) {
		struct tcp_skb_cb *cb = TCP_SKB_CB(skb);

		skb->skb_mstamp_ns = at;
		cb->sacked &= ~TCPCB_REPAIRED;
		if (again)
			cb->sacked |= TCPCB_EVER_RETRANS;
		cb->tx.first_tx_mstamp = tp->first_tx_mstamp;
		cb->tx.delivered_mstamp = tp->delivered_mstamp;
		cb->tx.delivered = tp->delivered;
		cb->tx.is_app_limited = !!tp->app_limited;
	}
}

/* Copy the payload kept with a copy to a page: a leg takes references to pages.
 * Return: false for lack of memory.
 */
static bool pep_copy_load_head(struct pep_copies *copies, struct pep_copy *copy)
{
	struct page *page;
	u32 memory;
	void *to;

	if (!copy->head)
		return true;
	to = napi_alloc_frag(copy->head);
	if (!to)
		return false;
	memcpy(to, pep_copy_data(copy), copy->head);
	page = virt_to_head_page(to);
	bvec_set_page(&copy->bvec[0], page, copy->head, to - page_address(page));
	memory = max_t(u32, copy->head, PEP_GATHER_KEPT);
	copy->memory += memory;
	pep_copies_charge(copies, memory);
	return true;
}

/**
 * pep_copies_load() - load the copies into a leg as if it had sent them
 * @copies: copies of the connection
 * @side: side of the sender that the leg speaks for, enum pep_side
 * @sk: locked leg under repair whose next byte to write is the first that its
 *	end has not acknowledged
 * @ubuf: scratch
 *
 * Context: softirq.
 * Return: 0 or a negative error, as sendmsg(2).
 */
int pep_copies_load(struct pep_copies *copies, enum pep_side side,
		    struct sock *sk, struct ubuf_info *ubuf)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pep_copy *copy;
	u64 at = 0;

	for (copy = copies->first[side]; copy; copy = copy->next) {
		struct pep_gather g;
		u32 begin = tp->write_seq;
		int sent;

		if (!after(pep_copy_end(copy), begin))
			continue;
		if (!pep_copy_load_head(copies, copy))
			return -ENOMEM;
		g = (struct pep_gather) {
			.bvec = copy->bvec, .n = copy->n, .len = copy->len,
			.memory = copy->memory,
		};
		if (WARN_ON_ONCE(after(copy->seq, begin)))
			return -EBADMSG;
		while (tp->write_seq != pep_copy_end(copy)) {
			sent = pep_gather_send(sk, &g,
					       tp->write_seq - copy->seq,
					       false, ubuf);
			if (sent <= 0)
				return sent ?: -EAGAIN;
		}
		at = max(at, copy->at);
		pep_copy_stamp(sk, begin, at, copy->again);
	}
	return 0;
}
