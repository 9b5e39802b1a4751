// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps payload from waiting here: the window of an end is bound to the rate at
 * which the leg towards the other end can send.
 *
 * The end is offered the bytes that this leg can send during the end's round
 * trip and half of the time that payload may stay here, less those that are here
 * already. The leg can send at its pacing rate, but at no more than twice the
 * rate that it has been seen to deliver: the pacing rate is a guess while a
 * connection is young, and twice is as fast as any slow start grows. Every
 * congestion control keeps the pacing rate somewhat above its delivery rate, so
 * that payload is left for finding out that a link has become faster. Before
 * anything has been delivered the end is offered as much as a SYN can offer.
 *
 * While payload is left unread the window may close: the next read opens it.
 * Otherwise nothing would, so a few segments stay on offer.
 */

#include "window.h"

#include <net/tcp.h>

#include "gen.h"
#include "share.h"
#include "socket.h"

/* Least window of an end when nothing is unread, bytes: about the first ten
 * segments, and more where segments are large.
 */
#define PEP_WINDOW_MIN		(16U * 1024)
#define PEP_WINDOW_SEGMENTS	4U

/* Limit of payload here and on its way here while no rate is known, bytes. */
#define PEP_WINDOW_START	(64 * 1024)

/* Payload that any leg may hold unsent, bytes: more than it sends between two
 * softirqs, and no more than PEP_SOCKET_NOTSENT.
 */
#define PEP_WINDOW_UNSENT_MIN	(16 * 1024)

/* The highest rate in calculations, bytes per second: times 10 s and a round
 * trip in us it fits into 64 bits.
 */
#define PEP_WINDOW_RATE_MAX	BIT_ULL(36)

/* How long payload may stay here, us. */
static u32 pep_window_stay(const struct pep_flow *flow,
			   const struct tcp_sock *out)
{
	u32 stay = flow->gen->values.residence * USEC_PER_MSEC;
	u32 rtt = tcp_min_rtt(out);

	/* TCP keeps ~0 before a sample. */
	return rtt == ~0U ? stay : max(stay, rtt);
}

/*
 * Round trip time of an end that sends, us; 0 when it is unknown. TCP measures
 * the round trip of data that it sends itself, which may have been long ago, and
 * takes that of data that it receives from the echoes of timestamps. Without
 * these it takes the time of a whole window, which this very bound makes longer.
 */
static u32 pep_window_rtt(const struct tcp_sock *in)
{
	u32 rtt = in->srtt_us;

	if (in->rx_opt.tstamp_ok)
		rtt = max(rtt, in->rcv_rtt_est.rtt_us);
	return rtt >> 3;
}

/*
 * Rate at which a leg can send, bytes per second, and 0 before anything was seen
 * to be delivered; see tcp_compute_delivery_rate(). At the beginning of a leg it
 * is at least the rate that its link is KNOWN for.
 */
static u64 pep_window_rate(const struct tcp_sock *out, u64 known)
{
	u64 pacing = READ_ONCE(((const struct sock *)out)->sk_pacing_rate);
	u64 rate = (u64)out->rate_delivered * out->mss_cache * USEC_PER_SEC;

	if (!out->rate_interval_us)
		return min(known, PEP_WINDOW_RATE_MAX);
	rate = div_u64(rate, out->rate_interval_us) * 2;
	rate = max(rate, known);
	return min3(pacing, rate, PEP_WINDOW_RATE_MAX);
}

/* Largest window that an end can be offered, bytes. */
static u32 pep_window_max(const struct tcp_sock *in)
{
	return min_t(u32, tcp_full_space((const struct sock *)in),
		     U16_MAX << in->rx_opt.rcv_wscale);
}

/* Limit of payload here and on its way here, bytes. */
static u32 pep_window_all(u64 rate, const struct tcp_sock *in, u32 stay)
{
	u64 rtt = pep_window_rtt(in), all = PEP_WINDOW_START;

	if (rate && rtt)
		all = div_u64(rate * (rtt + stay / 2), USEC_PER_SEC);
	return min_t(u64, all, pep_window_max(in));
}

/*
 * Offer no more than @window from the next ACK on, and @at_once now: TCP grows
 * the latter towards the former, see tcp_grow_window(). It takes back nothing
 * that it has offered, unless net.ipv4.tcp_shrink_window is set.
 */
static void pep_window_offer(struct tcp_sock *in, u32 window, u32 at_once)
{
	const struct net *net = sock_net((const struct sock *)in);

	if (READ_ONCE(net->ipv4.sysctl_tcp_shrink_window))
		window = max(window, tcp_receive_window(in));
	WRITE_ONCE(in->window_clamp, window);
	in->rcv_ssthresh = min(window, at_once);
}

/**
 * pep_window_hold() - keep the bound where it is while payload arrives
 * @leg: leg that has received
 *
 * TCP offers so much beyond the data that it has received; the bound of
 * pep_window_couple() is a position in the stream.
 *
 * Context: softirq, with the leg's socket locked.
 */
void pep_window_hold(const struct pep_leg *leg)
{
	struct tcp_sock *in;
	s32 window;

	if (!leg->coupled)
		return;
	in = tcp_sk(leg->sk);
	window = leg->edge - in->rcv_nxt;
	if (window < (s32)in->window_clamp)
		pep_window_offer(in, max(window, 0), in->rcv_ssthresh);
}

/**
 * pep_window_couple() - bind the window of an end to the other leg's rate
 * @flow: flow with its legs locked
 * @from: side of the end, enum pep_side
 * @done: payload of the end that the other leg has, though not yet marked as
 *	read, bytes
 *
 * For a few segments, where nothing waits and most of the offered window is
 * left, it does nothing.
 *
 * Context: softirq.
 */
void pep_window_couple(struct pep_flow *flow, enum pep_side from, u32 done)
{
	struct tcp_sock *out = tcp_sk(flow->leg[!from].sk);
	struct pep_leg *leg = &flow->leg[from];
	struct tcp_sock *in = tcp_sk(leg->sk);
	u32 least = PEP_WINDOW_SEGMENTS * in->advmss;
	u32 stay, unread, held, window, at_once;
	u64 rate;

	if (!flow->gen->values.residence)
		return;
	unread = in->rcv_nxt - in->copied_seq - done;
	held = unread + out->write_seq - out->snd_nxt;
	if (!held && leg->coupled && done < least &&
	    (s32)(leg->edge - in->rcv_nxt) > (s32)(leg->window / 4 * 3))
		return;

	rate = pep_window_rate(out, from == PEP_SIDE_SERVER ?
				    pep_resume_rate(flow) : 0);
	stay = pep_window_stay(flow, out);
	WRITE_ONCE(out->notsent_lowat,
		   clamp_t(u64, div_u64(rate * (stay / 4), USEC_PER_SEC),
			   PEP_WINDOW_UNSENT_MIN, PEP_SOCKET_NOTSENT));
	window = pep_window_all(rate, in, stay);
	/* The known rate of a link that has carried little is low. */
	if (!out->rate_interval_us)
		window = max(window, min_t(u32, PEP_WINDOW_START,
					   pep_window_max(in)));
	/* Without timestamps the end's round trip may be longer than is known,
	 * so that the other leg waits for this bound. As long as nothing waits
	 * here go on as a slow start does.
	 */
	if (!held && leg->coupled && !in->rx_opt.tstamp_ok)
		window = max(window, min(leg->window + done,
					 pep_window_max(in)));
	/* Its subscriber holds too much memory. */
	if (pep_share_over(flow->pn, flow->path))
		window = 0;
	leg->window = max3(window, PEP_WINDOW_MIN, least);

	window -= min(held, window);
	if (!unread)
		window = max3(window, PEP_WINDOW_MIN, least);
	else if (window < 2U * in->advmss)
		window = 0;
	leg->edge = in->rcv_nxt + window;
	leg->coupled = true;
	/* Grow again no faster than the end sends, and not while TCP wants its
	 * memory back; TCP itself keeps to the size of the buffer.
	 */
	at_once = max(in->rcv_ssthresh + 2 * done, least);
	if (tcp_under_memory_pressure(leg->sk))
		at_once = least;
	pep_window_offer(in, window, at_once);
}
