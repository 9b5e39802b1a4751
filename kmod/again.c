// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of legs are repeated.
 *
 * TCP sends a reset once, and another one in answer to a packet from the end that it
 * resets. An end that only waits sends nothing: where the link has lost the reset, it
 * waits for ever. An end that has lost payload before the reset sends a challenge ACK,
 * see memo.c; but TCP sends at most one ACK in half a second for packets that do not fit
 * (tcp_invalid_ratelimit), and the link may lose it. The first repetition is the same as
 * the reset. The second one has the number that the end has acknowledged, which is the
 * one that the end expects where payload is missing. Payload in flight may still fill
 * that gap, and then the end expects what is missing next, so the last repetition is a
 * reset for each piece in flight that the end has not acknowledged selectively. Linux
 * accepts the number behind the last piece that it has received, too
 * (tcp_validate_incoming()): that is where one of these pieces begins, or the number of
 * the reset itself. Pieces that TCP has merged to send them again, and those beyond
 * PEP_AGAIN_NUMBERS, are left out.
 *
 * The leg is closed by then and has forgotten its addresses, so the hook of untrack.c
 * copies the packet on its way out. In a kernel without conntrack, which has no such
 * hook, unsent.c sends each reset once more and has that repeated.
 */

#include "again.h"

#include <linux/if_ether.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/checksum.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "scope.h"

/* Milliseconds from a reset to its repetitions: a namespace that is removed waits
 * longer, see PEP_INSTANCE_LINGER.
 */
static const unsigned int pep_again_after[PEP_AGAIN_TIMES] = { 50, 170, 210 };

/* Time for which the module waits for repetitions when it goes, jiffies: longer than until
 * the last.
 */
#define PEP_AGAIN_LINGER	(HZ / 2)

/* Resets of a namespace that may wait. */
#define PEP_AGAIN_MOST		4096

/* Sequence numbers of a reset's repetitions: 13 kB of resets over IPv4, and 18 over IPv6,
 * where 370 kB of payload were in flight.
 */
#define PEP_AGAIN_NUMBERS	256

static void pep_again_free(struct pep_again *again)
{
	kfree_skb(again->skb);
	kfree(again);
}

/* The reset that waits for its nth repetition for the longest time, or NULL. Call with
 * pn->again_lock held.
 */
static struct pep_again *pep_again_first(struct pep_net *pn, unsigned int nth)
{
	return list_first_entry_or_null(&pn->again[nth], struct pep_again, node);
}

static ktime_t pep_again_at(const struct pep_again *again, unsigned int nth)
{
	return ktime_add_ms(again->sent, pep_again_after[nth]);
}

/* Take a reset that is due for its nth repetition, or NULL. */
static struct pep_again *pep_again_due(struct pep_net *pn, unsigned int nth)
{
	struct pep_again *again;

	spin_lock_bh(&pn->again_lock);
	again = pep_again_first(pn, nth);
	if (again && ktime_after(pep_again_at(again, nth), ktime_get()))
		again = NULL;
	if (again)
		list_del(&again->node);
	spin_unlock_bh(&pn->again_lock);
	return again;
}

/* Have the work run when the first repetition is due, if any. Call with pn->again_lock
 * held.
 */
static void pep_again_schedule(struct pep_net *pn)
{
	ktime_t first = KTIME_MAX;
	struct pep_again *again;
	unsigned int nth;
	s64 wait;

	for (nth = 0; nth < PEP_AGAIN_TIMES; nth++) {
		again = pep_again_first(pn, nth);
		if (again)
			first = min(first, pep_again_at(again, nth));
	}
	if (first == KTIME_MAX)
		return;
	wait = max_t(s64, 0, ktime_sub(first, ktime_get()));
	/* It may wait for a later repetition. */
	cancel_delayed_work(&pn->again_work);
	schedule_delayed_work(&pn->again_work, nsecs_to_jiffies(wait) + 1);
}

/* Send the reset with another number; not without memory. */
static void pep_again_send(struct pep_net *pn, const struct pep_again *again, u32 seq)
{
	struct sk_buff *skb = skb_copy(again->skb, GFP_KERNEL);
	__be32 number = htonl(seq);
	struct tcphdr *th;

	if (!skb)
		return;
	th = tcp_hdr(skb);
	inet_proto_csum_replace4(&th->check, skb, th->seq, number, false);
	th->seq = number;
	pep_scope_send(pn->net, skb);
}

/* Repeat a reset for the nth time, and have it wait for the next one. */
static void pep_again_repeat(struct pep_net *pn, struct pep_again *again, unsigned int nth)
{
	unsigned int i;

	switch (nth) {
	case 0:
		pep_again_send(pn, again, ntohl(tcp_hdr(again->skb)->seq));
		break;
	case 1:
		pep_again_send(pn, again, again->seq[0]);
		break;
	default:
		for (i = 1; i < again->count; i++) {
			pep_again_send(pn, again, again->seq[i]);
			cond_resched();
		}
	}
	spin_lock_bh(&pn->again_lock);
	if (++nth < PEP_AGAIN_TIMES) {
		list_add_tail(&again->node, &pn->again[nth]);
		again = NULL;
	} else {
		WRITE_ONCE(pn->nagain, pn->nagain - 1);
	}
	spin_unlock_bh(&pn->again_lock);
	if (again)
		pep_again_free(again);
}

static void pep_again_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, again_work);
	struct pep_again *again;
	unsigned int nth;

	for (nth = 0; nth < PEP_AGAIN_TIMES; nth++) {
		while ((again = pep_again_due(pn, nth))) {
			pep_again_repeat(pn, again, nth);
			cond_resched();
		}
	}
	spin_lock_bh(&pn->again_lock);
	pep_again_schedule(pn);
	spin_unlock_bh(&pn->again_lock);
}

/**
 * pep_again_init() - prepare the repetition of resets
 * @pn: new instance
 */
void pep_again_init(struct pep_net *pn)
{
	unsigned int nth;

	spin_lock_init(&pn->again_lock);
	for (nth = 0; nth < PEP_AGAIN_TIMES; nth++)
		INIT_LIST_HEAD(&pn->again[nth]);
	INIT_DELAYED_WORK(&pn->again_work, pep_again_work);
}

/**
 * pep_again_stop() - drop the resets that still wait
 * @pn: instance without flows
 *
 * When the module goes and the namespace stays, this first waits until all are
 * repeated, for PEP_AGAIN_LINGER at most.
 *
 * Context: may sleep.
 */
void pep_again_stop(struct pep_net *pn)
{
	unsigned long until = jiffies + PEP_AGAIN_LINGER;
	struct pep_again *again, *next;
	unsigned int nth;

	while (check_net(pn->net) && READ_ONCE(pn->nagain) &&
	       time_before(jiffies, until))
		schedule_timeout_uninterruptible(HZ / 50);
	cancel_delayed_work_sync(&pn->again_work);
	for (nth = 0; nth < PEP_AGAIN_TIMES; nth++)
		list_for_each_entry_safe(again, next, &pn->again[nth], node)
			pep_again_free(again);
}

/* Note where the pieces of a packet in flight begin, from the second number on. */
static void pep_again_note(struct pep_again *again, const struct sk_buff *skb,
			   unsigned int most)
{
	u32 seq = TCP_SKB_CB(skb)->seq, end = TCP_SKB_CB(skb)->end_seq;
	u32 piece = tcp_skb_mss(skb) ?: end - seq;

	if (TCP_SKB_CB(skb)->sacked & TCPCB_SACKED_ACKED)
		return;
	for (; before(seq, end) && again->count < most; seq += piece) {
		if (!after(seq, again->seq[0]))
			continue;
		again->count++;
		again->seq[again->count - 1] = seq;
	}
}

/**
 * pep_again_alloc() - note the numbers of the repetitions of a leg's reset
 * @sk: locked leg, before it is closed
 *
 * Context: any.
 * Return: for pep_again_keep() or kfree(); NULL without memory.
 */
struct pep_again *pep_again_alloc(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	unsigned int most = min(tp->packets_out + 1, PEP_AGAIN_NUMBERS);
	struct pep_again *again;
	struct sk_buff *skb;

	again = kmalloc(struct_size(again, seq, most), GFP_ATOMIC);
	if (!again)
		return NULL;
	again->skb = NULL;
	again->count = 1;
	again->seq[0] = tp->snd_una;
	for (skb = tcp_rtx_queue_head(sk); skb && again->count < most;
	     skb = skb_rb_next(skb))
		pep_again_note(again, skb, most);
	return again;
}

/**
 * pep_again_keep() - schedule the repetitions of a reset
 * @pn: instance
 * @skb: packet of a leg, with its headers and its route, which goes out now
 * @again: numbers of its repetitions, consumed; NULL for no repetition
 *
 * A reset is not repeated without memory, nor beyond about PEP_AGAIN_MOST that wait.
 *
 * Context: any but hard interrupts, RCU read side when the route has no reference.
 */
void pep_again_keep(struct pep_net *pn, const struct sk_buff *skb,
		    struct pep_again *again)
{
	struct sk_buff *copy;

	if (!again)
		return;
	if (READ_ONCE(pn->nagain) >= PEP_AGAIN_MOST) {
		pep_again_free(again);
		return;
	}
	copy = skb_copy(skb, GFP_ATOMIC);
	again->skb = copy;
	/* The route may be the socket's, without a reference. */
	if (!copy || !skb_dst_force(copy)) {
		pep_again_free(again);
		return;
	}
	/* Only the route has a reference to its device. */
	copy->dev = NULL;
	again->sent = ktime_get();
	spin_lock_bh(&pn->again_lock);
	WRITE_ONCE(pn->nagain, pn->nagain + 1);
	list_add_tail(&again->node, &pn->again[0]);
	/* The work runs early enough for those behind the first one. */
	if (list_is_singular(&pn->again[0]))
		pep_again_schedule(pn);
	spin_unlock_bh(&pn->again_lock);
}
