// SPDX-License-Identifier: GPL-2.0
/*
 * Segments of a connection that is followed: their options, and whether the end that they
 * are for takes them.
 *
 * Nothing is noted here.
 */

#include "segment.h"

#include <linux/unaligned.h>
#include <net/tcp.h>

#include "flow.h"
#include "packet.h"
#include "track.h"

/* The first four bytes of a timestamp in the layout of RFC 7323, appendix A. */
#define PEP_SEGMENT_STAMP						\
	htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 |			\
	      TCPOPT_TIMESTAMP << 8 | TCPOLEN_TIMESTAMP)

/* Does a SACK option show a hole? A single block about payload that is acknowledged reports
 * a duplicate, RFC 2883: the answer to a keepalive with a byte, or to a needless repetition.
 */
static bool pep_segment_sacks(const u8 *opt, unsigned int size, u32 ack)
{
	if (size < TCPOLEN_SACK_BASE + TCPOLEN_SACK_PERBLOCK)
		return false;
	return size > TCPOLEN_SACK_BASE + TCPOLEN_SACK_PERBLOCK ||
	       after(get_unaligned_be32(opt + TCPOLEN_SACK_BASE + 4), ack);
}

/**
 * pep_segment_scan() - parse the options of a segment that is no SYN
 * @pkt: packet
 * @found: receives those up to the first malformed one
 *
 * Context: any.
 */
void pep_segment_scan(const struct pep_packet *pkt,
		      struct pep_segment_options *found)
{
	const u8 *opt = (const u8 *)(pkt->th + 1);
	unsigned int len = pkt->options, size;

	memset(found, 0, sizeof(*found));
	/* As tcp_parse_aligned_timestamp(): most segments have this option only. */
	if (len == TCPOLEN_TSTAMP_ALIGNED &&
	    get_unaligned((const __be32 *)opt) == PEP_SEGMENT_STAMP) {
		found->has_ts = true;
		found->tsval = get_unaligned_be32(opt + 4);
		found->tsecr = get_unaligned_be32(opt + 8);
		return;
	}
	for (; len && opt[0] != TCPOPT_EOL; opt += size, len -= size) {
		size = 1;
		if (opt[0] == TCPOPT_NOP)
			continue;
		if (len < 2 || opt[1] < 2 || opt[1] > len)
			return;
		size = opt[1];
		if (opt[0] == TCPOPT_TIMESTAMP && size == TCPOLEN_TIMESTAMP) {
			found->has_ts = true;
			found->tsval = get_unaligned_be32(opt + 2);
			found->tsecr = get_unaligned_be32(opt + 6);
		} else if (opt[0] == TCPOPT_SACK) {
			found->has_sack =
				pep_segment_sacks(opt, size,
						  ntohl(pkt->th->ack_seq));
		}
	}
}

/**
 * pep_segment_plausible() - will the other end take a segment?
 * @conn: connection that has been answered, locked
 * @side: side that it came from, enum pep_side
 * @skb: packet
 * @pkt: parsed @skb
 *
 * Payload has to begin in the window; an end may take all of it, or acknowledge the part
 * that has room. The checksum counts where copies are kept, or may be.
 *
 * Context: softirq.
 * Return: false when it would drop it.
 */
bool pep_segment_plausible(const struct pep_conn *conn, enum pep_side side,
			   const struct sk_buff *skb,
			   const struct pep_packet *pkt)
{
	const struct pep_track_end *self = &conn->end[side];
	const struct pep_track_end *peer = &conn->end[!side];
	const struct tcphdr *th = pkt->th;

	return th->ack && pep_track_acks(self, peer, ntohl(th->ack_seq)) &&
	       !after(ntohl(th->seq), pep_track_limit(conn, side)) &&
	       !before(ntohl(th->seq) + pkt->payload, peer->ack) &&
	       (!(conn->copies || pep_track_tally(conn)) ||
		pep_packet_csum_ok(skb, pkt));
}

/**
 * pep_segment_unseen() - does an end acknowledge payload that the other has not sent here?
 * @conn: connection that has been answered, locked
 * @side: side that the segment came from, enum pep_side
 * @skb: packet
 * @pkt: parsed @skb
 *
 * It came by another way, in fragments, with headers that pep does not skip, or while a
 * device was detached. The sequence number has to be in the window, as that of a reset, and
 * the acknowledgment not further ahead than the windows that this end may have offered.
 *
 * Context: softirq.
 * Return: true when it does.
 */
bool pep_segment_unseen(const struct pep_conn *conn, enum pep_side side,
			const struct sk_buff *skb,
			const struct pep_packet *pkt)
{
	const struct pep_track_end *self = &conn->end[side];
	const struct pep_track_end *peer = &conn->end[!side];
	u32 seq = ntohl(pkt->th->seq), ack = ntohl(pkt->th->ack_seq);

	return pkt->th->ack && after(ack, peer->high) &&
	       !after(ack, self->edge + pep_track_window(self)) &&
	       !before(seq, peer->ack) && !after(seq, peer->edge) &&
	       pep_packet_csum_ok(skb, pkt);
}

/* Is an acknowledgment plausible? While the leg has payload to send it can be of no more than
 * the leg has sent, unless packets take another way. Behind that, payload may have come by
 * another way, see pep_segment_unseen(). TCP notes a segment as sent after it has sent it, and
 * the leg is not locked here: an acknowledgment that is as quick is refused, and passes.
 */
static bool pep_segment_released_acks(const struct pep_conn *conn,
				      enum pep_side side, u32 ack)
{
	const struct tcp_sock *tp = tcp_sk(conn->flow->leg[side].sk);
	const struct pep_track_end *self = &conn->end[side];
	const struct pep_track_end *peer = &conn->end[!side];
	u32 sent = READ_ONCE(tp->snd_nxt);

	if (before(sent, peer->next) && after(ack, sent) && !conn->resume)
		return false;
	return pep_track_acks(self, peer, ack) ||
	       (after(ack, peer->high) &&
		!after(ack, self->edge + pep_track_window(self)));
}

/**
 * pep_segment_released() - will the other end take a segment while both are handed back?
 * @conn: connection in PEP_TRACK_RELEASING, locked
 * @side: side that it came from, enum pep_side
 * @skb: packet
 * @pkt: parsed @skb
 *
 * The numbers and the checksum count.
 *
 * Context: softirq, RCU read side.
 * Return: false when it would drop it.
 */
bool pep_segment_released(const struct pep_conn *conn, enum pep_side side,
			  const struct sk_buff *skb,
			  const struct pep_packet *pkt)
{
	const struct tcp_sock *tp = tcp_sk(conn->flow->leg[side].sk);
	const struct pep_track_end *self = &conn->end[side];
	const struct pep_track_end *peer = &conn->end[!side];
	u32 edge = READ_ONCE(tp->rcv_wup) + READ_ONCE(tp->rcv_wnd);
	u32 seq = ntohl(pkt->th->seq);

	/* The leg may have offered more than the other end, and more before. */
	if (after(peer->edge, edge))
		edge = peer->edge;
	if (after(conn->flow->leg[side].promised, edge))
		edge = conn->flow->leg[side].promised;
	/* The other end may offer more past this host, behind what it has acknowledged. */
	if (conn->resume && after(self->high + pep_track_window(peer), edge))
		edge = self->high + pep_track_window(peer);
	return (pkt->th->ack || pkt->th->rst) && !pkt->th->syn &&
	       !before(seq + pkt->payload,
		       self->next - pep_track_window(peer)) &&
	       !after(seq, edge) &&
	       (!pkt->th->ack ||
		pep_segment_released_acks(conn, side,
					  ntohl(pkt->th->ack_seq))) &&
	       pep_packet_csum_ok(skb, pkt);
}

/**
 * pep_segment_resets() - does a reset come from the end that it names?
 * @conn: connection, locked
 * @side: side that it came from, enum pep_side
 * @th: its header
 *
 * The window is all that is known of the numbers that the other end expects, which may
 * challenge the reset (RFC 5961). An end that has closed may reset with the number of its
 * FIN, which is acknowledged by then; the other end accepts that, see tcp_reset_check().
 * While the numbers are outdated each reset passes: there is nothing to compare it with.
 * Before the SYN-ACK has passed its number has to be exact. A forged reset ends no more
 * than the following. The caller checks the checksum.
 *
 * Context: softirq.
 * Return: true when the other end may take it.
 */
bool pep_segment_resets(const struct pep_conn *conn, enum pep_side side,
			const struct tcphdr *th)
{
	const struct pep_track_end *self = &conn->end[side];
	const struct pep_track_end *peer = &conn->end[!side];
	u32 seq = ntohl(th->seq);

	if (conn->stage == PEP_TRACK_OPENING)
		return side == conn->opener ? seq == self->next :
		       th->ack && ntohl(th->ack_seq) == peer->next;
	if (self->flags & PEP_TRACK_FIN && peer->ack == self->high &&
	    seq + 1 == self->high)
		return true;
	return conn->resume ||
	       (!before(seq, peer->ack) && !after(seq, peer->edge));
}
