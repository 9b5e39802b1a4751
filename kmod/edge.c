// SPDX-License-Identifier: GPL-2.0
/*
 * Acknowledgments of an end that has sent up to the edge of its leg's window, which was
 * further ahead than the other end's.
 *
 * When its connection is handed back, such an end acknowledges with the number of the other
 * end's edge, as far as it knows it, see tcp_acceptable_seq(). Once the other end has
 * received payload behind that it takes the acknowledgment for an old one. Where both ends
 * are like this neither hears of what the other has received, nor of a new edge.
 */

#include "edge.h"

#include "adopt.h"
#include "packet.h"
#include "stat.h"
#include "track.h"

/* Does a segment acknowledge no less than before, with a number that is too old for the
 * other end to take it? A keepalive or window probe is older by one, and has to be.
 */
static bool pep_edge_behind(const struct pep_track_end *self,
			    const struct pep_track_end *peer,
			    const struct pep_packet *pkt)
{
	u32 lag = peer->ack - ntohl(pkt->th->seq);

	return lag > 1 && lag <= pep_track_window(peer) &&
	       ntohl(pkt->th->ack_seq) - self->ack <= pep_track_window(self);
}

/**
 * pep_edge_raise() - have the other end take an acknowledgment
 * @pn: started instance
 * @conn: connection that was handed back, locked
 * @side: side that the packet came from, enum pep_side
 * @skb: packet
 * @pkt: parsed @skb, no SYN and no reset; its header may have moved
 *
 * A pure acknowledgment whose number is too old gets the one that the other end expects.
 * It may acknowledge payload that was beyond the edge and so was not noted: that is made
 * up for, at the cost of the copies.
 *
 * Context: softirq.
 */
void pep_edge_raise(struct pep_net *pn, struct pep_conn *conn,
		    enum pep_side side, struct sk_buff *skb,
		    struct pep_packet *pkt)
{
	const struct pep_track_end *self = &conn->end[side];
	struct pep_track_end *peer = &conn->end[!side];
	u32 ack = ntohl(pkt->th->ack_seq);

	if (pkt->payload || !pkt->th->ack || pkt->th->fin ||
	    !pep_edge_behind(self, peer, pkt) ||
	    !pep_packet_csum_ok(skb, pkt) ||
	    !pep_packet_renumber(skb, pkt, peer->ack, ack) ||
	    !after(ack, peer->high))
		return;
	if (conn->copies)
		pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_COPIES);
	peer->high = ack;
	peer->next = ack;
}
