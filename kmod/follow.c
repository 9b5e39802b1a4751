// SPDX-License-Identifier: GPL-2.0
/*
 * Following connections that are forwarded, after their handshakes: the bytes that
 * the ends have sent and acknowledged, and when a trigger has come.
 *
 * Packets are neither held back nor changed, but for acknowledgments that edge.c raises.
 * The notes of an end hold the values that the other end will have seen: the highest
 * acknowledgment, the highest right edge, the latest clock. Until the decision is made,
 * copies of unacknowledged payload are kept.
 */

#include "follow.h"

#include <net/tcp.h>

#include "adopt.h"
#include "choose.h"
#include "copies.h"
#include "edge.h"
#include "find.h"
#include "flow.h"
#include "gen.h"
#include "handshake.h"
#include "ipsec.h"
#include "learn.h"
#include "meter.h"
#include "passing.h"
#include "release.h"
#include "segment.h"
#include "share.h"
#include "stat.h"
#include "track.h"

/* A turn of an end is over when the other end has sent payload that acknowledges all of it:
 * the turn has a reply. The next one begins with payload that acknowledges all of the reply.
 * @all: the end's payload, which comes now, acknowledges all that the other end has sent.
 * Where both ends send at the same time one of them always has payload under way.
 */
static void pep_follow_turn(struct pep_conn *conn, enum pep_side side, bool all)
{
	struct pep_track_end *self = &conn->end[side];
	struct pep_track_end *peer = &conn->end[!side];
	u32 shown = conn->copies->shown[side];

	if (all && self->flags & PEP_TRACK_REPLIED)
		self->turn = conn->unseen & BIT(side) && after(shown, self->high) ?
			     shown : self->high;
	self->flags &= ~PEP_TRACK_REPLIED;
	if (all)
		peer->flags |= PEP_TRACK_REPLIED;
}

/* Payload of an end has passed of which there is no copy. */
static void pep_follow_uncopied(struct pep_net *pn, struct pep_conn *conn,
				enum pep_side side)
{
	if (!pep_copies_restart(conn->copies, side, &conn->end[side]))
		pep_adopt_give_up(pn, conn, pep_share_room(pn, conn->path) ?:
					    PEP_STAT_SPLIT_PASS_COPIES);
}

/* An end has sent up to @last, and @payload in this packet. Return: false when it had before. */
static bool pep_follow_reach(struct pep_conn *conn, enum pep_side side, u32 last,
			     bool payload)
{
	if (!after(last, conn->end[side].high))
		return false;
	conn->end[side].high = last;
	if (payload && (!conn->copies || !before(last, conn->copies->shown[side])))
		conn->unseen &= ~BIT(side);
	return true;
}

/* An event has come that may be a trigger of the connection. */
static void pep_follow_fire(struct pep_conn *conn, unsigned int trigger)
{
	conn->due |= conn->trigger & trigger;
}

/* Keep payload that passes, and update the triggers. */
static void pep_follow_payload(struct pep_net *pn, struct pep_conn *conn,
			       enum pep_side side, struct sk_buff *skb,
			       const struct pep_packet *pkt)
{
	struct pep_track_end *peer = &conn->end[!side];
	struct pep_track_end *self = &conn->end[side];
	u32 last = ntohl(pkt->th->seq) + pkt->payload;
	bool kept;

	if (conn->copies)
		pep_follow_turn(conn, side, self->ack == peer->high);
	self->bytes += pkt->payload;
	if (!after(last, self->next)) {
		self->repeated += pkt->payload;
		/* A probe repeats acknowledged payload, and what is repeated within a
		 * round trip was not lost: the server knew a shorter one, as of a leg.
		 */
		if (side == PEP_SIDE_SERVER && after(last, peer->ack) &&
		    conn->copies &&
		    pep_copies_older(conn->copies, side, last, peer->rtt))
			pep_follow_fire(conn, PEP_SPLIT_TRIGGER_LOSS);
	}
	if (conn->copies &&
	    (s32)(last - self->turn) >= (s32)pep_copies_trigger(conn->copies))
		pep_follow_fire(conn, PEP_SPLIT_TRIGGER_BYTES);
	kept = conn->copies &&
	       pep_copies_add(conn->copies, side, self, skb, pkt);
	pep_follow_reach(conn, side, last, true);
	if (conn->copies && !kept)
		pep_follow_uncopied(pn, conn, side);
	if (!conn->copies)
		self->next = self->high;
}

/* An end has sent all payload before @seq, and some of it has not passed here. Without
 * copies its next payload is behind that, or comes before copies are kept.
 */
static void pep_follow_shown(struct pep_conn *conn, enum pep_side side, u32 seq)
{
	struct pep_copies *copies = conn->copies;

	if (copies && (!(conn->unseen & BIT(side)) || after(seq, copies->shown[side])))
		copies->shown[side] = seq;
	conn->unseen |= BIT(side);
}

/* Note the acknowledgment and the window of an end. */
static void pep_follow_ack(struct pep_conn *conn, enum pep_side side,
			   const struct pep_packet *pkt)
{
	struct pep_track_end *self = &conn->end[side];
	u32 edge = pep_track_offer(self, pkt->th);
	u32 ack = ntohl(pkt->th->ack_seq);

	if (after(ack, self->ack)) {
		if (conn->copies && conn->path && side == PEP_SIDE_WIRELESS)
			pep_learn_acked(conn->path, ack - self->ack,
					tcp_clock_us(), 0, false);
		self->ack = ack;
		if (conn->copies)
			pep_copies_acked(conn->copies, !side, ack,
					 &conn->end[!side].next);
	}
	if (after(edge, self->edge))
		self->edge = edge;
}

/* Note a segment that acknowledges payload which has not passed here. Its own payload and the
 * window have to be known for the other end's next segment to be taken as one of this
 * connection. It may be forged: the payload is not copied, and the window's edge is noted up
 * to twice the largest window behind what is known to be acknowledged.
 */
static void pep_follow_beyond(struct pep_net *pn, struct pep_conn *conn,
			      enum pep_side side, const struct pep_packet *pkt)
{
	struct pep_track_end *self = &conn->end[side];
	u32 last = ntohl(pkt->th->seq) + pkt->payload;
	u32 edge = pep_track_offer(self, pkt->th);

	pep_stat_inc(pn, PEP_STAT_FOLLOW_UNSEEN);
	if (pkt->th->urg)
		self->flags |= PEP_TRACK_UNSPLIT;
	pep_follow_shown(conn, !side, ntohl(pkt->th->ack_seq));
	if (after(edge, self->edge) &&
	    edge - self->ack <= 2 * pep_track_window(self))
		self->edge = edge;
	if (pkt->payload && conn->copies)
		pep_follow_turn(conn, side, true);
	self->bytes += pkt->payload;
	if (!pep_follow_reach(conn, side, last, pkt->payload))
		return;
	if (conn->copies)
		pep_follow_uncopied(pn, conn, side);
	if (!conn->copies)
		self->next = last;
}

/* Is a clock newer than the one that is noted? As tcp_paws_check(): a clock of 1 MHz may
 * have gone half of its way round by TCP_PAWS_WRAP seconds, and 0 is no clock.
 */
static bool pep_follow_newer(const struct pep_track_end *self, u32 tsval)
{
	return (s32)(tsval - self->tsval) > 0 || !self->tsval ||
	       (u32)jiffies - self->seen > TCP_PAWS_WRAP * HZ;
}

/* Note the state of the sender of any packet: clock, device, DSCP, label, losses. */
static void pep_follow_note(struct pep_conn *conn, enum pep_side side,
			    const struct sk_buff *skb,
			    const struct pep_packet *pkt)
{
	struct pep_track_end *self = &conn->end[side];
	u32 *label = conn->copies ? &conn->copies->label[side] : &self->label;
	struct pep_segment_options options;

	pep_segment_scan(pkt, &options);
	/* The other end ignores the clock of a segment behind a hole, and that of one
	 * with an old acknowledgment.
	 */
	if (options.has_ts && !after(ntohl(pkt->th->seq), self->next) &&
	    !before(ntohl(pkt->th->ack_seq), self->ack) &&
	    pep_follow_newer(self, options.tsval))
		self->tsval = options.tsval;
	self->seen = jiffies;
	if (options.has_sack && side == PEP_SIDE_WIRELESS)
		pep_follow_fire(conn, PEP_SPLIT_TRIGGER_LOSS);
	if (pkt->th->urg)
		self->flags |= PEP_TRACK_UNSPLIT;
	self->ifindex = skb->dev->ifindex;
	conn->dsfield[side] = pep_packet_dsfield(skb);
	*label = pep_packet_label(skb);
}

/*
 * Handle a packet of a connection whose other packets may have passed unseen since its
 * numbers were noted: the numbers become those of the packet where these are ahead.
 * When both ends have been heard, and their numbers fit each other, at a packet of the
 * opener, the connection is followed like any other, and its profile may split it again.
 * A packet of one end alone may be older than what has passed unseen from the other.
 */
static void pep_follow_resume(struct pep_net *pn, struct pep_gen *gen,
			      struct pep_conn *conn, enum pep_side side,
			      struct sk_buff *skb, const struct pep_packet *pkt)
{
	struct pep_track_end *self = &conn->end[side];
	struct pep_track_end *peer = &conn->end[!side];
	const struct tcphdr *th = pkt->th;
	u32 last = ntohl(th->seq) + pkt->payload + th->fin;

	if (!th->ack || before(last, peer->ack) ||
	    before(ntohl(th->ack_seq), self->ack) ||
	    !pep_packet_csum_ok(skb, pkt))
		return;
	self->bytes += pkt->payload;
	if (after(last, self->high))
		self->high = last;
	self->next = self->high;
	if (th->fin)
		self->flags |= PEP_TRACK_FIN;
	pep_follow_note(conn, side, skb, pkt);
	pep_follow_ack(conn, side, pkt);
	if (pep_track_fins(pn, conn))
		return;
	/* Maybe nobody has asked for its policy of IPsec, or this is another host. */
	if (!((conn->heard & BIT(side)) | (self->flags & PEP_TRACK_UNSPLIT)) &&
	    !pep_ipsec_admits(skb)) {
		/* Unless another reason has counted. */
		conn->refused |= pep_track_splittable(conn);
		self->flags |= PEP_TRACK_UNSPLIT;
	}
	conn->heard |= BIT(side);
	if (conn->heard != (BIT(PEP_SIDE_WIRELESS) | BIT(PEP_SIDE_SERVER)))
		return;
	if (side != conn->opener || !gen || after(self->ack, peer->high) ||
	    after(peer->ack, self->high) || after(self->high, peer->edge) ||
	    after(peer->high, self->edge))
		return;
	conn->resume = false;
	pep_choose_resumed(pn, gen, conn);
	/* It may be the last packet of an exchange. */
	if (conn->due && pep_adopt_ready(conn))
		pep_track_schedule(conn);
}

/* A side had no device since the latest packet: the connection goes on from the next
 * packets, like an imported one, and is not measured any more. One whose handshake is not
 * complete has round trips with that time in them.
 */
static void pep_follow_lapse(struct pep_net *pn, struct pep_conn *conn)
{
	conn->gaps = atomic_read(&pn->gaps);
	if (conn->stage < PEP_TRACK_FOLLOWED) {
		conn->repeated = true;
		return;
	}
	pep_meter_end(conn);
	conn->overpromised = false;
	if (conn->stage != PEP_TRACK_FOLLOWED)
		return;
	pep_track_disarm(conn);
	pep_track_lapse(conn);
}

/* Note the FIN behind the payload before @last. It may come behind a hole, and without the
 * FIN when it is sent again.
 */
static void pep_follow_fin(struct pep_net *pn, struct pep_conn *conn,
			   enum pep_side side, u32 last)
{
	struct pep_track_end *self = &conn->end[side];

	if (before(last, self->high) || self->flags & PEP_TRACK_FIN)
		return;
	self->flags |= PEP_TRACK_FIN;
	if (self->next == last)
		self->next++;
	self->high = last + 1;
	pep_track_fins(pn, conn);
}

/* Note a segment that its receiver takes, or may take: behind the edge it has offered it
 * drops segments, see pep_track_limit().
 */
static void pep_follow_plausible(struct pep_net *pn, struct pep_gen *gen,
				 struct pep_conn *conn, enum pep_side side,
				 struct sk_buff *skb,
				 const struct pep_packet *pkt)
{
	struct pep_track_end *self = &conn->end[side];
	u32 seq = ntohl(pkt->th->seq);

	if (after(seq, self->high) && !pkt->payload)
		pep_follow_shown(conn, side, seq);
	if (pep_track_tally(conn) && !conn->copies && !conn->unseen &&
	    after(seq + pkt->payload, self->next))
		pep_choose_again(pn, side == conn->opener ? gen : NULL, conn);
	pep_follow_note(conn, side, skb, pkt);
	if (!after(seq, conn->end[!side].edge))
		pep_follow_ack(conn, side, pkt);
	if (!pkt->payload)
		return;
	if (conn->copies)
		pep_copies_size(conn->copies, side, skb, pkt);
	pep_follow_payload(pn, conn, side, skb, pkt);
}

/* Handle a packet of an established connection. */
static void pep_follow_segment(struct pep_net *pn, struct pep_gen *gen,
			       struct pep_conn *conn, enum pep_side side,
			       struct sk_buff *skb, const struct pep_packet *pkt)
{
	/* pep_copies_add() may move the header. */
	bool fin = pkt->th->fin, urg = pkt->th->urg;
	u32 last = ntohl(pkt->th->seq) + pkt->payload;

	if (pep_segment_plausible(conn, side, skb, pkt))
		pep_follow_plausible(pn, gen, conn, side, skb, pkt);
	else if (pep_segment_unseen(conn, side, skb, pkt))
		pep_follow_beyond(pn, conn, side, pkt);
	else
		return;
	if (fin)
		pep_follow_fin(pn, conn, side, last);
	if (fin || urg)
		pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_END);
	if (conn->copies && READ_ONCE(conn->copies->gen->closed))
		pep_adopt_outdated(pn, conn);
	if (conn->due && pep_adopt_ready(conn))
		pep_track_schedule(conn);
}

/* Note the acknowledgment of an end when both have sent their FINs, for edge.c. */
static void pep_follow_closing(struct pep_conn *conn, enum pep_side side,
			       const struct sk_buff *skb,
			       const struct pep_packet *pkt)
{
	if (!after(ntohl(pkt->th->seq), conn->end[!side].edge) &&
	    pep_segment_plausible(conn, side, skb, pkt) &&
	    pep_packet_csum_ok(skb, pkt))
		pep_follow_ack(conn, side, pkt);
}

/* Handle a packet that opens no connection, of one that has no flow. */
static void pep_follow_step(struct pep_net *pn, struct pep_gen *gen,
			    struct pep_conn *conn, enum pep_side side,
			    struct sk_buff *skb, struct pep_packet *pkt)
{
	const struct tcphdr *th = pkt->th;

	WRITE_ONCE(conn->seen, jiffies);
	if (unlikely(pep_track_gap(pn, conn)))
		pep_follow_lapse(pn, conn);
	if (th->rst) {
		if (pep_segment_resets(conn, side, th) &&
		    pep_packet_csum_ok(skb, pkt)) {
			/* One with both FINs has been counted. */
			if (conn->stage < PEP_TRACK_CLOSING)
				pep_stat_inc(pn, PEP_STAT_FOLLOW_RESET);
			pep_track_close(pn, conn, PEP_CONN_CAUSE_RESET);
		}
		return;
	}
	if (th->syn) {
		pep_handshake_answer(pn, conn, side, skb, pkt);
		return;
	}
	if (conn->stage == PEP_TRACK_ANSWERED && side == conn->opener && gen &&
	    pep_segment_plausible(conn, side, skb, pkt) &&
	    ntohl(th->ack_seq) == conn->end[!side].next) {
		pep_handshake_complete(pn, gen, conn);
		if (conn->stage == PEP_TRACK_FOLLOWED)
			pep_choose_first(pn, gen, conn);
	}
	if (unlikely(conn->overpromised))
		pep_edge_raise(conn, side, skb, pkt);
	if (conn->stage >= PEP_TRACK_FOLLOWED && conn->meter && !conn->resume)
		pep_meter_followed(conn, side, pkt);
	if (conn->stage == PEP_TRACK_FOLLOWED && conn->resume)
		pep_follow_resume(pn, gen, conn, side, skb, pkt);
	else if (conn->stage == PEP_TRACK_FOLLOWED)
		pep_follow_segment(pn, gen, conn, side, skb, pkt);
	else if (conn->overpromised)
		pep_follow_closing(conn, side, skb, pkt);
	if (conn->stage == PEP_TRACK_CLOSING && conn->meter)
		pep_meter_closing(conn);
}

/* Handle a packet of a connection that is split and measured. */
static noinline_for_stack void pep_follow_measure(const struct pep_conn *conn,
						  const struct pep_packet *pkt)
{
	/* Pairs with pep_adopt_own(). */
	const struct pep_flow *flow = smp_load_acquire(&conn->flow);

	if (flow)
		pep_meter_split(conn, flow, pep_track_side(conn, &pkt->tuple), pkt);
}

/* Handle a packet of a connection that is handed back to its ends. */
static void pep_follow_release(struct pep_conn *conn, enum pep_side side,
			       const struct sk_buff *skb,
			       const struct pep_packet *pkt,
			       struct pep_release_way *way)
{
	if (conn->meter)
		pep_meter_followed(conn, side, pkt);
	pep_release_packet(conn, side, skb, pkt, way);
}

/**
 * pep_follow_packet() - follow a packet that opens no connection
 * @pn: started instance
 * @gen: generation of the profile of its device, or NULL
 * @skb: packet
 * @pkt: parsed @skb; its header may have moved
 * @leg: for PEP_FOLLOW_SPLIT: the leg that the packet is for, with a reference;
 *	or NULL when it has to be looked up
 *
 * Context: BH off, RCU read side; takes pep_conn.lock, and may deliver the packet.
 * Return: action for the packet.
 */
enum pep_follow_verdict pep_follow_packet(struct pep_net *pn,
					  struct pep_gen *gen,
					  struct sk_buff *skb,
					  struct pep_packet *pkt,
					  struct sock **leg)
{
	enum pep_follow_verdict verdict = PEP_FOLLOW_PASS;
	struct pep_release_way way = { .leg = NULL };
	int vrf = pep_tuple_vrf(skb->dev);
	struct pep_conn *conn;
	enum pep_side side;

	*leg = NULL;
	conn = pep_track_find(pn, &pkt->tuple, vrf);
	if (!conn)
		return PEP_FOLLOW_UNKNOWN;
	/* Most packets of a split connection; pairs with pep_track_advance(). */
	if (smp_load_acquire(&conn->stage) == PEP_TRACK_SPLIT) {
		if (unlikely(READ_ONCE(conn->meter)))
			pep_follow_measure(conn, pkt);
		*leg = pep_find_leg(conn, vrf, pkt);
		return PEP_FOLLOW_SPLIT;
	}
	side = pep_track_side(conn, &pkt->tuple);
	spin_lock(&conn->lock);
	if (conn->stage == PEP_TRACK_SPLIT)
		verdict = PEP_FOLLOW_SPLIT;
	else if (conn->stage == PEP_TRACK_GONE)
		verdict = PEP_FOLLOW_UNKNOWN;
	else if (conn->stage == PEP_TRACK_RELEASING)
		pep_follow_release(conn, side, skb, pkt, &way);
	else
		pep_follow_step(pn, gen, conn, side, skb, pkt);
	spin_unlock(&conn->lock);
	if (!way.leg)
		return verdict;
	pep_passing_deliver(pn, skb, pkt, &way);
	return way.pass ? PEP_FOLLOW_PASS : PEP_FOLLOW_CONSUMED;
}
