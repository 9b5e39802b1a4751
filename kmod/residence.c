// SPDX-License-Identifier: GPL-2.0
/*
 * How long payload stays: samples, one at a time and direction, at most one a
 * jiffy. A sample follows the last byte that a run of the relay finds received,
 * from then until TCP hands it to the network the first time; TCP notes that
 * time in the packet, which is kept until it is acknowledged. A byte that is
 * acknowledged before the relay looks was sent at least one round trip
 * earlier.
 */

#include "residence.h"

#include <kunit/visibility.h>
#include <linux/export.h>
#include <net/tcp.h>

#include "flow.h"
#include "stat.h"
#include "trace.h"

/**
 * pep_residence_bucket() - find the bucket of a time
 * @ns: time, ns
 *
 * Return: index into pep_residence.count.
 */
unsigned int pep_residence_bucket(u64 ns)
{
	return min_t(unsigned int, fls64(div_u64(ns, NSEC_PER_USEC)),
		     PEP_RESIDENCE_BUCKETS - 1);
}
EXPORT_SYMBOL_IF_KUNIT(pep_residence_bucket);

/* The packet with a byte that was sent and is not acknowledged, or NULL. */
static const struct sk_buff *pep_residence_packet(const struct sock *sk,
						  u32 seq)
{
	const struct rb_node *p = sk->tcp_rtx_queue.rb_node;

	while (p) {
		const struct sk_buff *skb = rb_to_skb(p);

		if (before(seq, TCP_SKB_CB(skb)->seq))
			p = p->rb_left;
		else if (!before(seq, TCP_SKB_CB(skb)->end_seq))
			p = p->rb_right;
		else
			return skb;
	}
	return NULL;
}

/* When a byte was first sent, ns of tcp_clock_ns(); 0 when unknown. */
static u64 pep_residence_sent(const struct sock *sk, u32 seq)
{
	const struct sk_buff *skb = pep_residence_packet(sk, seq);

	/* Acknowledged: it left a round trip ago or more. */
	if (!skb)
		return tcp_clock_ns() -
		       (u64)tcp_min_rtt(tcp_sk(sk)) * NSEC_PER_USEC;
	/* A repeated packet has the time of its latest transmission. */
	return TCP_SKB_CB(skb)->sacked & TCPCB_RETRANS ? 0 : skb->skb_mstamp_ns;
}

/**
 * pep_residence_begin() - begin a sample when it is time for one
 * @flow: flow with its legs locked, before it is relayed
 * @from: side that the payload comes from, enum pep_side
 *
 * Context: softirq.
 */
void pep_residence_begin(struct pep_flow *flow, enum pep_side from)
{
	const struct tcp_sock *in = tcp_sk(flow->leg[from].sk);
	const struct tcp_sock *out = tcp_sk(flow->leg[!from].sk);
	struct pep_residence *r = &flow->leg[!from].residence;
	u32 unread = in->rcv_nxt - in->copied_seq;

	if (r->armed || r->again == (u32)jiffies)
		return;
	/* A FIN has a sequence number, too. */
	if (unread && sock_flag(flow->leg[from].sk, SOCK_DONE))
		unread--;
	if (!unread)
		return;
	r->armed = true;
	r->again = (u32)jiffies;
	r->seq = out->write_seq + unread;
	r->since = tcp_clock_ns();
}

/**
 * pep_residence_end() - end the sample under way when its byte has been sent
 * @flow: flow with its legs locked, after it was relayed
 * @from: side that the payload comes from, enum pep_side
 *
 * Context: softirq.
 */
void pep_residence_end(struct pep_flow *flow, enum pep_side from)
{
	struct pep_leg *leg = &flow->leg[!from];
	struct pep_residence *r = &leg->residence;
	unsigned int bucket;
	u64 sent, ns;

	if (!r->armed)
		return;
	if (before(tcp_sk(leg->sk)->snd_nxt, r->seq)) {
		/* Let the next ACK schedule the flow: it releases the byte. */
		set_bit(SOCK_NOSPACE, &leg->sk->sk_socket->flags);
		return;
	}
	r->armed = false;
	sent = pep_residence_sent(leg->sk, r->seq - 1);
	if (!sent)
		return;
	ns = max_t(s64, sent - r->since, 0);
	trace_pep_residence(flow, !from, ns);
	bucket = pep_residence_bucket(ns);
	WRITE_ONCE(r->count[bucket], r->count[bucket] + 1);
	pep_stat_inc(flow->pn, pep_stat_residence(!from, bucket));
	pep_stat_add(flow->pn, PEP_STAT_RESIDENCE_SUM + !from, ns);
}
