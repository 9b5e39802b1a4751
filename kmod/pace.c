// SPDX-License-Identifier: GPL-2.0
/*
 * The pacing rate and the window of a flow of pep_bbr, by its phase and by the estimates
 * of its path.
 *
 * Everything runs in the socket's congestion control, with the socket locked.
 */

#include "pace.h"

/* Maximum loss that pacing makes up for, in 1,024ths. */
#define PEP_PACE_LOSS	64U

/* Packets lost in a round that mean a full queue; fewer are lost by chance. */
#define PEP_PACE_BURST		3

/* Without a round trip near the smallest one for that long, jiffies, the queue
 * belongs to other flows, and down leaves them more of the path.
 */
#define PEP_PACE_SHARED		(HZ * 3 / 2)
#define PEP_PACE_DOWN_SHARED	192

/* Gains of pacing and of the window, by phase. */
static const u16 pep_pace_gains[][2] = {
	[PEP_BBR_STARTUP] = { 709, 614 },
	[PEP_BBR_DRAIN] = { 128, 512 },
	[PEP_BBR_DOWN] = { 218, 512 },
	[PEP_BBR_CRUISE] = { 256, 512 },
	[PEP_BBR_REFILL] = { 259, 512 },
	[PEP_BBR_UP] = { 320, 576 },
	[PEP_BBR_PROBE_RTT] = { 256, 256 },
};

/**
 * pep_pace_info() - report the gains of the present phase
 * @b: state of a flow
 * @info: receives the gains, in 256ths
 */
void pep_pace_info(const struct pep_bbr *b, struct tcp_bbr_info *info)
{
	info->bbr_pacing_gain = pep_pace_gains[b->phase][0];
	info->bbr_cwnd_gain = pep_pace_gains[b->phase][1];
}

/**
 * pep_pace_min_tso_segs() - least number of segments that leave together
 * @sk: socket, locked
 *
 * Return: one below 1.2 Mbit/s, else two.
 */
u32 pep_pace_min_tso_segs(struct sock *sk)
{
	return sk->sk_pacing_rate < 150000 ? 1 : 2;
}

/* Packets beyond the BDP, which leave and are acknowledged in bursts: three bursts
 * of a millisecond, in startup at the rate that may have been set for it.
 */
static u32 pep_pace_budget(struct sock *sk, u32 bw)
{
	unsigned long rate = pep_estimate_of(sk)->full ?
			     pep_estimate_rate(sk, bw, PEP_BBR_UNIT) :
			     READ_ONCE(sk->sk_pacing_rate);
	u32 bytes = min_t(unsigned long, rate >> READ_ONCE(sk->sk_pacing_shift),
			  GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER);

	return 3 * max(bytes / tcp_sk(sk)->mss_cache,
		       pep_pace_min_tso_segs(sk));
}

/* Has no cycle emptied the queue lately? Then it belongs to other flows. */
static bool pep_pace_shared(const struct pep_bbr *b)
{
	return after(tcp_jiffies32, b->min_rtt_stamp + PEP_PACE_SHARED);
}

static u32 pep_pace_gain(const struct pep_bbr *b)
{
	if (b->phase == PEP_BBR_DOWN && pep_pace_shared(b))
		return PEP_PACE_DOWN_SHARED;
	return pep_pace_gains[b->phase][0];
}

/* A window in a round trip, before there is a sample; in a ms before that. */
static u32 pep_pace_first_bw(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt = tp->srtt_us ? max(tp->srtt_us >> 3, 1U) : USEC_PER_MSEC;

	return min_t(u64, div_u64((u64)tcp_snd_cwnd(tp) << PEP_BBR_BW_SHIFT,
				  rtt), PEP_BBR_NONE - 1);
}

/**
 * pep_pace_begin() - pace before there is a rate
 * @sk: socket, locked
 *
 * The rate is the window in a round trip, times the gain of startup.
 */
void pep_pace_begin(struct sock *sk)
{
	WRITE_ONCE(sk->sk_pacing_rate,
		   pep_estimate_rate(sk, pep_pace_first_bw(sk),
				     pep_pace_gains[PEP_BBR_STARTUP][0]));
}

/**
 * pep_pace_set_rate() - set the pacing rate
 * @sk: socket, locked
 *
 * In startup the rate only rises.
 */
void pep_pace_set_rate(struct sock *sk)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u32 gain = pep_pace_gain(b);
	unsigned long rate;
	u32 bw = pep_estimate_bw(b) ?: pep_pace_first_bw(sk);

	gain += gain * min_t(u32, b->loss_base >> 6, PEP_PACE_LOSS) / 1024;
	rate = pep_estimate_rate(sk, bw, gain);
	if (b->full || rate > READ_ONCE(sk->sk_pacing_rate))
		WRITE_ONCE(sk->sk_pacing_rate, rate);
}

/* Bound a window by congestion: in the long term not below the BDP, which causes no
 * queue.
 */
static u32 pep_pace_bound(struct sock *sk, u32 cwnd, u32 more)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u32 most = b->inflight_hi;

	if (most != PEP_BBR_NONE) {
		if (b->phase != PEP_BBR_UP && b->phase != PEP_BBR_REFILL)
			most -= most / 8;
		most = max(most, pep_estimate_bdp(b, pep_estimate_max_bw(b),
						  PEP_BBR_UNIT)) + more;
	}
	return max(min3(cwnd, most, b->inflight_lo), PEP_BBR_LEAST);
}

/**
 * pep_pace_set_window() - set the congestion window
 * @sk: socket, locked
 * @rs: TCP's sample
 *
 * In startup a window that is larger already stays.
 */
void pep_pace_set_window(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pep_bbr *b = pep_estimate_of(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	u32 more, target, cwnd = tcp_snd_cwnd(tp);
	u32 bw = pep_estimate_bw(b);

	/* A probe of the round trip has a window of its own, and restores it later. */
	if (b->ca_state == TCP_CA_Loss && state != TCP_CA_Loss &&
	    b->phase != PEP_BBR_PROBE_RTT) {
		cwnd = max(cwnd, b->prior_cwnd);
		b->prior_cwnd = 0;
	}
	b->ca_state = state;
	more = pep_pace_budget(sk, bw);
	if (b->full)
		more += max(b->extra[0], b->extra[1]);
	target = pep_estimate_bdp(b, bw, pep_pace_gains[b->phase][1]);
	if (!b->full)
		target = max(target, 2 * b->full_inflight);
	target += more;
	if (b->full) {
		cwnd = min(cwnd + rs->acked_sacked, target);
		cwnd = pep_pace_bound(sk, cwnd, more);
	} else if (rs->losses > 0 && b->queue_lost >= PEP_PACE_BURST) {
		/* Losses of a full queue make no room for more. */
		cwnd = min(cwnd, tcp_packets_in_flight(tp) + rs->acked_sacked);
	} else if (cwnd < target || tp->delivered < TCP_INIT_CWND) {
		cwnd += rs->acked_sacked;
	}
	tcp_snd_cwnd_set(tp, min(max(cwnd, PEP_BBR_LEAST), tp->snd_cwnd_clamp));
}
