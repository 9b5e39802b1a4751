// SPDX-License-Identifier: GPL-2.0
/*
 * A leg's part of its subscriber's link.
 *
 * All legs of a subscriber send over one link. Each claims the bytes that it has under way
 * (path.c), and takes no more than the others leave of what the link is known to carry;
 * where nothing is known a leg spaces what acknowledgments would not.
 */

#include "link.h"

#include <linux/inet_diag.h>

#include "flow.h"
#include "gen.h"
#include "learn.h"

/* Least window of a leg beside others, segments: BBR's own minimum. */
#define PEP_LINK_LEAST	4U

/* BBR paces its startup with a gain of 2.89, and nothing else with more than 1.25;
 * in 256ths.
 */
#define PEP_LINK_GAIN		(3 * 256 / 2)

/* Share of segments that are sent again, a divisor, above which the legs of a subscriber
 * have flooded the link's queue.
 */
#define PEP_LINK_FLOOD		256

/* BBR's gains while it looks for the smallest round trip, in its startup, too. */
#define PEP_LINK_GAIN_RTT	256

/**
 * pep_link_max_rate() - get the bound of a leg's rate that code outside this file has set
 * @flow: flow with the leg of its subscriber locked
 *
 * Context: softirq.
 * Return: bytes per second.
 */
unsigned long pep_link_max_rate(const struct pep_flow *flow)
{
	const struct sock *sk = flow->leg[PEP_SIDE_WIRELESS].sk;
	unsigned long rate = READ_ONCE(sk->sk_max_pacing_rate);

	return rate == flow->link.pacing ? flow->link.pacing_before : rate;
}

/**
 * pep_link_part() - get the rate of a leg that has a part of its subscriber's link
 * @tp: the leg, locked
 * @rate: rate of the link, bytes per second
 * @busy: number of legs that have more to send
 * @rtt: round trip of the link, us, not 0
 *
 * It is no slower than the least window in a round trip: the pacing of a packet that was
 * sent cannot be taken back, see tcp_update_skb_after_send().
 *
 * Context: softirq.
 * Return: bytes per second.
 */
u64 pep_link_part(const struct tcp_sock *tp, u64 rate, u32 busy, u32 rtt)
{
	u64 least = div_u64((u64)PEP_LINK_LEAST * tp->mss_cache *
			    USEC_PER_SEC, rtt);

	return max(div_u64(rate, max(busy, 1U)), least);
}

/**
 * pep_link_busy() - count the legs that have more to send
 * @link: a leg's part of a link that has been begun, the leg locked
 *
 * Context: softirq.
 * Return: their number, counting this one in any case.
 */
u32 pep_link_busy(const struct pep_link *link)
{
	return max(atomic_read(&link->path->busy) + !link->claim.more, 1);
}

/**
 * pep_link_known() - get what is known of a link: from the profile, or from samples
 * @flow: flow whose part of the link has been begun
 * @known: receives it
 *
 * Context: softirq.
 * Return: false when nothing is known, or nothing known is to be used.
 */
bool pep_link_known(const struct pep_flow *flow, struct pep_learn_known *known)
{
	const struct pep_values *values = &flow->gen->values;
	bool found;

	if (!values->resume && !values->link_rate)
		return false;
	found = pep_learn_known(flow->link.path, known);
	if (!values->link_rate)
		return found;
	known->rate = values->link_rate;
	known->age = 0;
	known->full = true;
	if (values->link_rtt)
		known->rtt = values->link_rtt * USEC_PER_MSEC;
	return known->rtt;
}

/* Has BBR left its startup? Other congestion controls have none. */
static bool pep_link_grown(struct sock *sk)
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
	       info.bbr.bbr_pacing_gain < PEP_LINK_GAIN &&
	       info.bbr.bbr_cwnd_gain != PEP_LINK_GAIN_RTT;
}

/* Bound a leg's window and rate. A bound that other code has set is kept, and applies
 * again when this one is gone.
 */
static void pep_link_limit(struct pep_flow *flow, u32 window,
			   unsigned long rate)
{
	struct sock *sk = flow->leg[PEP_SIDE_WIRELESS].sk;
	struct pep_link *link = &flow->link;
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_cwnd_clamp != link->window)
		link->window_before = tp->snd_cwnd_clamp;
	if (sk->sk_max_pacing_rate != link->pacing)
		link->pacing_before = sk->sk_max_pacing_rate;
	link->window = min(window, link->window_before);
	link->pacing = min(rate, link->pacing_before);
	tp->snd_cwnd_clamp = link->window;
	WRITE_ONCE(sk->sk_max_pacing_rate, link->pacing);
	if (tcp_snd_cwnd(tp) > link->window)
		tcp_snd_cwnd_set(tp, link->window);
	if (sk->sk_pacing_rate > link->pacing)
		WRITE_ONCE(sk->sk_pacing_rate, link->pacing);
}

/* Have legs that ended had to send much again? */
static bool pep_link_flooded(const struct pep_path *path)
{
	return READ_ONCE(path->again) * PEP_LINK_FLOOD > READ_ONCE(path->segs);
}

/**
 * pep_link_share() - bound a leg in startup to its part of a link that was full
 * @flow: flow whose part of the link has been begun, with its leg locked
 *
 * In its startup BBR sends at nearly three times the rate that it has found, and
 * probes for more until it finds none. Several legs of a subscriber that do so flood
 * the queue several times over. Where the link was full at the known rate, and legs that
 * have ended had to send much again, the legs together get one and a half times the bytes
 * that it holds: each gets the rest that the others leave, or an equal part among those
 * that have more to send. They pace at one and a quarter of its rate. A link whose queue
 * has room is left alone: where acknowledgments wait for the uplink the bytes under way
 * have to be more.
 *
 * Context: softirq.
 */
void pep_link_share(struct pep_flow *flow)
{
	struct tcp_sock *tp = tcp_sk(flow->leg[PEP_SIDE_WIRELESS].sk);
	struct pep_link *link = &flow->link;
	u32 others, total, room, busy;
	struct pep_learn_known known;
	unsigned long rate = ~0UL;
	u32 window = ~0U;

	if (link->grown)
		return;
	link->grown = pep_link_grown((struct sock *)tp);
	others = pep_path_others(link->path, &link->claim);
	if (!link->grown && others && pep_link_known(flow, &known) &&
	    known.full && pep_link_flooded(link->path)) {
		total = min_t(u64, div_u64(known.rate * known.rtt,
					   USEC_PER_SEC), U32_MAX / 2);
		total += total / 2;
		busy = pep_link_busy(link);
		room = total > others ? total - others : 0;
		room = max(room, total / busy);
		window = max(room / tp->mss_cache, PEP_LINK_LEAST);
		rate = min_t(u64, pep_link_part(tp, known.rate / 4 * 5, busy,
						known.rtt), ULONG_MAX);
	}
	pep_link_limit(flow, window, rate);
}

/**
 * pep_link_space() - space the second flight of a leg that has nothing under way
 * @flow: flow whose part of the link has been begun, with its leg locked
 *
 * A slow start is clocked by acknowledgments, see pep_leg_start(), and none come. A server
 * that is some way off has got those of its first flights at once, and its second flights
 * arrive together: sent on like that they flood the queue, and the last segment of an
 * object may be lost, which nothing behind it shows. The first leg to send floods nothing;
 * congestion controls by loss are not paced; a jump of resume.c sets a rate of its own,
 * from what is known of the link.
 *
 * Context: softirq.
 */
void pep_link_space(struct pep_flow *flow)
{
	struct tcp_sock *tp = tcp_sk(flow->leg[PEP_SIDE_WIRELESS].sk);
	const struct pep_link *link = &flow->link;
	struct sock *sk = (struct sock *)tp;
	u32 first = max(flow->gen->values.initial_window, TCP_INIT_CWND);
	u32 rtt = tp->srtt_us >> 3;
	u64 rate;

	/* A SYN-ACK counts as delivered: what is more is of the first flight. */
	if (tp->delivered <= 1 || tp->delivered > 2 * first)
		return;
	if (!rtt || link->grown || !pep_link_by_rate(tp) ||
	    !pep_path_others(link->path, &link->claim))
		return;
	rate = div_u64((u64)tcp_snd_cwnd(tp) * tp->mss_cache * USEC_PER_SEC,
		       rtt);
	if (rate < sk->sk_pacing_rate)
		WRITE_ONCE(sk->sk_pacing_rate, rate);
}

/* Sum up the bytes that a leg has under way or may send at once; its end's window bounds
 * them.
 */
static u32 pep_link_claim(const struct tcp_sock *tp)
{
	return min3((u64)(tp->write_seq - tp->snd_una), (u64)tp->snd_wnd,
		    (u64)tcp_snd_cwnd(tp) * tp->mss_cache);
}

/* Has a leg heard nothing since its time-out? Its end may be gone, and another leg has the
 * link.
 */
static bool pep_link_lost(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state == TCP_CA_Loss &&
	       inet_csk(sk)->icsk_retransmits;
}

/**
 * pep_link_sent() - note the bytes that a leg has under way
 * @flow: flow with the leg of its subscriber locked
 *
 * Context: softirq, or a process that owns the leg, with BH on or off.
 */
void pep_link_sent(struct pep_flow *flow)
{
	struct tcp_sock *tp = tcp_sk(flow->leg[PEP_SIDE_WIRELESS].sk);
	struct pep_link *link = &flow->link;

	if (!link->path)
		return;
	if (pep_link_lost((struct sock *)tp))
		pep_path_claim(link->path, &link->claim, 0, false);
	else
		pep_path_claim(link->path, &link->claim, pep_link_claim(tp),
			       tp->write_seq != tp->snd_nxt &&
			       before(tp->snd_nxt, tcp_wnd_end(tp)));
}

/**
 * pep_link_begin() - begin a leg's part of its subscriber's link
 * @flow: flow with a path that comes up, locked, with its legs locked
 * @rtt: round trip of the leg's handshake, us; 0 when it is unknown
 *
 * Context: softirq.
 */
void pep_link_begin(struct pep_flow *flow, u32 rtt)
{
	WRITE_ONCE(flow->link.path, flow->path);
	pep_learn_handshake(flow->path, rtt);
}

/**
 * pep_link_end() - give back a leg's part of its subscriber's link
 * @flow: flow that ends, with its legs locked
 *
 * Context: BH off.
 */
void pep_link_end(struct pep_flow *flow)
{
	const struct tcp_sock *tp = tcp_sk(flow->leg[PEP_SIDE_WIRELESS].sk);
	struct pep_link *link = &flow->link;

	if (!link->path)
		return;
	pep_path_claim(link->path, &link->claim, 0, false);
	pep_path_end(link->path, tp->data_segs_out, tp->total_retrans);
	WRITE_ONCE(link->path, NULL);
}
