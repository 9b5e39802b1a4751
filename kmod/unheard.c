// SPDX-License-Identifier: GPL-2.0
/*
 * Ends that owe acknowledgments to a connection that is being handed back, because their
 * packets take another way.
 *
 * A reset would end a connection that works: they acknowledge to each other, past this
 * host, and get all that the legs have.
 */

#include "unheard.h"

#include "clock.h"
#include "flow.h"
#include "leg.h"
#include "packet.h"
#include "segment.h"

/* After how long a silence an end counts as one that is not heard, jiffies: two round trips
 * of both ends more.
 */
#define PEP_UNHEARD_SILENT	HZ

/* How long payload is repeated for such an end at least, jiffies: longer than an outage, or
 * a way that changes, mostly lasts.
 */
#define PEP_UNHEARD_REPEATED	(30 * HZ)

/* For how long an end that repeats nothing is waited for at first, jiffies. */
#define PEP_UNHEARD_QUIET	(5 * HZ)

/* Is payload beyond all that the other end can have room for when it has not acknowledged
 * the bytes before the cut? Its leg cannot have offered more either.
 */
static bool pep_unheard_proves(const struct pep_conn *conn, enum pep_side side,
			       const struct pep_packet *pkt)
{
	u32 end = ntohl(pkt->th->seq) + pkt->payload;
	u32 window = pep_track_window(&conn->end[!side]);

	return pkt->payload > 1 && after(end, conn->end[side].next + window);
}

/**
 * pep_unheard_note() - note a packet that an end has sent since the cut
 * @conn: connection in PEP_TRACK_RELEASING, locked, before the packet
 * @side: side of the end
 * @pkt: packet
 *
 * An end that has sent a window of payload beyond the cut has acknowledgments of the other
 * end. So has one that repeats nothing: it would wait for as long again before it repeats
 * the next time, RFC 6298, and it has sent payload, and been heard twice since, the second
 * time after twice as long or more. A single byte may be a probe of a closed window, and
 * the first payload beyond the cut a repetition of some that the leg has refused.
 *
 * Context: BH off.
 */
void pep_unheard_note(const struct pep_conn *conn, enum pep_side side,
		      const struct pep_packet *pkt)
{
	u32 seq = ntohl(pkt->th->seq), now = (u32)jiffies ?: 1;
	const struct pep_track_end *self = &conn->end[side];
	struct pep_leg *leg = &conn->flow->leg[side];
	struct pep_segment_options options;

	pep_segment_scan(pkt, &options);
	leg->echo = options.tsecr - (u32)tcp_clock_ms();
	leg->heard = now;
	leg->repeats = 0;
	if (pep_unheard_proves(conn, side, pkt)) {
		leg->known = true;
	} else if (pkt->payload && before(seq, self->high) &&
		   after(seq + pkt->payload, self->next)) {
		leg->fresh = 0;
		leg->heard_again = 0;
	} else if (!leg->fresh) {
		leg->fresh = pkt->payload > 1 && after(seq, self->next) ? now : 0;
	} else if (!leg->heard_again) {
		leg->heard_again = now - leg->fresh > PEP_UNHEARD_QUIET ? now : 0;
	} else if (now - leg->heard_again >= leg->heard_again - leg->fresh) {
		leg->known = true;
	}
}

/**
 * pep_unheard_arrived() - has an end acknowledged all bytes of the other one before its cut?
 * @conn: connection in PEP_TRACK_RELEASING, locked
 * @flow: its flow, locked, with its legs locked
 * @side: side of the other end, which has sent them
 *
 * Context: BH off.
 * Return: true when it has.
 */
bool pep_unheard_arrived(const struct pep_conn *conn, const struct pep_flow *flow,
			 enum pep_side side)
{
	return !before(tcp_sk(flow->leg[!side].sk)->snd_una, conn->end[side].next) ||
	       !before(conn->end[!side].ack, conn->end[side].next);
}

/* Let a leg send all that is left for the end opposite @side, and ask the end on that side
 * whether it is still there when it has sent more since the cut. The other one's window is
 * not known any more: it drops payload that has no room. Return: true when all has been
 * repeated, see pep_leg_repeat(), and it had room, or the one on @side knows that.
 */
static bool pep_unheard_push(const struct pep_conn *conn, struct pep_flow *flow,
			     enum pep_side side)
{
	const struct tcp_sock *in = tcp_sk(flow->leg[side].sk);
	struct pep_leg *leg = &flow->leg[!side];
	struct sock *out = leg->sk;
	u32 unread = in->rcv_nxt - in->copied_seq;
	struct tcp_sock *tp = tcp_sk(out);
	bool repeated;

	if (flow->leg[side].fresh)
		pep_leg_probe(&flow->leg[side], flow->leg[side].echo +
			      (u32)tcp_clock_ms() + MSEC_PER_SEC);
	if (after(conn->end[side].next, tcp_wnd_end(tp)))
		tp->snd_wnd = conn->end[side].next - tp->snd_una;
	if (unread) {
		WRITE_ONCE(out->sk_sndbuf, out->sk_wmem_queued + 2 * unread);
		pep_flow_schedule(flow);
	}
	pep_clock_advance(flow, side);
	repeated = pep_leg_repeat(leg);
	if (unread)
		leg->repeats = 0;
	return repeated && !unread &&
	       (!after(conn->end[side].next, conn->end[!side].edge) ||
		flow->leg[side].known);
}

/**
 * pep_unheard_repeat() - send what is left for ends that are not heard, and repeat it
 * @conn: connection in PEP_TRACK_RELEASING, locked
 * @flow: its flow, locked, with its legs locked, which no process owns
 *
 * Context: BH off.
 * Return: true when all that ends owe acknowledgments for has been repeated so often, and in
 * such a silence, that it will have arrived.
 */
bool pep_unheard_repeat(const struct pep_conn *conn, struct pep_flow *flow)
{
	u32 least = PEP_UNHEARD_SILENT + 2 * pep_flow_round_trips(flow);
	bool repeated = true;
	enum pep_side side;
	u32 silence;

	for (side = 0; side < 2; side++) {
		if (pep_unheard_arrived(conn, flow, side))
			continue;
		silence = (u32)jiffies - (flow->leg[!side].heard ?: conn->seen);
		if (silence <= least || !pep_unheard_push(conn, flow, side) ||
		    silence <= PEP_UNHEARD_REPEATED)
			repeated = false;
	}
	return repeated;
}
