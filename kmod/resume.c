// SPDX-License-Identifier: GPL-2.0
/*
 * How the leg of a subscriber begins: with the known rate and round trip of the link.
 *
 * This is Careful Resume, RFC 9959, with the state of all connections of a
 * subscriber, RFC 9040. The phases have the names of RFC 9959:
 *
 * reconnaissance	the leg sends within its congestion window
 * unvalidated		it has had more to send, and its window has been opened to a
 *			share of the bytes that the link has carried before
 * validating		the first byte sent beyond its own window is acknowledged:
 *			the window opens no further until the leg is watched again
 * retreat		too many of them were lost, or the round trip has grown:
 *			the window is half of the delivered segments, also when the
 *			losses have been repaired
 * normal		the congestion control goes on by itself
 *
 * The share is half of the bytes that the link carries in a round trip, or all of them
 * where the subscriber's connections have shown that rate within the latest round
 * trips, less the bytes that the other legs have under way; it is paced at the rate of
 * the link. A leg that has sent everything and got it acknowledged begins anew.
 *
 * BBR keeps a larger window, and a higher pacing rate, until it has found the link
 * full: bbr_set_cwnd(), bbr_set_pacing_rate(). Other congestion controls grow
 * the window from where it is, and are paced from then on.
 */

#include "resume.h"

#include <net/tcp.h>

#include "flow.h"
#include "gen.h"
#include "learn.h"
#include "stat.h"
#include "trace.h"

/* The window of a leg that retreats, at least, segments: the initial one. */
#define PEP_RESUME_LEAST	TCP_INIT_CWND

/* One of so many segments that a leg has sent since just before its jump may
 * get lost, and so many in any case, where a loss is no congestion.
 */
#define PEP_RESUME_LOSS_SHARE	8
#define PEP_RESUME_LOSS_MIN	3U

/* How much longer than twice the known one a round trip may be, us. A jump paced at
 * the rate of the link builds no such queue.
 */
#define PEP_RESUME_RTT_MORE	(100 * USEC_PER_MSEC)

/* A shorter round trip than this gains nothing by being known, us: a slow start over it
 * takes a few milliseconds. Such a link is left alone.
 */
#define PEP_RESUME_RTT_MIN	(5 * USEC_PER_MSEC)

/* Round trips within which a rate is a current one. */
#define PEP_RESUME_FRESH	8

/* Round trips for which a leg that begins has no sample of its own. */
#define PEP_RESUME_YOUNG	4

/* Least length of a train of segments that shows the rate of a link, us and as a part
 * of a round trip; and its least size, segments.
 */
#define PEP_RESUME_TRAIN	(50 * USEC_PER_MSEC)
#define PEP_RESUME_TRAIN_PART	8
#define PEP_RESUME_TRAIN_SEGS	16

static struct tcp_sock *pep_resume_tcp(const struct pep_flow *flow)
{
	return tcp_sk(flow->leg[PEP_SIDE_WIRELESS].sk);
}

static void pep_resume_phase(struct pep_flow *flow, u8 phase)
{
	struct pep_resume *r = &flow->resume;

	if (r->phase == phase)
		return;
	trace_pep_careful(flow, phase);
	WRITE_ONCE(r->phase, phase);
}

/* Is the round trip that of the known link? RFC 9959, section 4.2. */
static bool pep_resume_same(u32 rtt, u32 known)
{
	return rtt >= known / 2 && rtt / 10 <= known;
}

/* Watch a leg that has nothing under way but the payload that came with it, or whose first
 * sample has just come. Losses count from here on.
 */
static void pep_resume_watch(struct pep_flow *flow)
{
	const struct pep_values *values = &flow->gen->values;
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;
	struct pep_learn_known known;
	u32 rtt = tp->srtt_us >> 3;
	u64 bytes;

	r->blind = !rtt;
	WRITE_ONCE(r->rate, 0);
	if (!rtt || !pep_link_known(flow, &known) ||
	    !pep_resume_same(rtt, known.rtt)) {
		pep_resume_phase(flow, PEP_RESUME_PHASE_NORMAL);
		return;
	}
	WRITE_ONCE(r->rtt, known.rtt);
	WRITE_ONCE(r->rate, min_t(u64, known.rate, pep_link_max_rate(flow)));
	r->sent = tp->data_segs_out;
	r->lost = tp->lost;
	r->until = tcp_clock_us() + PEP_RESUME_YOUNG * rtt;
	bytes = div_u64(r->rate * min(rtt, known.rtt), USEC_PER_SEC);
	if (known.age > max(PEP_RESUME_FRESH * rtt / (u32)USEC_PER_SEC, 1U))
		bytes /= 2;
	r->budget = min_t(u64, bytes, values->resume_max);
	pep_resume_phase(flow, PEP_RESUME_PHASE_RECONNAISSANCE);
}

/**
 * pep_resume_begin() - begin with the known state of a subscriber's link
 * @flow: flow that comes up, locked, with its legs locked
 *
 * Context: softirq.
 */
void pep_resume_begin(struct pep_flow *flow)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;
	u32 rtt = tp->srtt_us >> 3;

	if (!flow->path || (rtt && rtt < PEP_RESUME_RTT_MIN))
		return;
	r->got = tp->snd_una;
	r->noted = tp->delivered;
	pep_link_begin(flow, rtt);
	pep_resume_watch(flow);
	pep_link_share(flow);
	pep_link_sent(flow);
}

/**
 * pep_resume_rate() - get the rate that a young leg can rely on
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

/* Open the window: segments sent beyond the old one have to be validated. */
static void pep_resume_jump(struct pep_flow *flow, u32 window)
{
	struct sock *sk = flow->leg[PEP_SIDE_WIRELESS].sk;
	struct pep_resume *r = &flow->resume;
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate;

	if (r->phase == PEP_RESUME_PHASE_RECONNAISSANCE) {
		r->delivered = tp->delivered;
		r->acked = atomic64_read(&flow->link.path->acked);
		r->before = max(tp->srtt_us >> 3, r->rtt);
		r->since = tcp_clock_us();
		r->until = r->since + PEP_RESUME_YOUNG * (tp->srtt_us >> 3);
		r->end = tp->snd_nxt;
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
			SK_PACING_NEEDED);
		rate = pep_link_part(tp, r->rate, pep_link_busy(&flow->link),
				     r->rtt);
		WRITE_ONCE(sk->sk_pacing_rate,
			   min_t(u64, rate, sk->sk_max_pacing_rate));
		/* It is no restart after a pause, which is for legs without a
		 * known rate: tcp_slow_start_after_idle_check().
		 */
		tp->lsndtime = tcp_jiffies32;
		pep_stat_inc(flow->pn, PEP_STAT_RESUME_JUMP);
		pep_resume_phase(flow, PEP_RESUME_PHASE_UNVALIDATED);
	}
	tcp_snd_cwnd_set(tp, window);
}

/* May a leg's window be opened? Not after a time-out, nor after a loss that is taken for
 * congestion; other losses count once the window has been opened.
 */
static bool pep_resume_may(struct pep_flow *flow)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;
	u8 most = pep_link_by_rate(tp) ? TCP_CA_Recovery : TCP_CA_Disorder;

	if (tp->inet_conn.icsk_ca_state <= most)
		return r->phase == PEP_RESUME_PHASE_RECONNAISSANCE ||
		       r->phase == PEP_RESUME_PHASE_UNVALIDATED;
	if (r->phase == PEP_RESUME_PHASE_RECONNAISSANCE)
		pep_resume_phase(flow, PEP_RESUME_PHASE_NORMAL);
	return false;
}

/* Nothing is under way any more: the known state of the link counts once more. */
static void pep_resume_again(struct pep_flow *flow)
{
	u8 phase = flow->resume.phase;

	pep_link_share(flow);
	if (phase == PEP_RESUME_PHASE_NORMAL ||
	    phase == PEP_RESUME_PHASE_RECONNAISSANCE)
		pep_resume_watch(flow);
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
	const struct pep_link *link = &flow->link;
	struct pep_resume *r = &flow->resume;
	u32 others, legs, room, window;

	if (!link->path)
		return;
	if (tp->snd_una == tp->write_seq) {
		pep_resume_again(flow);
		pep_link_space(flow);
	}
	if (!pep_resume_may(flow))
		return;
	others = pep_path_others(link->path, &link->claim);
	legs = max(atomic_read(&link->path->legs) + !link->claim.bytes, 1);
	room = r->budget > others ? r->budget - others : 0;
	room = max(room, r->budget / legs);
	window = min(tp->write_seq - tp->snd_una + len, room) / tp->mss_cache +
		 1;
	window = min(window, tp->snd_cwnd_clamp);
	if (window > tcp_snd_cwnd(tp))
		pep_resume_jump(flow, window);
}

/* Does the link fail to carry its known rate? */
static bool pep_resume_refuted(const struct pep_flow *flow)
{
	const struct tcp_sock *tp = pep_resume_tcp(flow);
	const struct pep_resume *r = &flow->resume;
	u32 may = 0;

	if (pep_link_by_rate(tp))
		may = max((tp->data_segs_out - r->sent) / PEP_RESUME_LOSS_SHARE,
			  PEP_RESUME_LOSS_MIN);
	return tp->lost - r->lost > may ||
	       tp->srtt_us >> 3 > 2 * r->before + PEP_RESUME_RTT_MORE;
}

/* RFC 9959, section 4.6: the window is half of the delivered segments. */
static void pep_resume_retreat(struct pep_flow *flow)
{
	struct sock *sk = flow->leg[PEP_SIDE_WIRELESS].sk;
	struct pep_resume *r = &flow->resume;
	struct tcp_sock *tp = tcp_sk(sk);
	u32 segs = tp->delivered - r->delivered;
	u64 took = tcp_clock_us() - r->since + 1;
	u64 rate;

	r->back = max_t(u32, segs / 2, PEP_RESUME_LEAST);
	if (r->back < tcp_snd_cwnd(tp))
		tcp_snd_cwnd_set(tp, r->back);
	if (!pep_link_by_rate(tp))
		tp->snd_ssthresh = r->back;
	rate = div64_u64(2ULL * segs * tp->mss_cache * USEC_PER_SEC, took);
	rate = pep_link_part(tp, rate, 1, r->rtt);
	if (rate < sk->sk_pacing_rate)
		WRITE_ONCE(sk->sk_pacing_rate, rate);
	pep_learn_refute(flow->link.path, r->acked, took);
	WRITE_ONCE(r->rate, 0);
	pep_stat_inc(flow->pn, PEP_STAT_RESUME_RETREAT);
	pep_resume_phase(flow, PEP_RESUME_PHASE_RETREAT);
}

/* A leg that has retreated has repaired its losses: BBR goes on with the window of
 * before then, bbr_set_cwnd_to_recover_or_restore().
 */
static void pep_resume_retreated(struct pep_flow *flow)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;

	if (tp->inet_conn.icsk_ca_state >= TCP_CA_Recovery)
		return;
	if (tcp_snd_cwnd(tp) > r->back)
		tcp_snd_cwnd_set(tp, r->back);
	pep_resume_phase(flow, PEP_RESUME_PHASE_NORMAL);
}

/* Check the segments that were sent beyond the window. One acknowledgment may be for all
 * of them.
 */
static void pep_resume_step(struct pep_flow *flow)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;

	if (pep_resume_refuted(flow)) {
		pep_resume_retreat(flow);
		return;
	}
	if (r->phase == PEP_RESUME_PHASE_UNVALIDATED &&
	    after(tp->snd_una, r->end)) {
		r->end = tp->snd_nxt;
		pep_resume_phase(flow, PEP_RESUME_PHASE_VALIDATING);
	}
	if (r->phase == PEP_RESUME_PHASE_VALIDATING &&
	    !before(tp->snd_una, r->end))
		pep_resume_phase(flow, PEP_RESUME_PHASE_NORMAL);
}

/*
 * Acknowledgments of segments that were sent one behind the other show the rate of the
 * link within less than a round trip, also where the window is too small to fill it.
 * Where acknowledgments were held up and come in a burst, the time in which the
 * segments were sent counts.
 */
static void pep_resume_train(struct pep_flow *flow)
{
	const struct tcp_sock *tp = pep_resume_tcp(flow);
	u64 now = tp->tcp_mstamp, sent = tp->rack.mstamp;
	struct pep_resume *r = &flow->resume;
	u32 least = max_t(u32, (tp->srtt_us >> 3) / PEP_RESUME_TRAIN_PART,
			  PEP_RESUME_TRAIN);
	u32 bytes = r->got - r->train.got;
	u64 took;

	/* A pause ends the train. */
	if (now - r->train.last > least / 4)
		r->train.at = 0;
	r->train.last = now;
	if (r->train.at && now - r->train.at < least)
		return;
	took = max(now - r->train.at, sent - r->train.sent);
	if (r->train.at && bytes >= PEP_RESUME_TRAIN_SEGS * tp->mss_cache)
		pep_learn_train(flow->link.path,
				div64_u64((u64)bytes * USEC_PER_SEC, took));
	r->train.at = now;
	r->train.sent = sent;
	r->train.got = r->got;
}

/* Sequence number that the subscriber has payload up to, had it come without holes. */
static u32 pep_resume_got(const struct tcp_sock *tp)
{
	u64 sacked = (u64)tp->sacked_out * tp->mss_cache;

	return tp->snd_una + min_t(u64, sacked, tp->snd_nxt - tp->snd_una);
}

/* Count the payload that a subscriber has acknowledged, with the leg locked. Payload
 * behind a hole counts when it arrives, not when the hole is filled.
 */
static void pep_resume_count(struct pep_flow *flow)
{
	struct tcp_sock *tp = pep_resume_tcp(flow);
	struct pep_resume *r = &flow->resume;
	u32 got = pep_resume_got(tp);
	u32 bytes = got - r->got;

	if (sock_owned_by_user((struct sock *)tp))
		return;
	r->noted = tp->delivered;
	if ((s32)bytes > 0) {
		r->got = got;
		/* By the earlier claim: TCP has cleared tp->app_limited. */
		pep_learn_acked(flow->link.path, bytes, tp->tcp_mstamp,
				tp->rack.mstamp, flow->link.claim.more);
		pep_resume_train(flow);
	}
	pep_learn_rtt(flow->link.path, tp->rack.rtt_us);
	/* A SYN or SYN-ACK was repeated: only now a sample shows which link this is. */
	if (unlikely(r->blind) && tp->srtt_us)
		pep_resume_watch(flow);
	if (r->phase == PEP_RESUME_PHASE_UNVALIDATED ||
	    r->phase == PEP_RESUME_PHASE_VALIDATING)
		pep_resume_step(flow);
	else if (r->phase == PEP_RESUME_PHASE_RETREAT)
		pep_resume_retreated(flow);
	pep_link_share(flow);
	pep_link_sent(flow);
}

/**
 * pep_resume_acked() - process an acknowledgment from a subscriber
 * @flow: flow whose leg has received it
 *
 * Context: softirq, RCU read side, no lock of the flow or its legs held.
 */
void pep_resume_acked(struct pep_flow *flow)
{
	struct sock *sk = flow->leg[PEP_SIDE_WIRELESS].sk;

	if (!READ_ONCE(flow->link.path) ||
	    READ_ONCE(tcp_sk(sk)->delivered) == READ_ONCE(flow->resume.noted))
		return;
	pep_leg_lock(sk, PEP_SIDE_WIRELESS);
	if (flow->link.path)
		pep_resume_count(flow);
	pep_leg_unlock(sk);
}
