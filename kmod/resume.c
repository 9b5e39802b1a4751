// SPDX-License-Identifier: GPL-2.0
/*
 * How the leg of a subscriber begins: with what is known of the link.
 *
 * This is Careful Resume, RFC 9959, with the state of all connections of a
 * subscriber, RFC 9040. The phases have the names of RFC 9959:
 *
 * reconnaissance	the leg sends within its congestion window
 * unvalidated		it has had more to send, and its window has been opened to a
 *			share of what the link has carried before
 * validating		the first byte sent beyond its own window is acknowledged:
 *			the window opens no further until all of them are
 * retreat		too many of them were lost, or the round trip has grown:
 *			the window is half of what was delivered
 * normal		the congestion control goes on by itself
 *
 * The share is half of what the link carries in a round trip, or all of it where the
 * subscriber's connections have shown that within the latest round trips, less
 * what the other legs have under way; it is paced at the rate of the link. A leg
 * that has sent everything and got it acknowledged begins anew.
 *
 * BBR keeps a larger window, and a higher pacing rate, until it has found the link
 * full: bbr_set_cwnd(), bbr_set_pacing_rate(). Other congestion controls grow
 * the window from where it is, and are paced from then on.
 */

#include "resume.h"

#include <linux/inet_diag.h>
#include <net/tcp.h>

#include "flow.h"
#include "gen.h"
#include "stat.h"
#include "trace.h"

/* The window of a leg that retreats, at least, segments: the initial one. */
#define PEP_RESUME_LEAST	TCP_INIT_CWND

/* One of so many segments that a leg has sent since it went beyond its window may
 * get lost, and so many in any case, where a loss is no congestion.
 */
#define PEP_RESUME_LOSS_SHARE	8
#define PEP_RESUME_LOSS_MIN	3U

/* How much longer than twice the known one a round trip may be, us. A jump paced at
 * the rate of the link makes no such queue.
 */
#define PEP_RESUME_RTT_MORE	(100 * USEC_PER_MSEC)

/* Round trips within which a rate is a present one. */
#define PEP_RESUME_FRESH	8

/* Round trips for which a leg that begins has no sample of its own. */
#define PEP_RESUME_YOUNG	4

/* What a leg may have under way beside others, segments: BBR's own least. */
#define PEP_RESUME_SHARE_MIN	4U

/* BBR paces its startup with a gain of 2.89, and nothing else with more than 1.25;
 * in 256ths.
 */
#define PEP_RESUME_GAIN		(3 * 256 / 2)

static struct tcp_sock *pep_resume_tcp(const struct pep_flow *flow)
{
	return tcp_sk(flow->leg[PEP_SIDE_WIRELESS].sk);
}

/* Does the leg's congestion control go by rates? To it a loss is no congestion. */
static bool pep_resume_by_rate(const struct tcp_sock *tp)
{
	return tp->inet_conn.icsk_ca_ops->cong_control;
}

static void pep_resume_phase(struct pep_flow *flow, u8 phase)
{
	struct pep_resume *r = &flow->resume;

	if (r->phase == phase)
		return;
	trace_pep_careful(flow, phase);
	WRITE_ONCE(r->phase, phase);
}

/* What is known of the link: by the profile, or by what it has shown. */
static bool pep_resume_known(const struct pep_flow *flow,
			     struct pep_path_known *known)
{
	const struct pep_values *values = &flow->gen->values;
	bool found;

	if (!values->resume && !values->link_rate)
		return false;
	found = pep_path_known(flow->resume.path, known);
	if (!values->link_rate)
		return found;
	known->rate = values->link_rate;
	known->age = 0;
	known->full = true;
	if (values->link_rtt)
		known->rtt = values->link_rtt * USEC_PER_MSEC;
	return known->rtt;
}

/* Is the round trip that of the link that is known? RFC 9959, section 4.2. */
static bool pep_resume_same(u32 rtt, u32 known)
{
	return rtt >= known / 2 && rtt / 10 <= known;
}

/* Watch a leg that has nothing under way but what came with it. */
static void pep_resume_watch(struct pep_flow *flow)
{
	const struct pep_values *values = &flow->gen->values;
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;
	struct pep_path_known known;
	u32 rtt = tp->srtt_us >> 3;
	u64 bytes;

	WRITE_ONCE(r->rate, 0);
	if (!rtt || !pep_resume_known(flow, &known) ||
	    !pep_resume_same(rtt, known.rtt)) {
		pep_resume_phase(flow, PEP_RESUME_PHASE_NORMAL);
		return;
	}
	WRITE_ONCE(r->rtt, known.rtt);
	WRITE_ONCE(r->rate, min_t(u64, known.rate,
				  ((struct sock *)tp)->sk_max_pacing_rate));
	r->until = tcp_clock_us() + PEP_RESUME_YOUNG * rtt;
	bytes = div_u64(r->rate * min(rtt, known.rtt), USEC_PER_SEC);
	if (known.age > max(PEP_RESUME_FRESH * rtt / (u32)USEC_PER_SEC, 1U))
		bytes /= 2;
	r->budget = min_t(u64, bytes, values->resume_max);
	pep_resume_phase(flow, PEP_RESUME_PHASE_RECONNAISSANCE);
}

/* Has BBR left its startup? Other congestion controls have none. */
static bool pep_resume_grown(struct sock *sk)
{
	const struct tcp_congestion_ops *ca = inet_csk(sk)->icsk_ca_ops;
	union tcp_cc_info info;
	int attr;

	if (!ca->get_info ||
	    !ca->get_info(sk, BIT(INET_DIAG_BBRINFO - 1), &attr, &info) ||
	    attr != INET_DIAG_BBRINFO)
		return true;
	/* It has no gain before its first acknowledgment. */
	return info.bbr.bbr_pacing_gain &&
	       info.bbr.bbr_pacing_gain < PEP_RESUME_GAIN;
}

/* Have a leg send no more than this. A bound that somebody else has set is kept,
 * and stands when there is none of ours any more.
 */
static void pep_resume_limit(struct pep_flow *flow, u32 window,
			     unsigned long rate)
{
	struct sock *sk = flow->leg[PEP_SIDE_WIRELESS].sk;
	struct pep_resume *r = &flow->resume;
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_cwnd_clamp != r->window)
		r->window_before = tp->snd_cwnd_clamp;
	if (sk->sk_max_pacing_rate != r->pacing)
		r->pacing_before = sk->sk_max_pacing_rate;
	r->window = min(window, r->window_before);
	r->pacing = min(rate, r->pacing_before);
	tp->snd_cwnd_clamp = r->window;
	WRITE_ONCE(sk->sk_max_pacing_rate, r->pacing);
	if (tcp_snd_cwnd(tp) > r->window)
		tcp_snd_cwnd_set(tp, r->window);
	if (sk->sk_pacing_rate > r->pacing)
		WRITE_ONCE(sk->sk_pacing_rate, r->pacing);
}

/*
 * In its startup BBR sends nearly three times what it has found, and looks for
 * more until it finds none. Several legs of a subscriber that do so flood the
 * queue several times over. Where the link was full at the known rate they get
 * one and a half times what it holds together, each what the others leave or as
 * much as every one that has more to send, and pace at one and a quarter of its
 * rate.
 */
static void pep_resume_share(struct pep_flow *flow)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;
	u32 others, total, room, busy;
	struct pep_path_known known;
	unsigned long rate = ~0UL;
	u32 window = ~0U;

	if (r->grown)
		return;
	r->grown = pep_resume_grown((struct sock *)tp);
	others = pep_path_others(r->path, &r->claim);
	if (!r->grown && others && pep_resume_known(flow, &known) &&
	    known.full) {
		total = min_t(u64, div_u64(known.rate * known.rtt,
					   USEC_PER_SEC), U32_MAX / 2);
		total += total / 2;
		busy = max(atomic_read(&r->path->busy) + !r->claim.more, 1);
		room = total > others ? total - others : 0;
		room = max(room, total / busy);
		window = max(room / tp->mss_cache, PEP_RESUME_SHARE_MIN);
		rate = div_u64(known.rate * 5, 4 * busy);
	}
	pep_resume_limit(flow, window, rate);
}

/**
 * pep_resume_begin() - begin with what is known of a subscriber's link
 * @flow: flow that comes up, locked, with its legs locked
 * @path: what is known, with a reference, which the flow takes over; or NULL
 *
 * Context: softirq.
 */
void pep_resume_begin(struct pep_flow *flow, struct pep_path *path)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;

	if (!path)
		return;
	WRITE_ONCE(r->path, path);
	r->una = tp->snd_una;
	pep_path_handshake(path, tp->srtt_us >> 3);
	pep_resume_watch(flow);
	pep_resume_share(flow);
	pep_resume_sent(flow);
}

/**
 * pep_resume_rate() - find out what a young leg can send on
 * @flow: flow with the leg of its subscriber locked
 *
 * Context: softirq.
 * Return: the rate that its link is known for, bytes per second, and 0 when the leg
 * has samples of its own.
 */
u64 pep_resume_rate(const struct pep_flow *flow)
{
	const struct pep_resume *r = &flow->resume;

	return pep_resume_tcp(flow)->tcp_mstamp < r->until ? r->rate : 0;
}

/* What the leg has under way or may send at once, bytes. */
static u32 pep_resume_claim(const struct tcp_sock *tp)
{
	return min_t(u64, tp->write_seq - tp->snd_una,
		     (u64)tcp_snd_cwnd(tp) * tp->mss_cache);
}

/* Open the window: what is sent beyond it is to be validated. */
static void pep_resume_jump(struct pep_flow *flow, u32 window)
{
	struct sock *sk = flow->leg[PEP_SIDE_WIRELESS].sk;
	struct pep_resume *r = &flow->resume;
	struct tcp_sock *tp = tcp_sk(sk);
	unsigned int busy = atomic_read(&r->path->busy) + !r->claim.more;

	if (r->phase == PEP_RESUME_PHASE_RECONNAISSANCE) {
		r->delivered = tp->delivered;
		r->sent = tp->data_segs_out;
		r->lost = tp->lost;
		r->since = tcp_clock_us();
		r->until = r->since + PEP_RESUME_YOUNG * (tp->srtt_us >> 3);
		r->end = tp->snd_nxt;
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
			SK_PACING_NEEDED);
		WRITE_ONCE(sk->sk_pacing_rate,
			   min_t(u64, div_u64(r->rate, max(busy, 1U)),
				 sk->sk_max_pacing_rate));
		pep_stat_inc(flow->pn, PEP_A_STAT_RESUME_JUMP);
		pep_resume_phase(flow, PEP_RESUME_PHASE_UNVALIDATED);
	}
	tcp_snd_cwnd_set(tp, window);
}

/**
 * pep_resume_send() - open a leg's window for payload that is to be sent
 * @flow: flow with its legs locked
 * @len: payload that the leg of the subscriber is about to get, bytes
 *
 * Context: softirq.
 */
void pep_resume_send(struct pep_flow *flow, u32 len)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;
	u32 others, legs, room, window;

	if (!r->path)
		return;
	if (r->phase == PEP_RESUME_PHASE_NORMAL &&
	    tp->snd_una == tp->write_seq)
		pep_resume_watch(flow);
	if (r->phase != PEP_RESUME_PHASE_RECONNAISSANCE &&
	    r->phase != PEP_RESUME_PHASE_UNVALIDATED)
		return;
	others = pep_path_others(r->path, &r->claim);
	legs = max(atomic_read(&r->path->legs) + !r->claim.bytes, 1);
	room = r->budget > others ? r->budget - others : 0;
	room = max(room, r->budget / legs);
	window = min(tp->write_seq - tp->snd_una + len, room) / tp->mss_cache +
		 1;
	window = min(window, tp->snd_cwnd_clamp);
	if (window > tcp_snd_cwnd(tp))
		pep_resume_jump(flow, window);
}

/**
 * pep_resume_sent() - note what a leg has under way
 * @flow: flow with the leg of its subscriber locked
 *
 * Context: softirq.
 */
void pep_resume_sent(struct pep_flow *flow)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;

	if (r->path)
		pep_path_claim(r->path, &r->claim, pep_resume_claim(tp),
			       tp->write_seq != tp->snd_nxt);
}

/* Does the link not carry what it was known for? */
static bool pep_resume_refuted(const struct pep_flow *flow)
{
	const struct tcp_sock *tp = pep_resume_tcp(flow);
	const struct pep_resume *r = &flow->resume;
	u32 may = 0;

	if (pep_resume_by_rate(tp))
		may = max((tp->data_segs_out - r->sent) / PEP_RESUME_LOSS_SHARE,
			  PEP_RESUME_LOSS_MIN);
	return tp->lost - r->lost > may ||
	       tp->srtt_us >> 3 > 2 * r->rtt + PEP_RESUME_RTT_MORE;
}

/* RFC 9959, section 4.6: the window is half of what was delivered. */
static void pep_resume_retreat(struct pep_flow *flow)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;
	u32 segs = tp->delivered - r->delivered;
	u64 took = tcp_clock_us() - r->since;
	u32 window = max_t(u32, segs / 2, PEP_RESUME_LEAST);

	if (window < tcp_snd_cwnd(tp))
		tcp_snd_cwnd_set(tp, window);
	if (!pep_resume_by_rate(tp))
		tp->snd_ssthresh = window;
	pep_path_refute(r->path, div64_u64((u64)segs * tp->mss_cache *
					   USEC_PER_SEC, took + 1));
	WRITE_ONCE(r->rate, 0);
	pep_stat_inc(flow->pn, PEP_A_STAT_RESUME_RETREAT);
	pep_resume_phase(flow, PEP_RESUME_PHASE_RETREAT);
}

/* See how the segments fare that were sent beyond the window. */
static void pep_resume_step(struct pep_flow *flow)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;

	if (pep_resume_refuted(flow)) {
		pep_resume_retreat(flow);
	} else if (r->phase == PEP_RESUME_PHASE_UNVALIDATED &&
		   after(tp->snd_una, r->end)) {
		r->end = tp->snd_nxt;
		pep_resume_phase(flow, PEP_RESUME_PHASE_VALIDATING);
	} else if (r->phase == PEP_RESUME_PHASE_VALIDATING &&
		   !before(tp->snd_una, r->end)) {
		pep_resume_phase(flow, PEP_RESUME_PHASE_NORMAL);
	}
}

/* Count what a subscriber has acknowledged, with the leg locked. */
static void pep_resume_count(struct pep_flow *flow)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;
	u32 bytes = tp->snd_una - r->una;

	if (!bytes || sock_owned_by_user((struct sock *)tp))
		return;
	r->una = tp->snd_una;
	pep_path_acked(r->path, bytes, tp->tcp_mstamp, !tp->app_limited);
	pep_path_rtt(r->path, tp->rack.rtt_us);
	if (r->phase == PEP_RESUME_PHASE_UNVALIDATED ||
	    r->phase == PEP_RESUME_PHASE_VALIDATING)
		pep_resume_step(flow);
	else if (r->phase == PEP_RESUME_PHASE_RETREAT)
		pep_resume_phase(flow, PEP_RESUME_PHASE_NORMAL);
	pep_resume_share(flow);
	pep_resume_sent(flow);
}

/**
 * pep_resume_acked() - look at what a subscriber's packet has acknowledged
 * @flow: flow whose leg has received it
 *
 * Context: softirq, RCU read side, no lock of the flow or its legs held.
 */
void pep_resume_acked(struct pep_flow *flow)
{
	struct sock *sk = flow->leg[PEP_SIDE_WIRELESS].sk;

	if (!READ_ONCE(flow->resume.path) ||
	    READ_ONCE(tcp_sk(sk)->snd_una) == READ_ONCE(flow->resume.una))
		return;
	pep_leg_lock(sk, PEP_SIDE_WIRELESS);
	if (flow->resume.path)
		pep_resume_count(flow);
	pep_leg_unlock(sk);
}

/**
 * pep_resume_end() - give back what a leg has of its subscriber's link
 * @flow: flow that ends, with its legs locked
 *
 * Context: BH off.
 */
void pep_resume_end(struct pep_flow *flow)
{
	struct pep_resume *r = &flow->resume;
	struct pep_path *path = r->path;
	struct tcp_sock *tp;

	if (!path)
		return;
	tp = pep_resume_tcp(flow);
	pep_path_claim(path, &r->claim, 0, false);
	pep_path_end(path, tp->data_segs_out, tp->total_retrans);
	WRITE_ONCE(r->path, NULL);
	pep_path_put(path);
}
