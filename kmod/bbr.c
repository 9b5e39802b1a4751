// SPDX-License-Identifier: GPL-2.0
/*
 * pep_bbr: a congestion control for the leg of a subscriber behind a radio.
 *
 * The model, the phases and their names are those of BBR version 3 in the IETF's
 * draft, draft-ietf-ccwg-bbr. A sender measures the most that the path delivers
 * (bw) and its smallest round trip (min_rtt). It paces at bw and keeps about the
 * product of both, the BDP, under way:
 *
 * startup	the rate doubles in each round trip, until three in a row
 *		deliver less than a quarter more
 * drain	the queue that startup has made empties
 * down		less than bw, until a little less than the BDP is under way
 * cruise	bw, for some round trips
 * refill	bw without the bounds of congestion, for a round trip
 * up		1.25 bw: does the path deliver more by now?
 * probe_rtt	four packets under way, to see the round trip without a queue
 *
 * It departs from the draft where a radio differs from a wire:
 *
 * A loss counts as congestion when the queue is found full. The draft takes
 * more than 2 % for congestion; a radio loses 3 % without any. A queue that
 * overflows has made the round trip longer for the packets around the lost one, so a
 * loss counts when the acknowledgment that reveals it has a longer round trip than
 * an empty queue gives (pep_estimate_queued()), and when these are more in a round trip
 * than 2 % plus twice the path's loss without a queue (loss_base).
 * Without a queue, a loss of more than an eighth counts after startup: the path is
 * policed.
 * No loss takes a flow below the BDP in the long term: less than
 * that makes no queue.
 *
 * Pacing makes up for random loss: only a share of the packets paced at bw arrives,
 * so the rate rises by the path's loss without a queue. Whether packets get lost
 * in front of the bottleneck or behind it, this does not overrun it: in the latter
 * case bw counts the packets that have arrived.
 *
 * A round trip that has been measured need not be probed. Each cycle's down ends
 * with a little less than the BDP under way, so that a minimum that includes a queue
 * gets smaller with each cycle. The flow enters probe_rtt only when no sample has
 * been near the minimum for ten seconds, as beside a flow that keeps the queue
 * full.
 *
 * Cycles take about ten round trips and three seconds at most, as the rate of a
 * radio changes; the draft waits for seconds to be polite to Reno's flows.
 *
 * As long as startup lasts, a window and a pacing rate that other code has made
 * larger stay as they are: resume.c, pep_leg_start().
 */

#include <linux/module.h>
#include <linux/random.h>
#include <net/tcp.h>

#include "pace.h"

/* Rounds in a row without a quarter of growth that end startup. */
#define PEP_BBR_FULL_ROUNDS	3

/* The share that congestion leaves, in 256ths: by loss, by ECN's marks (RFC 8511). */
#define PEP_BBR_BETA		180
#define PEP_BBR_BETA_ECN	218

/* Lifetime of the smallest round trip unless seen again, and its probe, jiffies. */
#define PEP_BBR_RTT_WINDOW	(10 * HZ)
#define PEP_BBR_RTT_PROBE	(HZ / 5)

/* Duration of cruise: least round trips, random extra ones; at most, us. */
#define PEP_BBR_CRUISE_MIN	4
#define PEP_BBR_CRUISE_MORE	4
#define PEP_BBR_CRUISE_MAX	(3 * USEC_PER_SEC)

/* Rounds after which up and down end in any case. */
#define PEP_BBR_UP_ROUNDS	4
#define PEP_BBR_DOWN_ROUNDS	4

/* And drain: where round trips are short, more packets may wait on this host for
 * good than the path holds.
 */
#define PEP_BBR_DRAIN_ROUNDS	8

static void pep_bbr_enter(struct sock *sk, unsigned int phase)
{
	struct pep_bbr *b = pep_estimate_of(sk);

	b->phase = phase;
	b->rounds = 0;
	b->phase_us = tcp_sk(sk)->tcp_mstamp;
}

static void pep_bbr_cruise(struct sock *sk)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u64 wait = (u64)b->min_rtt * (PEP_BBR_CRUISE_MIN +
				      get_random_u32_below(PEP_BBR_CRUISE_MORE));

	b->wait_us = min_t(u64, wait, PEP_BBR_CRUISE_MAX);
	pep_bbr_enter(sk, PEP_BBR_CRUISE);
}

/* Forget the bounds of congestion before the flow probes for more. */
static void pep_bbr_refill(struct sock *sk)
{
	struct pep_bbr *b = pep_estimate_of(sk);

	b->bw_lo = PEP_BBR_NONE;
	b->inflight_lo = PEP_BBR_NONE;
	b->extra[0] = b->extra[1];
	b->extra[1] = 0;
	pep_bbr_enter(sk, PEP_BBR_REFILL);
}

static void pep_bbr_up(struct sock *sk)
{
	struct pep_bbr *b = pep_estimate_of(sk);

	b->probed = 1;
	b->loaded = 0;
	b->full_bw = pep_estimate_max_bw(b);
	pep_bbr_enter(sk, PEP_BBR_UP);
}

static void pep_bbr_lower(struct sock *sk, u32 beta, bool by_loss)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u32 bw = pep_estimate_bw(b);
	u32 flight = b->inflight_lo == PEP_BBR_NONE ?
		     tcp_snd_cwnd(tcp_sk(sk)) : b->inflight_lo;

	b->bw_lo = (u64)bw * beta / PEP_BBR_UNIT;
	b->inflight_lo = max_t(u32, (u64)flight * beta / PEP_BBR_UNIT,
			       PEP_BBR_LEAST);
	if (by_loss) {
		b->bw_lo = max(b->bw_lo, b->bw_latest);
		b->inflight_lo = max(b->inflight_lo, b->inflight_latest);
	}
}

/* Respond to a queue that overflows, or marks packets. */
static void pep_bbr_congestion(struct sock *sk, const struct rate_sample *rs)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	bool marked = pep_estimate_marked(sk, rs);
	u32 bdp;

	if (!marked && !pep_estimate_overflows(sk, rs))
		return;
	bdp = pep_estimate_bdp(b, pep_estimate_max_bw(b), PEP_BBR_UNIT);
	b->cut = 1;
	if (marked)
		b->ce_cut = 2;
	if (b->phase == PEP_BBR_STARTUP) {
		b->full = 1;
		b->inflight_hi = max(bdp, b->inflight_latest);
	} else if (b->probed) {
		b->inflight_hi = max(bdp, b->inflight_latest);
		if (b->phase == PEP_BBR_UP)
			pep_bbr_enter(sk, PEP_BBR_DOWN);
	} else if (b->phase != PEP_BBR_PROBE_RTT) {
		pep_bbr_lower(sk, marked ? PEP_BBR_BETA_ECN : PEP_BBR_BETA,
			      !marked);
	}
}

/* Does the data under way reach this multiple of the BDP? */
static bool pep_bbr_loaded(const struct pep_bbr *b, const struct rate_sample *rs,
			   u32 gain)
{
	return rs->prior_in_flight >=
	       pep_estimate_bdp(b, pep_estimate_max_bw(b), gain);
}

/* Has the flow nothing to send, though it may? A packet that is sent again is not marked
 * as limited by that, see tcp_rate_check_app_limited().
 */
static bool pep_bbr_starved(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->app_limited ||
	       (tp->write_seq - tp->snd_nxt < tp->mss_cache &&
		tcp_packets_in_flight(tp) < tcp_snd_cwnd(tp));
}

static void pep_bbr_check_full(struct sock *sk, const struct rate_sample *rs)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u32 bw = pep_estimate_max_bw(b);

	/* A queue that lasts shows a full path, even if there is not always more to
	 * send, as where a send buffer is the limit.
	 */
	if (b->full || !b->round_start ||
	    ((rs->is_app_limited || pep_bbr_starved(sk)) &&
	     !(b->stood && pep_bbr_loaded(b, rs, PEP_BBR_UNIT * 9 / 8))))
		return;
	if (bw >= (u64)b->full_bw * 5 / 4) {
		b->full_bw = bw;
		b->full_inflight = b->full_round;
		b->full_count = 0;
		return;
	}
	b->full_count++;
	b->full = b->full_count >= PEP_BBR_FULL_ROUNDS;
}

/* Has up probed enough? It goes on as long as the path delivers more and
 * more.
 */
static bool pep_bbr_up_done(struct sock *sk, const struct rate_sample *rs)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u32 bw = pep_estimate_max_bw(b);

	if (!b->rounds || pep_estimate_elapsed(sk, b->phase_us) <= b->min_rtt)
		return false;
	if (pep_bbr_loaded(b, rs, PEP_BBR_UNIT * 5 / 4)) {
		b->loaded = b->stood;
		return true;
	}
	if (b->rounds < PEP_BBR_UP_ROUNDS)
		return false;
	if (bw < (u64)b->full_bw * 9 / 8)
		return true;
	b->full_bw = bw;
	b->rounds = 0;
	return false;
}

/* A window that a full queue has limited opens again as long as nothing is lost. */
static void pep_bbr_up_grow(struct sock *sk, const struct rate_sample *rs)
{
	struct pep_bbr *b = pep_estimate_of(sk);

	if (b->inflight_hi != PEP_BBR_NONE &&
	    rs->prior_in_flight + PEP_BBR_LEAST >= b->inflight_hi)
		b->inflight_hi += (rs->acked_sacked + 7) / 8;
}

/* Forget the rates of the cycle before the last one, unless this cycle had
 * nothing to send.
 */
static void pep_bbr_probe_seen(struct sock *sk)
{
	struct pep_bbr *b = pep_estimate_of(sk);

	b->probed = 0;
	if (!b->bw[1] || (pep_bbr_starved(sk) && !b->loaded))
		return;
	b->bw[0] = b->bw[1];
	b->bw[1] = 0;
}

static void pep_bbr_down(struct sock *sk)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u32 bdp;

	if (b->probed && b->rounds >= 1)
		pep_bbr_probe_seen(sk);
	bdp = pep_estimate_bdp(b, pep_estimate_max_bw(b),
			       PEP_BBR_UNIT * 31 / 32);
	if (!b->probed &&
	    (b->rounds >= PEP_BBR_DOWN_ROUNDS ||
	     tcp_packets_in_flight(tcp_sk(sk)) <= bdp))
		pep_bbr_cruise(sk);
}

/* Go on to the next phase when this one is over. */
static void pep_bbr_step(struct sock *sk, const struct rate_sample *rs)
{
	struct pep_bbr *b = pep_estimate_of(sk);

	switch (b->phase) {
	case PEP_BBR_STARTUP:
		pep_bbr_check_full(sk, rs);
		if (b->full)
			pep_bbr_enter(sk, PEP_BBR_DRAIN);
		break;
	case PEP_BBR_DRAIN:
		if (b->rounds >= PEP_BBR_DRAIN_ROUNDS ||
		    tcp_packets_in_flight(tcp_sk(sk)) <=
		    pep_estimate_bdp(b, pep_estimate_max_bw(b), PEP_BBR_UNIT))
			pep_bbr_cruise(sk);
		break;
	case PEP_BBR_DOWN:
		pep_bbr_down(sk);
		break;
	case PEP_BBR_CRUISE:
		if (pep_estimate_elapsed(sk, b->phase_us) >= b->wait_us)
			pep_bbr_refill(sk);
		break;
	case PEP_BBR_REFILL:
		if (b->rounds >= 1)
			pep_bbr_up(sk);
		break;
	case PEP_BBR_UP:
		pep_bbr_up_grow(sk, rs);
		if (pep_bbr_up_done(sk, rs))
			pep_bbr_enter(sk, PEP_BBR_DOWN);
		break;
	}
}

static void pep_bbr_probe_rtt(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pep_bbr *b = pep_estimate_of(sk);

	b->prior_cwnd = max(b->prior_cwnd, tcp_snd_cwnd(tp));
	b->probed = 0;
	b->inflight_lo = PEP_BBR_LEAST;
	b->probe_done = 0;
	pep_bbr_enter(sk, PEP_BBR_PROBE_RTT);
}

static void pep_bbr_probe_rtt_step(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pep_bbr *b = pep_estimate_of(sk);

	if (!b->probe_done) {
		if (tcp_packets_in_flight(tp) > b->inflight_lo)
			return;
		b->probe_done = (tcp_jiffies32 + PEP_BBR_RTT_PROBE) | 1;
		b->rounds = 0;
		b->round_end = tp->delivered;
		return;
	}
	if (b->rounds < 1 || before(tcp_jiffies32, b->probe_done))
		return;
	b->min_rtt_stamp = tcp_jiffies32;
	b->inflight_lo = PEP_BBR_NONE;
	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), b->prior_cwnd));
	b->prior_cwnd = 0;
	pep_bbr_cruise(sk);
}

/* Update the smallest round trip, or start to probe it. */
static void pep_bbr_rtt(struct sock *sk, const struct rate_sample *rs)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u32 rtt = rs->rtt_us;
	bool old;

	if (b->phase == PEP_BBR_PROBE_RTT)
		pep_bbr_probe_rtt_step(sk);
	if (rs->rtt_us <= 0)
		return;
	old = after(tcp_jiffies32, b->min_rtt_stamp + PEP_BBR_RTT_WINDOW);
	if (rtt <= b->min_rtt) {
		/* The first sample: the rate so far was a guess. */
		if (b->min_rtt == PEP_BBR_NONE && !b->full)
			pep_pace_begin(sk);
		b->min_rtt = rtt;
		b->min_rtt_stamp = tcp_jiffies32;
	} else if (rtt <= b->min_rtt + pep_estimate_slack(sk, 16)) {
		b->min_rtt_stamp = tcp_jiffies32;
	} else if (old && !rs->is_ack_delayed &&
		   b->phase != PEP_BBR_PROBE_RTT) {
		/* With so little under way the sample is as good as a probe;
		 * during a pause there was none.
		 */
		if (b->full && !rs->is_app_limited && rs->prior_in_flight >
		    pep_estimate_bdp(b, pep_estimate_bw(b), PEP_BBR_UNIT / 2))
			pep_bbr_probe_rtt(sk);
		b->min_rtt = rtt;
		b->min_rtt_stamp = tcp_jiffies32;
	}
}

static void pep_bbr_main(struct sock *sk, u32 ack, int flag,
			 const struct rate_sample *rs)
{
	pep_estimate_sample(sk, rs);
	pep_bbr_congestion(sk, rs);
	pep_bbr_step(sk, rs);
	pep_bbr_rtt(sk, rs);
	pep_pace_set_rate(sk);
	pep_pace_set_window(sk, rs);
}

static void pep_bbr_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pep_bbr *b = pep_estimate_of(sk);

	memset(b, 0, sizeof(*b));
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	b->min_rtt = tcp_min_rtt(tp);
	b->min_rtt_stamp = tcp_jiffies32;
	b->round_begin = tp->delivered;
	b->round_end = tp->delivered;
	b->round_lost = tp->lost;
	b->round_ce = tp->delivered_ce;
	b->bw_lo = PEP_BBR_NONE;
	b->inflight_lo = PEP_BBR_NONE;
	b->inflight_hi = PEP_BBR_NONE;
	b->epoch_us = tp->tcp_mstamp;
	b->phase_us = tp->tcp_mstamp;
	pep_pace_begin(sk);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* Losses do not change the threshold; the window before them is kept. */
static u32 pep_bbr_ssthresh(struct sock *sk)
{
	struct pep_bbr *b = pep_estimate_of(sk);

	if (b->phase != PEP_BBR_PROBE_RTT &&
	    inet_csk(sk)->icsk_ca_state < TCP_CA_Recovery)
		b->prior_cwnd = tcp_snd_cwnd(tcp_sk(sk));
	else
		b->prior_cwnd = max(b->prior_cwnd, tcp_snd_cwnd(tcp_sk(sk)));
	return tcp_sk(sk)->snd_ssthresh;
}

/* Nothing was lost after all. */
static u32 pep_bbr_undo_cwnd(struct sock *sk)
{
	struct pep_bbr *b = pep_estimate_of(sk);

	if (b->phase != PEP_BBR_PROBE_RTT) {
		b->bw_lo = PEP_BBR_NONE;
		b->inflight_lo = PEP_BBR_NONE;
	}
	return max(tcp_snd_cwnd(tcp_sk(sk)), b->prior_cwnd);
}

static u32 pep_bbr_sndbuf_expand(struct sock *sk)
{
	return 3;
}

/* Startup that meets a timeout begins anew to measure growth. */
static void pep_bbr_set_state(struct sock *sk, u8 state)
{
	struct pep_bbr *b = pep_estimate_of(sk);

	if (state != TCP_CA_Loss)
		return;
	b->ca_state = TCP_CA_Loss;
	b->full_bw = 0;
	b->round_end = tcp_sk(sk)->delivered;
}

/* As BBR's, so that ss and link.c derive the phase from the gains. */
static size_t pep_bbr_get_info(struct sock *sk, u32 ext, int *attr,
			       union tcp_cc_info *info)
{
	struct pep_bbr *b = pep_estimate_of(sk);
	u64 bw;

	if (!(ext & BIT(INET_DIAG_BBRINFO - 1)) &&
	    !(ext & BIT(INET_DIAG_VEGASINFO - 1)))
		return 0;
	bw = ((u64)pep_estimate_bw(b) * tcp_sk(sk)->mss_cache * USEC_PER_SEC) >>
	     PEP_BBR_BW_SHIFT;
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo = lower_32_bits(bw);
	info->bbr.bbr_bw_hi = upper_32_bits(bw);
	info->bbr.bbr_min_rtt = b->min_rtt;
	pep_pace_info(b, &info->bbr);
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static struct tcp_congestion_ops pep_bbr_ops __read_mostly = {
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "pep_bbr",
	.owner = THIS_MODULE,
	.init = pep_bbr_init,
	.cong_control = pep_bbr_main,
	.ssthresh = pep_bbr_ssthresh,
	.undo_cwnd = pep_bbr_undo_cwnd,
	.set_state = pep_bbr_set_state,
	.sndbuf_expand = pep_bbr_sndbuf_expand,
	.min_tso_segs = pep_pace_min_tso_segs,
	.get_info = pep_bbr_get_info,
};

static int __init pep_bbr_register(void)
{
	BUILD_BUG_ON(sizeof(struct pep_bbr) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&pep_bbr_ops);
}

static void __exit pep_bbr_unregister(void)
{
	tcp_unregister_congestion_control(&pep_bbr_ops);
}

module_init(pep_bbr_register);
module_exit(pep_bbr_unregister);
MODULE_AUTHOR("pep developers");
MODULE_DESCRIPTION("TCP congestion control for wireless links after BBRv3");
MODULE_LICENSE("GPL");
MODULE_VERSION(PEP_VERSION);
MODULE_ALIAS("tcp_pep_bbr");
