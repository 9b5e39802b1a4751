// SPDX-License-Identifier: GPL-2.0
/*
 * The estimates that a flow of pep_bbr has of its path: how much it delivers, how
 * long a round trip takes, how much it loses without a queue, and whether a queue
 * overflows.
 *
 * Everything runs in the socket's congestion control, with the socket locked.
 */

#include "estimate.h"

/* Margin by which pacing stays below bw, in per cent. */
#define PEP_BBR_MARGIN		1

/* Least losses in a round that count, and their least share, in 1/1024; only a
 * larger share ends startup, which would be slow to undo.
 */
#define PEP_BBR_LOSS_MIN	6U
#define PEP_BBR_LOSS_SHARE	20U
#define PEP_BBR_LOSS_STARTUP	64U
#define PEP_BBR_LOSS_POLICED	128U

/* A round trip up to this much longer counts as one without a queue, us. */
#define PEP_BBR_RTT_SLACK	2000U

/* Most time that bursts of acknowledgments may add to the window, us. */
#define PEP_BBR_EXTRA_US	(100 * USEC_PER_MSEC)

/**
 * pep_estimate_rate() - compute the pacing rate for a multiple of the path's rate
 * @sk: socket, locked
 * @bw: packets per microsecond, shifted by PEP_BBR_BW_SHIFT
 * @gain: multiple, in 256ths
 *
 * Return: bytes per second, a per cent less than the multiple, and no more than
 * sk_max_pacing_rate.
 */
unsigned long pep_estimate_rate(const struct sock *sk, u32 bw, u32 gain)
{
	u64 rate = (u64)bw * tcp_sk(sk)->mss_cache;

	rate = (rate * gain / PEP_BBR_UNIT) >> 8;
	rate = (rate * (USEC_PER_SEC / 100 * (100 - PEP_BBR_MARGIN))) >>
	       (PEP_BBR_BW_SHIFT - 8);
	return min_t(u64, rate, sk->sk_max_pacing_rate);
}

/**
 * pep_estimate_bdp() - compute the packets that a path holds without a queue
 * @b: estimates of the path
 * @bw: packets per microsecond, shifted by PEP_BBR_BW_SHIFT
 * @gain: multiple, in 256ths
 *
 * Return: packets, an initial window as long as no round trip is known.
 */
u32 pep_estimate_bdp(const struct pep_bbr *b, u32 bw, u32 gain)
{
	u64 packets;

	if (b->min_rtt == PEP_BBR_NONE)
		return TCP_INIT_CWND;
	packets = (((u64)bw * b->min_rtt) >> 8) * gain / PEP_BBR_UNIT;
	return max_t(u64, (packets >> (PEP_BBR_BW_SHIFT - 8)) + 1,
		     PEP_BBR_LEAST);
}

/**
 * pep_estimate_slack() - compute how much a round trip without a queue may vary
 * @sk: socket, locked
 * @share: divisor of the smallest round trip, for the least slack
 *
 * On a path with jitter it is the variation of the round trips.
 *
 * Return: microseconds.
 */
u32 pep_estimate_slack(const struct sock *sk, u32 share)
{
	return max3(pep_estimate_of(sk)->min_rtt / share, PEP_BBR_RTT_SLACK,
		    tcp_sk(sk)->mdev_us >> 2);
}

/* Was there a queue when a packet with this round trip passed? */
static bool pep_estimate_queued(const struct sock *sk, long rtt)
{
	const struct pep_bbr *b = pep_estimate_of(sk);

	return rtt > 0 && b->min_rtt != PEP_BBR_NONE &&
	       rtt > b->min_rtt + pep_estimate_slack(sk, 8);
}

/* Update the path's loss without a queue, at the end of a round. */
static void pep_estimate_losses(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct pep_bbr *b = pep_estimate_of(sk);
	u32 lost = tp->lost - b->round_lost;
	u32 all = tp->delivered - b->round_begin + lost;
	int share;

	if (b->queue_lost || b->cut || !all)
		return;
	share = min_t(u64, div_u64((u64)lost << 16, all), U16_MAX);
	b->loss_base += (share - b->loss_base) / 8;
}

/* Measure by how much acknowledgments are ahead of bw. */
static void pep_estimate_aggregation(struct sock *sk, const struct rate_sample *rs)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u32 expected, extra, bw = pep_estimate_bw(b);

	if (!rs->acked_sacked || rs->delivered < 0 || rs->interval_us <= 0)
		return;
	expected = ((u64)bw * pep_estimate_elapsed(sk, b->epoch_us)) >>
		   PEP_BBR_BW_SHIFT;
	if (b->epoch_acked <= expected || b->epoch_acked >= 1 << 20) {
		b->epoch_acked = 0;
		b->epoch_us = tcp_sk(sk)->tcp_mstamp;
		expected = 0;
	}
	b->epoch_acked += rs->acked_sacked;
	extra = min(b->epoch_acked - expected, tcp_snd_cwnd(tcp_sk(sk)));
	extra = min_t(u64, extra, ((u64)bw * PEP_BBR_EXTRA_US) >>
		      PEP_BBR_BW_SHIFT);
	b->extra[1] = max_t(u32, b->extra[1], min_t(u32, extra, U16_MAX));
}

/* A round begins: evaluate the counts of the last one and reset them. */
static void pep_estimate_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct pep_bbr *b = pep_estimate_of(sk);

	pep_estimate_losses(sk);
	b->round_begin = tp->delivered;
	b->round_end = tp->delivered;
	b->round_lost = tp->lost;
	b->round_ce = tp->delivered_ce;
	b->queue_lost = 0;
	b->stood = b->standing;
	b->standing = 1;
	b->cut = 0;
	b->ce_cut -= !!b->ce_cut;
	b->full_round = b->inflight_latest;
	b->bw_latest = 0;
	b->inflight_latest = 0;
	b->rounds += b->rounds < 31;
	b->round_start = 1;
}

/**
 * pep_estimate_sample() - update the estimates from an acknowledgment
 * @sk: socket, locked
 * @rs: TCP's sample
 *
 * Sets round_start of struct pep_bbr where a round trip begins.
 */
void pep_estimate_sample(struct sock *sk, const struct rate_sample *rs)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u64 bw;

	b->round_start = 0;
	if (rs->delivered < 0 || rs->interval_us <= 0)
		return;
	if (!before(rs->prior_delivered, b->round_end))
		pep_estimate_round(sk);
	b->standing &= rs->rtt_us <= 0 || pep_estimate_queued(sk, rs->rtt_us);
	bw = div64_long((u64)rs->delivered << PEP_BBR_BW_SHIFT,
			rs->interval_us);
	bw = min_t(u64, bw, PEP_BBR_NONE - 1);
	b->bw_latest = max_t(u32, b->bw_latest, bw);
	b->inflight_latest = max_t(u32, b->inflight_latest, rs->delivered);
	if (!rs->is_app_limited || bw >= pep_estimate_max_bw(b))
		b->bw[1] = max_t(u32, b->bw[1], bw);
	if (rs->losses > 0 && pep_estimate_queued(sk, rs->rtt_us))
		b->queue_lost = min_t(u32, b->queue_lost + rs->losses, U16_MAX);
	pep_estimate_aggregation(sk, rs);
}

/**
 * pep_estimate_overflows() - is there a queue that overflows, or a policer?
 * @sk: socket, locked
 * @rs: TCP's sample
 *
 * Return: yes, once in a round.
 */
bool pep_estimate_overflows(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct pep_bbr *b = pep_estimate_of(sk);
	u32 share = PEP_BBR_LOSS_SHARE + (b->loss_base >> 5);
	u32 lost = tp->lost - b->round_lost;
	u32 all;

	if (rs->losses <= 0 || b->cut || lost < PEP_BBR_LOSS_MIN)
		return false;
	all = max(rs->prior_in_flight, tp->delivered - b->round_begin + lost);
	if (lost > max(share, PEP_BBR_LOSS_POLICED) * all / 1024)
		return b->full || b->queue_lost >= lost / 2;
	if (!b->full)
		share = PEP_BBR_LOSS_STARTUP;
	return b->queue_lost >= PEP_BBR_LOSS_MIN &&
	       b->queue_lost > share * all / 1024;
}

/**
 * pep_estimate_marked() - has the path marked packets, ECN?
 * @sk: socket, locked
 * @rs: TCP's sample
 *
 * The share of marked packets does not matter, as classic ECN repeats a mark. A
 * mark without a queue does not end startup, which would be slow to undo.
 *
 * Return: yes, once in two rounds.
 */
bool pep_estimate_marked(struct sock *sk, const struct rate_sample *rs)
{
	const struct pep_bbr *b = pep_estimate_of(sk);

	return !b->cut && !b->ce_cut &&
	       tcp_sk(sk)->delivered_ce != b->round_ce &&
	       (b->full || pep_estimate_queued(sk, rs->rtt_us));
}
