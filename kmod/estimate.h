/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_ESTIMATE_H
#define _PEP_ESTIMATE_H

#include <net/tcp.h>

/* Rates are in packets per microsecond, times this; gains in 256ths. */
#define PEP_BBR_BW_SHIFT	24
#define PEP_BBR_UNIT		256

/* Least packets under way. */
#define PEP_BBR_LEAST		4U

#define PEP_BBR_NONE		U32_MAX

enum pep_bbr_phase {
	PEP_BBR_STARTUP,
	PEP_BBR_DRAIN,
	PEP_BBR_DOWN,
	PEP_BBR_CRUISE,
	PEP_BBR_REFILL,
	PEP_BBR_UP,
	PEP_BBR_PROBE_RTT,
};

/**
 * struct pep_bbr - estimates and state of a flow, in its socket
 * @min_rtt: smallest round trip, us
 * @min_rtt_stamp: time of the latest sample that equals it or is near it, jiffies
 * @probe_done: when probe_rtt may end, jiffies; 0: the pipe has not drained yet
 * @round_end: tp->delivered at which the round trip ends
 * @round_begin: tp->delivered at which it began
 * @round_lost: tp->lost at its beginning
 * @round_ce: tp->delivered_ce at its beginning
 * @bw: highest delivery rate of the cycle before and of this one
 * @bw_latest: highest delivery rate of this round
 * @bw_lo: rate that congestion has left until the next refill, or PEP_BBR_NONE
 * @full_bw: rate that startup has to exceed by a quarter to go on, or the rate when
 *	up began
 * @full_inflight: most packets delivered in a sample of the round that exceeded it
 * @full_round: most packets delivered in a sample of the round before
 * @phase_us: when the phase began, low bits of tp->tcp_mstamp
 * @wait_us: duration of cruise
 * @inflight_latest: most packets delivered in a sample of this round
 * @inflight_lo: packets under way that congestion has left until the next refill
 * @inflight_hi: packets under way with which the queue has not overflowed
 * @prior_cwnd: window before probe_rtt or a timeout
 * @epoch_us: start of the count of acknowledgments, low bits of tp->tcp_mstamp
 * @epoch_acked: packets acknowledged since @epoch_us
 * @extra: most packets by which acknowledgments were ahead of bw, last cycle and
 *	this one
 * @queue_lost: packets lost in this round while the queue was long
 * @loss_base: share of packets that get lost without a queue, 1/65536
 * @phase: enum pep_bbr_phase
 * @rounds: rounds of the phase
 * @full_count: rounds without growth
 * @full: startup has found the path full
 * @probed: acknowledgments are for packets that up has sent
 * @loaded: up has filled the path
 * @standing: every sample of this round had a queue
 * @stood: every sample of the round before had one
 * @cut: the flow has responded to congestion in this round
 * @ce_cut: it has responded to marks, which the receiver repeats for a round trip
 * @ca_state: congestion state at the last acknowledgment
 * @round_start: this acknowledgment begins a round
 */
struct pep_bbr {
	u32 min_rtt;
	u32 min_rtt_stamp;
	u32 probe_done;
	u32 round_end;
	u32 round_begin;
	u32 round_lost;
	u32 round_ce;
	u32 bw[2];
	u32 bw_latest;
	u32 bw_lo;
	u32 full_bw;
	u32 full_inflight;
	u32 full_round;
	u32 phase_us;
	u32 wait_us;
	u32 inflight_latest;
	u32 inflight_lo;
	u32 inflight_hi;
	u32 prior_cwnd;
	u32 epoch_us;
	u32 epoch_acked;
	u16 extra[2];
	u16 queue_lost;
	u16 loss_base;
	u32 phase:3,
	    rounds:5,
	    full_count:2,
	    full:1,
	    probed:1,
	    loaded:1,
	    standing:1,
	    stood:1,
	    cut:1,
	    ce_cut:2,
	    ca_state:3,
	    round_start:1;
};

static inline struct pep_bbr *pep_estimate_of(const struct sock *sk)
{
	return (struct pep_bbr *)inet_csk_ca(sk);
}

/* The highest rate that the path has delivered lately. */
static inline u32 pep_estimate_max_bw(const struct pep_bbr *b)
{
	return max(b->bw[0], b->bw[1]);
}

/* The part of that rate that congestion leaves. */
static inline u32 pep_estimate_bw(const struct pep_bbr *b)
{
	return min(pep_estimate_max_bw(b), b->bw_lo);
}

/* Microseconds since a time of which only the low bits are kept. */
static inline u32 pep_estimate_elapsed(const struct sock *sk, u32 since)
{
	return (u32)tcp_sk(sk)->tcp_mstamp - since;
}

unsigned long pep_estimate_rate(const struct sock *sk, u32 bw, u32 gain);
u32 pep_estimate_bdp(const struct pep_bbr *b, u32 bw, u32 gain);
u32 pep_estimate_slack(const struct sock *sk, u32 share);
void pep_estimate_sample(struct sock *sk, const struct rate_sample *rs);
bool pep_estimate_overflows(struct sock *sk, const struct rate_sample *rs);
bool pep_estimate_marked(struct sock *sk, const struct rate_sample *rs);

#endif
