// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of payload that has been forwarded and not yet been acknowledged.
 *
 * A connection that may be split keeps them, so that a leg can take over the
 * payload under way as if it had sent it.
 */

#include "copies.h"

#include <linux/mm.h>
#include <linux/percpu_counter.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "copy.h"
#include "gather.h"
#include "gen.h"
#include "share.h"
#include "track.h"

/* Memory that a connection's copies may keep, bytes. */
#define PEP_COPIES_MOST		(1024 * 1024)

/* Copies of a connection: each packet that is out of order is compared with them. */
#define PEP_COPIES_COUNT		1024

/* The share of the machine's memory that the copies of a namespace may keep, a
 * divisor.
 */
#define PEP_COPIES_SHARE		32

/* Time after which a copy that nothing has acknowledged is dropped, ns: the other end
 * may have lost it for ever, or not exist.
 */
#define PEP_COPIES_LIFE		(30ULL * NSEC_PER_SEC)

/* Payload of a single segment without a push that counts as full, bytes. */
#define PEP_COPIES_FULL			1000

/* How often a connection may restart its copies. */
#define PEP_COPIES_RESTARTS	16

/* Batch of a CPU's count of the memory of a namespace's copies, bytes. */
#define PEP_COPIES_BATCH		(64 * 1024)

static void pep_copies_charge(struct pep_copies *copies, s32 bytes)
{
	copies->memory += bytes;
	percpu_counter_add_batch(&copies->gen->pn->copied, bytes,
				 PEP_COPIES_BATCH);
	if (copies->path)
		pep_share_copy(copies->gen->pn, copies->path, &copies->noted,
			       copies->memory);
}

/* Free the first copy of a sender. */
static void pep_copies_shift(struct pep_copies *copies, enum pep_side side)
{
	struct pep_copy *copy = copies->first[side];

	copies->first[side] = copy->next;
	copies->count--;
	pep_copies_charge(copies, -copy->memory);
	pep_copy_free(copy);
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
 * @end: its two ends by side, with their labels; payload that they have sent by now is
 *	not kept
 *
 * Context: BH off, RCU read side.
 * Return: empty copies; or NULL for want of memory, and for a generation that has gone.
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
	for (side = 0; side < 2; side++) {
		copies->start[side] = end[side].next;
		copies->label[side] = end[side].label;
	}
	return copies;
}

/**
 * pep_copies_free() - free the copies of a connection
 * @copies: from pep_copies_new()
 *
 * Context: BH off, with the connection locked.
 */
void pep_copies_free(struct pep_copies *copies)
{
	pep_copies_flush(copies, 0);
	pep_copies_flush(copies, 1);
	pep_gen_put(copies->gen);
	kfree(copies);
}

/* Is there room in the namespace for another copy of a subscriber? They may keep as much
 * as is left: two who take all that they can get leave a third, and others find room. A
 * dynamic threshold, as switches share their buffers by it (Choudhury and Hahne, 1998).
 */
static bool pep_copies_left(struct pep_net *pn,
			    const struct pep_path *path)
{
	u64 most = ((u64)totalram_pages() << PAGE_SHIFT) / PEP_COPIES_SHARE;

	return percpu_counter_read(&pn->copied) +
	       (path ? pep_share_copied(path) : 0) < (s64)most;
}

/* May another copy be kept? */
static bool pep_copies_room(const struct pep_copies *copies)
{
	struct pep_net *pn = copies->gen->pn;

	return copies->memory <= PEP_COPIES_MOST &&
	       copies->count < PEP_COPIES_COUNT &&
	       !pep_share_over(pn, copies->path) &&
	       pep_copies_left(pn, copies->path);
}

/* Mark copies of payload that was sent again, in segments without new payload. */
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
 * Return: false when it cannot be kept: the caller sets @end->high and calls
 * pep_copies_restart(). Without that nothing would show that there is no copy.
 */
bool pep_copies_add(struct pep_copies *copies, enum pep_side side,
		    struct pep_track_end *end, struct sk_buff *skb,
		    const struct pep_packet *pkt)
{
	u32 seq = ntohl(pkt->th->seq), off = pkt->thoff + __tcp_hdrlen(pkt->th);
	struct pep_copy *copy;

	if (!after(seq + pkt->payload, end->next)) {
		pep_copies_again(copies, side, seq, seq + pkt->payload);
		return true;
	}
	if (!pep_copies_room(copies))
		return false;
	copy = pep_copy_take(skb, off, seq, pkt->payload);
	if (!copy)
		return false;
	copies->count++;
	pep_copies_charge(copies, copy->memory);
	pep_copies_insert(copies, side, copy);
	pep_copies_advance(copy, &end->next);
	return true;
}

/**
 * pep_copies_size() - note the largest full segment of an end
 * @copies: copies of the connection, locked
 * @side: side of the sender, enum pep_side
 * @skb: its segment
 * @pkt: parsed @skb, with payload
 *
 * It shows the MSS that the end goes by: a rule of FORWARD, or a router behind this hook, may
 * have lowered the one in the other end's SYN. Segments that the stack has merged are full,
 * and long ones without a push.
 *
 * Context: softirq.
 */
void pep_copies_size(struct pep_copies *copies, enum pep_side side,
		     const struct sk_buff *skb, const struct pep_packet *pkt)
{
	u32 size = skb_shinfo(skb)->gso_size;

	if (!size && pkt->payload >= PEP_COPIES_FULL && !pkt->th->psh && !pkt->th->fin)
		size = pkt->payload;
	if (size && size + pkt->options > copies->full[side])
		copies->full[side] = min(size + pkt->options, U16_MAX);
}

/**
 * pep_copies_restart() - restart after a packet that could not be kept, or when a copy
 *	is too old
 * @copies: copies of the connection
 * @side: side of the sender, enum pep_side
 * @end: the sender, whose @high is behind all that has passed; its next byte is advanced
 *
 * They are usable again when the other end has acknowledged all until here.
 *
 * Context: softirq, with the connection locked.
 * Return: false after too many restarts; the copies are still there.
 */
bool pep_copies_restart(struct pep_copies *copies, enum pep_side side,
			struct pep_track_end *end)
{
	if (copies->restarts++ == PEP_COPIES_RESTARTS)
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
 * Return: false when it was sent later; true where there is no copy of it.
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
		if (now - copy->at > PEP_COPIES_LIFE)
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
static void pep_copies_stamp(struct sock *sk, u32 begin, u64 at, bool again)
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

/**
 * pep_copies_load() - load the copies into a leg as if it had sent them
 * @copies: copies of the connection
 * @side: side of the sender that the leg speaks for, enum pep_side
 * @sk: locked leg under repair whose next byte to write is the first that its
 *	end has not acknowledged
 * @ubuf: scratch
 *
 * Context: softirq, with the connection locked.
 * Return: 0 or a negative error, as sendmsg(2), or -EBADMSG with a warning when a copy lies
 * behind a hole, which pep_adopt_ready() excludes.
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
		int sent, more;

		if (!after(pep_copy_end(copy), begin))
			continue;
		more = pep_copy_page(copy);
		if (more < 0)
			return more;
		pep_copies_charge(copies, more);
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
		pep_copies_stamp(sk, begin, at, copy->again);
	}
	return 0;
}
