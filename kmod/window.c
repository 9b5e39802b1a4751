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
 * Otherwise nothing would, so a few segments stay on offer. Payload that is sent later
 * opens the window with the next payload for the end.
 */

#include "window.h"

#include <net/tcp.h>

#include "compat.h"
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

/* Note how far TCP has opened the window of an end, see tcp_grow_window(); below the last
 * offer it is TCP that has taken memory back.
 */
static void pep_window_note(struct pep_leg *leg)
{
	u32 open = tcp_sk(leg->sk)->rcv_ssthresh;

	leg->open = open < leg->offer ? open : max(leg->open, open);
}

/*
 * Offer no more than @window from the next ACK on, and now as far as the window has been
 * open before: TCP grows the latter towards the former. It takes back nothing that it has
 * offered, unless net.ipv4.tcp_shrink_window is set.
 */
static void pep_window_offer(struct pep_leg *leg, u32 window)
{
	const struct net *net = sock_net(leg->sk);
	struct tcp_sock *in = tcp_sk(leg->sk);

	if (READ_ONCE(net->ipv4.sysctl_tcp_shrink_window))
		window = max(window, tcp_receive_window(in));
	WRITE_ONCE(in->window_clamp, window);
	leg->offer = min(window, leg->open);
	in->rcv_ssthresh = leg->offer;
}

/**
 * pep_window_hold() - keep the bound where it is while payload arrives
 * @leg: leg that has received
 *
 * TCP offers so much beyond the data that it has received; the bound of
 * pep_window_couple() is a position in the stream.
 *
 * Context: softirq, or a process that owns the leg's socket, with BH on or off.
 */
void pep_window_hold(struct pep_leg *leg)
{
	const struct tcp_sock *in;
	s32 window;

	if (!leg->coupled)
		return;
	in = tcp_sk(leg->sk);
	window = leg->edge - in->rcv_nxt;
	if (window >= (s32)in->window_clamp)
		return;
	pep_window_note(leg);
	pep_window_offer(leg, max(window, 0));
}

/* Bind the window of an end to the other leg's rate. That leg has @done bytes of the end's
 * payload that are not yet marked as read; @unread more have been received, and @held of
 * all are not sent.
 */
static void pep_window_bind(struct pep_flow *flow, enum pep_side from, u32 done,
			    u32 unread, u32 held)
{
	struct tcp_sock *out = tcp_sk(flow->leg[!from].sk);
	struct pep_leg *leg = &flow->leg[from];
	const struct tcp_sock *in = tcp_sk(leg->sk);
	u32 least = PEP_WINDOW_SEGMENTS * in->advmss;
	u32 stay = pep_window_stay(flow, out), window;
	u64 rate;

	rate = pep_window_rate(out, from == PEP_SIDE_SERVER ?
				    pep_resume_rate(flow) : 0);
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
	/* Grow no faster than the end sends, and not while TCP wants its memory
	 * back; TCP itself keeps to the size of the buffer.
	 */
	pep_window_note(leg);
	leg->open = min(leg->open + 2 * done, pep_window_max(in));
	if (tcp_under_memory_pressure(leg->sk))
		leg->open = least;
	leg->open = max(leg->open, least);
	leg->coupled = true;
	pep_window_offer(leg, window);
}

/**
 * pep_window_wait() - offer an opener no more while its target has not answered
 * @leg: its leg, locked
 *
 * TCP would open the window as for a program that is about to read. Its first one counts all
 * of the buffer, of which a SYN-ACK cannot offer more than 64 KiB. An opener that has sent
 * payload by now may have been offered all of it: it has to repeat the rest.
 *
 * Context: softirq.
 */
void pep_window_wait(struct pep_leg *leg)
{
	struct tcp_sock *in = tcp_sk(leg->sk);
	u32 window = min(tcp_receive_window(in), U16_MAX);

	if (leg->coupled)
		return;
	in->rcv_wnd = in->rcv_nxt - in->rcv_wup + window;
	pep_compat_promised(in);
	leg->coupled = true;
	leg->open = in->rcv_ssthresh;
	leg->edge = in->rcv_nxt + window;
	pep_window_offer(leg, window);
}

/**
 * pep_window_begin() - open the window of an opener whose target has answered
 * @leg: its leg, locked
 *
 * As far as it was when pep_window_wait() was called.
 *
 * Context: softirq.
 */
void pep_window_begin(struct pep_leg *leg)
{
	struct tcp_sock *in = tcp_sk(leg->sk);

	if (!leg->coupled)
		return;
	leg->coupled = false;
	WRITE_ONCE(in->window_clamp, pep_window_max(in));
	in->rcv_ssthresh = min(leg->open, in->window_clamp);
}

/**
 * pep_window_couple() - bind the window of an end that has sent payload
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
	const struct tcp_sock *out = tcp_sk(flow->leg[!from].sk);
	const struct pep_leg *leg = &flow->leg[from];
	const struct tcp_sock *in = tcp_sk(leg->sk);
	u32 unread, held;

	if (!flow->gen->values.residence)
		return;
	unread = in->rcv_nxt - in->copied_seq - done;
	held = unread + out->write_seq - out->snd_nxt;
	if (!held && leg->coupled &&
	    done < PEP_WINDOW_SEGMENTS * in->advmss &&
	    (s32)(leg->edge - in->rcv_nxt) > (s32)(leg->window / 4 * 3))
		return;
	pep_window_bind(flow, from, done, unread, held);
}

/**
 * pep_window_tell() - send the window of the server whose payload has been relayed
 * @flow: flow with its legs locked
 *
 * The acknowledgment of the payload has gone with the window of before. TCP would send the
 * one that has been opened since when it is twice as large, or with the next packet: a
 * server waits a round trip for that. An eighth of the window is worth a packet, but not
 * where the subscriber's other legs have something under way, which fill the link.
 *
 * Context: softirq.
 */
void pep_window_tell(struct pep_flow *flow)
{
	const struct pep_leg *leg = &flow->leg[PEP_SIDE_SERVER];
	const struct tcp_sock *in = tcp_sk(leg->sk);
	const struct pep_link *link = &flow->link;
	s32 room, more;

	if (!leg->coupled || leg->sk->sk_state != TCP_ESTABLISHED ||
	    sk_unhashed(leg->sk) ||
	    (link->path && pep_path_others(link->path, &link->claim)))
		return;
	/* TCP offers no more than there is memory for: a packet that has been read in part
	 * has all of its own.
	 */
	room = min3((s32)(leg->edge - in->rcv_nxt), (s32)leg->offer,
		    tcp_space(leg->sk));
	more = room - (s32)tcp_receive_window(in);
	if (more > (s32)(leg->window / 8) && more > 2 * (s32)in->advmss) {
		/* The server's echo is a measure of its round trip. */
		pep_leg_refresh(leg->sk);
		__tcp_send_ack(leg->sk, in->rcv_nxt, 0);
	}
}

/**
 * pep_window_renew() - bind the window of an end that is about to get payload
 * @flow: flow with its legs locked
 * @to: side of the end, enum pep_side
 *
 * Its payload may have been sent since the window was bound. The end answers: the payload
 * that it gets carries the window, which an answer would otherwise have to wait for.
 *
 * Context: softirq.
 */
void pep_window_renew(struct pep_flow *flow, enum pep_side to)
{
	const struct tcp_sock *out = tcp_sk(flow->leg[!to].sk);
	const struct pep_leg *leg = &flow->leg[to];
	const struct tcp_sock *in = tcp_sk(leg->sk);
	s32 least = leg->window - PEP_WINDOW_SEGMENTS * in->advmss;
	u32 unread;

	if (!leg->coupled || (s32)(leg->edge - in->rcv_nxt) >= least)
		return;
	unread = in->rcv_nxt - in->copied_seq;
	pep_window_bind(flow, to, 0, unread,
			unread + out->write_seq - out->snd_nxt);
}
