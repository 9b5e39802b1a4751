// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of legs are sent three times.
 *
 * TCP sends a reset once, and another one in answer to a packet from the end that it
 * resets. An end that only waits sends nothing: where the link has lost the reset, it
 * waits for ever. An end that has lost payload before the reset sends a challenge ACK,
 * see memo.c; but TCP sends at most one ACK in half a second for packets that do not fit
 * (tcp_invalid_ratelimit), and the link may lose it. The first repetition is the same as
 * the reset; the second one has the number that the end has acknowledged, which is the
 * one that the end expects where payload is missing.
 *
 * The leg is closed by then and has forgotten its addresses, so the hook of untrack.c
 * copies the packet on its way out. In a kernel without conntrack, which has no such
 * hook, unsent.c sends each reset once more and has that repeated. skb->tstamp is the
 * time when a copy is due.
 */

#include "again.h"

#include <linux/if_ether.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "scope.h"

/* Milliseconds from a reset to its repetitions: a namespace that is removed waits
 * longer, see PEP_INSTANCE_LINGER.
 */
static const unsigned int pep_again_after[PEP_AGAIN_TIMES] = { 50, 170 };

/* Time for which the module waits for them when it goes: longer than the last. */
#define PEP_AGAIN_LINGER	(HZ / 4)

/* Resets of a namespace that may wait for each repetition. */
#define PEP_AGAIN_MOST		4096

/* Send the resets that are due; true when more wait, the first one until @next. */
static bool pep_again_run(struct pep_net *pn, ktime_t *next)
{
	struct sk_buff *skb;
	bool more = false;
	unsigned int time;

	/* No other code takes packets out. */
	for (time = 0; time < PEP_AGAIN_TIMES; time++) {
		while ((skb = skb_peek(&pn->again[time])) &&
		       ktime_compare(skb->tstamp, ktime_get()) <= 0) {
			skb_unlink(skb, &pn->again[time]);
			skb->tstamp = 0;
			pep_scope_send(pn->net, skb);
			cond_resched();
		}
		if (!skb)
			continue;
		if (!more || ktime_before(skb->tstamp, *next))
			*next = skb->tstamp;
		more = true;
	}
	return more;
}

static void pep_again_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, again_work);
	ktime_t next;
	s64 wait;

	if (!pep_again_run(pn, &next))
		return;
	wait = max_t(s64, 0, ktime_sub(next, ktime_get()));
	schedule_delayed_work(&pn->again_work, nsecs_to_jiffies(wait) + 1);
}

/**
 * pep_again_init() - prepare the repetition of resets
 * @pn: new instance
 */
void pep_again_init(struct pep_net *pn)
{
	unsigned int time;

	for (time = 0; time < PEP_AGAIN_TIMES; time++)
		skb_queue_head_init(&pn->again[time]);
	INIT_DELAYED_WORK(&pn->again_work, pep_again_work);
}

/* Does a reset wait for its last repetition? */
static bool pep_again_waits(const struct pep_net *pn)
{
	return !skb_queue_empty_lockless(&pn->again[PEP_AGAIN_TIMES - 1]);
}

/**
 * pep_again_stop() - drop the resets that still wait
 * @pn: instance without flows
 *
 * When the module goes and the namespace stays, all are repeated before.
 *
 * Context: may sleep.
 */
void pep_again_stop(struct pep_net *pn)
{
	unsigned long until = jiffies + PEP_AGAIN_LINGER;
	unsigned int time;

	while (check_net(pn->net) && pep_again_waits(pn) &&
	       time_before(jiffies, until))
		schedule_timeout_uninterruptible(HZ / 50);
	cancel_delayed_work_sync(&pn->again_work);
	for (time = 0; time < PEP_AGAIN_TIMES; time++)
		skb_queue_purge(&pn->again[time]);
}

/* Queue a copy of a reset with a sequence number for one repetition. */
static void pep_again_copy(struct pep_net *pn, const struct sk_buff *skb,
			   unsigned int time, __be32 seq)
{
	struct sk_buff *copy;
	struct tcphdr *th;

	if (skb_queue_len_lockless(&pn->again[time]) >= PEP_AGAIN_MOST)
		return;
	copy = skb_copy(skb, GFP_ATOMIC);
	if (!copy)
		return;
	/* The route may be the socket's, without a reference. */
	if (!skb_dst_force(copy)) {
		kfree_skb(copy);
		return;
	}
	/* Only the route has a reference to its device. */
	copy->dev = NULL;
	th = tcp_hdr(copy);
	inet_proto_csum_replace4(&th->check, copy, th->seq, seq, false);
	th->seq = seq;
	copy->tstamp = ktime_add_ms(ktime_get(), pep_again_after[time]);
	skb_queue_tail(&pn->again[time], copy);
}

/**
 * pep_again_keep() - schedule the two repetitions of a reset
 * @pn: instance
 * @skb: packet of a leg, with its headers and its route, which goes out now
 * @una: the first number that the end has not acknowledged
 *
 * A reset is not repeated without memory, nor beyond PEP_AGAIN_MOST packets.
 *
 * Context: BH off, from the LOCAL_OUT hook.
 */
void pep_again_keep(struct pep_net *pn, const struct sk_buff *skb, u32 una)
{
	pep_again_copy(pn, skb, 0, tcp_hdr(skb)->seq);
	pep_again_copy(pn, skb, 1, htonl(una));
	schedule_delayed_work(&pn->again_work,
			      msecs_to_jiffies(pep_again_after[0]) + 1);
}
