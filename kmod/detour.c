// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of a split connection that have taken another way.
 *
 * Routing may move a connection to another gateway, for a moment or in one direction. Legs
 * have the numbers of their ends, so the ends go on there, past the legs. The legs are then
 * behind: an end acknowledges payload that its leg has not sent, which TCP ignores, and the
 * other end does not repeat it, as that acknowledgment has reached it. Both would wait.
 *
 * An end that is ahead of its leg shows that in each of its packets; one that has nothing to
 * send is asked, as packets behind a hole are all that the other one shows. When it has been
 * ahead for longer than a repetition takes, the connection is handed back, see
 * pep_release_detour(). Its packet must have the number that the leg expects next, which
 * only the end and hosts on the way know, or the one that the other end has acknowledged
 * when both are ahead; and an end in line answers the question, which starts this again.
 */

#include "detour.h"

#include "track.h"

/* How long payload of an end that passes its leg by may take to reach the leg as well, by a
 * repetition, jiffies: two round trips of both ends more.
 */
#define PEP_DETOUR_WAIT		HZ

/* Has the end on a side been ahead for so long? */
static bool pep_detour_lasts(const struct pep_flow *flow, enum pep_side side)
{
	u32 since = READ_ONCE(flow->leg[side].ahead);
	u32 rtt = (tcp_sk(flow->leg[0].sk)->srtt_us >> 3) +
		  (tcp_sk(flow->leg[1].sk)->srtt_us >> 3);

	return since && (u32)jiffies - since >
			PEP_DETOUR_WAIT + usecs_to_jiffies(2 * rtt);
}

/* Has a packet of the end on a side a number that others cannot guess? That of a keepalive
 * probe is one less.
 */
static bool pep_detour_genuine(const struct pep_flow *flow, enum pep_side side,
			       const struct pep_packet *pkt)
{
	const struct tcp_sock *tp = tcp_sk(flow->leg[side].sk);
	const struct pep_leg *other = &flow->leg[!side];
	u32 seq = ntohl(pkt->th->seq);

	return tp->rcv_nxt - seq <= 1 ||
	       (READ_ONCE(other->ahead) && other->beyond - seq <= 1);
}

/* The end on a side acknowledges payload that its leg has not sent: hand the connection
 * back when the other leg has not received it either although it had the time.
 */
static void pep_detour_ahead(struct pep_flow *flow, enum pep_side side,
			     const struct pep_packet *pkt)
{
	struct pep_leg *leg = &flow->leg[side];
	u32 ack = ntohl(pkt->th->ack_seq);

	if (!after(ack, tcp_sk(flow->leg[!side].sk)->rcv_nxt))
		return;
	leg->beyond = ack;
	if (!READ_ONCE(leg->ahead))
		WRITE_ONCE(leg->ahead, (u32)jiffies ?: 1);
	if (pep_detour_lasts(flow, side) && pep_detour_genuine(flow, side, pkt)) {
		WRITE_ONCE(flow->detour, true);
		pep_track_schedule(flow->conn);
	}
	pep_leg_probe(leg);
}

/* The packets of the end on a side stay behind a hole. */
static void pep_detour_behind(struct pep_flow *flow, enum pep_side side)
{
	pep_leg_probe(&flow->leg[!side]);
	WRITE_ONCE(flow->leg[side].hole, (u32)jiffies ?: 1);
}

static void pep_detour_locked(struct pep_flow *flow, enum pep_side side,
			      const struct pep_packet *pkt)
{
	if (pep_detour_is_ahead(flow->leg[side].sk, pkt))
		pep_detour_ahead(flow, side, pkt);
	else
		pep_detour_behind(flow, side);
}

/**
 * pep_detour_note() - note a packet which shows that others may have taken another way
 * @flow: flow
 * @side: side of the end that has sent it
 * @skb: packet
 * @pkt: parsed @skb
 *
 * Asks the end that may be ahead of its leg, and schedules pep_release_detour() when it has
 * been for too long. Does nothing while a process owns a leg.
 *
 * Context: BH off, RCU read side, no socket locked.
 */
void pep_detour_note(struct pep_flow *flow, enum pep_side side,
		     const struct sk_buff *skb, const struct pep_packet *pkt)
{
	if (flow->mode != PEP_CONNECT_MODE_FOLLOW || !pep_packet_csum_ok(skb, pkt))
		return;
	spin_lock(&flow->lock);
	if (flow->conn && (flow->state == PEP_FLOW_STATE_ESTABLISHED ||
			   flow->state == PEP_FLOW_STATE_CLOSING)) {
		pep_flow_lock_legs(flow);
		if (!pep_flow_legs_owned(flow))
			pep_detour_locked(flow, side, pkt);
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);
}
