// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of a split connection that have taken another way.
 *
 * Routing may move a connection to another gateway, for a moment or in one direction. Legs
 * have the numbers of their ends, so the ends go on there, past the legs. The legs are then
 * behind: an end acknowledges payload that its leg has not sent, which TCP ignores, and the
 * other end does not repeat it, as that acknowledgment has reached it. Both would wait.
 *
 * An end that is ahead of its leg shows that in each of its packets. It is asked for its
 * numbers, since packets can be forged: one that is in line answers so. It is also asked
 * when packets of the other end stay behind a hole, as it may have nothing to send. When
 * it has been ahead for longer than a repetition takes, and its packet has the number that
 * the leg expects next, or, as an acknowledgment, clocks that fit, which only the end and
 * hosts on the way know, the connection is handed back, see pep_release_detour(). Where
 * both ends are ahead for so long, neither of which has answered that it is in line, a
 * number near the other's acknowledgment will do.
 */

#include "detour.h"

#include "segment.h"
#include "track.h"

/* How long payload of an end that passes its leg by may take to reach the leg as well, by a
 * repetition, jiffies: two round trips of both ends more.
 */
#define PEP_DETOUR_WAIT		HZ

/* How far clocks may be apart that fit, ms. */
#define PEP_DETOUR_CLOCK	(10 * 60 * 1000)

/* Has the end on a side been ahead for so long? */
static bool pep_detour_lasts(const struct pep_flow *flow, enum pep_side side)
{
	u32 since = READ_ONCE(flow->leg[side].ahead);

	return since && (u32)jiffies - since >
			PEP_DETOUR_WAIT + 2 * pep_flow_round_trips(flow);
}

/**
 * pep_detour_seq() - get the sequence number that a packet of an end has for its leg
 * @tp: the leg, locked
 * @pkt: parsed packet
 *
 * An end whose window was taken back has sent beyond it, and acknowledges with the number of
 * its edge, see tcp_acceptable_seq(): TCP would take that for a segment of before. The leg
 * has offered no more than its buffer holds.
 *
 * Context: BH off.
 * Return: the number that the leg expects next for such an acknowledgment, else the packet's.
 */
u32 pep_detour_seq(const struct tcp_sock *tp, const struct pep_packet *pkt)
{
	u32 most = tcp_full_space((const struct sock *)tp);
	u32 seq = ntohl(pkt->th->seq);

	if (pkt->payload || pkt->th->syn || pkt->th->fin || pkt->th->rst ||
	    !before(seq, tp->rcv_wup) || tp->rcv_wup - seq > most)
		return seq;
	return tp->rcv_nxt;
}

/* Has a packet clocks that fit those of the leg? Hosts that are not on the way cannot know
 * them. The leg's own may lag behind the other end's.
 */
static bool pep_detour_clocked(const struct tcp_sock *tp,
			       const struct pep_segment_options *options)
{
	u32 own = options->tsval - tp->rx_opt.ts_recent;
	u32 echo = options->tsecr - (u32)tcp_clock_ms() - tp->tsoffset;

	return tp->rx_opt.tstamp_ok && options->has_ts &&
	       own + PEP_DETOUR_CLOCK <= 2 * PEP_DETOUR_CLOCK &&
	       echo + PEP_DETOUR_CLOCK <= 2 * PEP_DETOUR_CLOCK;
}

/* Has a packet of the end on a side the number that its leg expects next, or a keepalive
 * probe's, which is one less? Or, where both ends are ahead, one that fits the other?
 */
static bool pep_detour_genuine(const struct pep_flow *flow, enum pep_side side,
			       const struct pep_packet *pkt,
			       const struct pep_segment_options *options)
{
	const struct tcp_sock *tp = tcp_sk(flow->leg[side].sk);
	const struct pep_leg *other = &flow->leg[!side];
	u32 most = tcp_sk(other->sk)->max_window;
	u32 seq = ntohl(pkt->th->seq);

	if (pep_detour_clocked(tp, options))
		seq = pep_detour_seq(tp, pkt);
	return tp->rcv_nxt - seq <= 1 ||
	       (pep_detour_lasts(flow, !side) && seq - other->beyond + most <= 2 * most);
}

/* Ask the end of a leg for its numbers; it has seen so much of the other end's clock. */
static void pep_detour_ask(struct pep_leg *leg, u32 clock)
{
	if (pep_leg_probe(leg, clock) && !READ_ONCE(leg->asked))
		WRITE_ONCE(leg->asked, (u32)jiffies ?: 1);
}

/* The end on a side acknowledges payload that its leg has not sent: hand the connection
 * back when the other leg has not received it either although it had the time.
 */
static void pep_detour_ahead(struct pep_flow *flow, enum pep_side side,
			     const struct pep_packet *pkt,
			     const struct pep_segment_options *options)
{
	struct pep_leg *leg = &flow->leg[side];
	u32 ack = ntohl(pkt->th->ack_seq);

	if (!after(ack, tcp_sk(flow->leg[!side].sk)->rcv_nxt))
		return;
	pep_detour_ask(leg, options->tsecr);
	/* It has answered the latest question, and this may be forged. */
	if (!READ_ONCE(leg->asked))
		return;
	leg->beyond = ack;
	if (!READ_ONCE(leg->ahead))
		WRITE_ONCE(leg->ahead, (u32)jiffies ?: 1);
	if (pep_detour_lasts(flow, side) && pep_detour_genuine(flow, side, pkt, options)) {
		WRITE_ONCE(flow->detour, true);
		pep_track_schedule(flow->conn);
	}
}

static void pep_detour_locked(struct pep_flow *flow, enum pep_side side,
			      const struct pep_packet *pkt)
{
	const struct sock *sk = flow->leg[side].sk;
	struct pep_segment_options options;

	pep_segment_scan(pkt, &options);
	if (pep_detour_is_ahead(sk, pkt)) {
		pep_detour_ahead(flow, side, pkt, &options);
	} else if (after(ntohl(pkt->th->seq), tcp_sk(sk)->rcv_nxt)) {
		pep_detour_ask(&flow->leg[!side], options.tsval);
		WRITE_ONCE(flow->leg[side].hole, (u32)jiffies ?: 1);
	}
}

/**
 * pep_detour_note() - note a packet which shows that others may have taken another way
 * @flow: flow
 * @side: side of the end that has sent it
 * @skb: packet
 * @pkt: parsed @skb
 *
 * Asks the end that may be ahead of its leg, and schedules pep_release_detour() when it has
 * been for too long. Does nothing while that is to come, or a process owns a leg.
 *
 * Context: BH off, RCU read side, no socket locked.
 */
void pep_detour_note(struct pep_flow *flow, enum pep_side side,
		     const struct sk_buff *skb, const struct pep_packet *pkt)
{
	if (flow->mode != PEP_CONNECT_MODE_FOLLOW || !pep_packet_csum_ok(skb, pkt))
		return;
	spin_lock(&flow->lock);
	if (flow->conn && !flow->detour &&
	    (flow->state == PEP_FLOW_STATE_ESTABLISHED ||
	     flow->state == PEP_FLOW_STATE_CLOSING)) {
		pep_flow_lock_legs(flow);
		if (!pep_flow_legs_owned(flow))
			pep_detour_locked(flow, side, pkt);
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);
}

/**
 * pep_detour_beyond() - let an end go on with what it has acknowledged past its leg
 * @conn: connection, locked, with the numbers that the legs of its ends have
 * @flow: its flow, locked, with its legs locked
 * @side: side of the end
 *
 * Only its next packet may say that it has what its leg is still sending.
 *
 * Context: BH off.
 */
void pep_detour_beyond(struct pep_conn *conn, const struct pep_flow *flow,
		       enum pep_side side)
{
	const struct pep_leg *leg = &flow->leg[side];
	struct pep_track_end *self = &conn->end[side];
	struct pep_track_end *peer = &conn->end[!side];

	if (!READ_ONCE(leg->ahead) || !after(leg->beyond, peer->high))
		return;
	self->edge += leg->beyond - self->ack;
	peer->high = leg->beyond;
}

/**
 * pep_detour_acked() - note what an end has acknowledged past its leg, which is to end
 * @conn: connection, locked
 * @flow: its flow, locked, with its legs locked
 * @side: side of the end
 *
 * Context: BH off.
 */
void pep_detour_acked(struct pep_conn *conn, const struct pep_flow *flow,
		      enum pep_side side)
{
	const struct pep_leg *leg = &flow->leg[side];
	struct pep_track_end *self = &conn->end[side];

	if (READ_ONCE(leg->ahead) && after(leg->beyond, self->ack) &&
	    !after(leg->beyond, conn->end[!side].high))
		self->ack = leg->beyond;
}
