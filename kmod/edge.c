// SPDX-License-Identifier: GPL-2.0
/*
 * Ends that were promised too much: a leg has offered more room than the other end does, and
 * TCP takes no window back.
 *
 * Once the connection is handed back such an end may have more under way than the other end
 * offers. It then acknowledges with the number of the edge that it knows, see
 * tcp_acceptable_seq(), and the other end, which has received payload behind that, takes the
 * acknowledgment for an old one. Where both ends are like this neither hears of what the
 * other has received, nor of a new edge.
 */

#include "edge.h"

#include <net/tcp.h>

#include "flow.h"
#include "packet.h"
#include "track.h"

/**
 * pep_edge_promised() - note whether the legs have offered too much
 * @conn: connection that is handed back now, locked
 * @flow: its flow, with the legs locked
 *
 * Context: softirq.
 */
void pep_edge_promised(struct pep_conn *conn, const struct pep_flow *flow)
{
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		const struct tcp_sock *tp = tcp_sk(flow->leg[side].sk);

		if (after(tp->rcv_wup + tp->rcv_wnd, conn->end[!side].edge))
			conn->back = true;
	}
}

/**
 * pep_edge_imported() - note that legs of before may have offered too much
 * @conn: connection that is imported, in no table yet
 *
 * One that no socket can carry had none.
 *
 * Context: any.
 */
void pep_edge_imported(struct pep_conn *conn)
{
	if (!((conn->end[0].flags | conn->end[1].flags) & PEP_TRACK_UNSPLIT))
		conn->back = true;
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
 * @conn: connection whose legs have offered too much, locked
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
void pep_edge_raise(const struct pep_conn *conn, enum pep_side side,
		    struct sk_buff *skb, struct pep_packet *pkt)
{
	const struct pep_track_end *self = &conn->end[side];
	const struct pep_track_end *peer = &conn->end[!side];
	const struct tcphdr *th = pkt->th;
	u32 ack = ntohl(th->ack_seq);

	if (conn->resume || pkt->payload || !th->ack || th->fin || th->urg)
		return;
	if (pep_edge_behind(self, peer, ntohl(th->seq)) &&
	    !before(ack, self->ack) && !after(ack, peer->high) &&
	    pep_packet_csum_ok(skb, pkt))
		pep_packet_renumber(skb, pkt, peer->ack, ack);
}
