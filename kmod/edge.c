// SPDX-License-Identifier: GPL-2.0
/*
 * Ends that were promised too much: a leg has offered more room than the other end does, and
 * TCP takes no window back.
 *
 * Once the connection is handed back such an end may have more under way than the other end
 * offers. It then acknowledges with the number of the edge that it knows, see
 * tcp_acceptable_seq(), and the other end, which has received payload beyond that, takes the
 * acknowledgment for an old one. Where both ends are like this neither hears of what the
 * other has received, nor of a new edge.
 */

#include "edge.h"

#include <net/tcp.h>

#include "flow.h"
#include "packet.h"
#include "track.h"

/* The right edge that a leg offers; tcp_select_window() notes a larger window than it can
 * show. One that the leg has taken back meanwhile, for want of memory, does not count.
 */
static u32 pep_edge_leg(const struct pep_conn *conn, enum pep_side side,
			const struct tcp_sock *tp)
{
	return tp->rcv_wup + min(tp->rcv_wnd, pep_track_window(&conn->end[!side]));
}

/**
 * pep_edge_cut() - note the edges that the legs have offered when the cuts are made
 * @conn: connection that begins to be handed back, locked
 * @flow: its flow, with the legs locked
 *
 * Context: BH off.
 */
void pep_edge_cut(const struct pep_conn *conn, struct pep_flow *flow)
{
	enum pep_side side;

	for (side = 0; side < 2; side++)
		flow->leg[side].promised =
			pep_edge_leg(conn, side, tcp_sk(flow->leg[side].sk));
}

/**
 * pep_edge_offered() - note the edge that a leg has offered since
 * @conn: connection in PEP_TRACK_RELEASING, locked
 * @side: side of the leg, enum pep_side
 * @leg: the leg, locked
 *
 * Context: BH off.
 */
void pep_edge_offered(const struct pep_conn *conn, enum pep_side side,
		      struct pep_leg *leg)
{
	u32 edge = pep_edge_leg(conn, side, tcp_sk(leg->sk));

	if (after(edge, leg->promised))
		leg->promised = edge;
}

/* Note up to where a leg has offered room. Return: true when that is more than the other end
 * does.
 */
static bool pep_edge_beyond(struct pep_conn *conn, enum pep_side side,
			    struct pep_leg *leg)
{
	const struct pep_track_end *peer = &conn->end[!side];

	pep_edge_offered(conn, side, leg);
	conn->end[side].promise = leg->promised >> peer->wscale;
	return after(leg->promised, peer->edge) && after(leg->promised, peer->ack);
}

/**
 * pep_edge_back() - note whether both ends were promised too much
 * @conn: connection that is handed back now, locked
 * @flow: its flow, with the legs locked
 *
 * While the numbers are outdated nothing can be said.
 *
 * Context: BH off.
 */
void pep_edge_back(struct pep_conn *conn, struct pep_flow *flow)
{
	conn->overpromised = !conn->resume && pep_edge_beyond(conn, 0, &flow->leg[0]) &&
		     pep_edge_beyond(conn, 1, &flow->leg[1]);
}

/* Has an end sent more than it was promised? Then it knows the other end's window, and its
 * acknowledgments are taken, which will do for the other one.
 */
static bool pep_edge_knows(const struct pep_conn *conn, enum pep_side side)
{
	return after(conn->end[side].high, pep_track_promise(conn, side));
}

/* Is the number of an acknowledgment too old for the other end to take it, although that
 * one has acknowledged no more than was sent? A keepalive or window probe is older by one,
 * and has to be.
 */
static bool pep_edge_behind(const struct pep_track_end *self,
			    const struct pep_track_end *peer, u32 seq)
{
	u32 lag = peer->ack - seq;

	return lag > 1 && lag <= pep_track_window(peer) &&
	       !after(peer->ack, self->high);
}

/**
 * pep_edge_raise() - have the other end take an acknowledgment
 * @conn: connection of which both ends were promised too much, locked
 * @side: side that the packet came from, enum pep_side
 * @skb: packet
 * @pkt: parsed @skb, no SYN and no reset; its header may have moved
 *
 * A pure acknowledgment of payload that has passed here gets the number that the other end
 * expects where its own is too old. One with an urgent pointer, which is relative to the
 * number, does not.
 *
 * Context: softirq.
 */
void pep_edge_raise(struct pep_conn *conn, enum pep_side side,
		    struct sk_buff *skb, struct pep_packet *pkt)
{
	const struct pep_track_end *self = &conn->end[side];
	const struct pep_track_end *peer = &conn->end[!side];
	const struct tcphdr *th = pkt->th;
	u32 ack = ntohl(th->ack_seq);

	if (pep_edge_knows(conn, 0) || pep_edge_knows(conn, 1)) {
		conn->overpromised = false;
		return;
	}
	if (!pkt->payload && th->ack && !th->fin && !th->urg &&
	    pep_edge_behind(self, peer, ntohl(th->seq)) &&
	    !before(ack, self->ack) && !after(ack, peer->high) &&
	    pep_packet_csum_ok(skb, pkt))
		pep_packet_renumber(skb, pkt, peer->ack, ack);
}
