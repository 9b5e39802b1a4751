/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_DETOUR_H
#define _PEP_DETOUR_H

#include <linux/jiffies.h>
#include <net/tcp.h>

#include "flow.h"
#include "packet.h"

u32 pep_detour_seq(const struct tcp_sock *tp, const struct pep_packet *pkt);
void pep_detour_note(struct pep_flow *flow, enum pep_side side,
		     const struct sk_buff *skb, const struct pep_packet *pkt);
void pep_detour_beyond(struct pep_conn *conn, const struct pep_flow *flow,
		       enum pep_side side);
void pep_detour_acked(struct pep_conn *conn, const struct pep_flow *flow,
		      enum pep_side side);

/**
 * pep_detour_is_ahead() - does an end acknowledge payload that its leg has not sent?
 * @sk: the leg
 * @pkt: parsed packet of the end
 *
 * Return: true when it does.
 */
static inline bool pep_detour_is_ahead(const struct sock *sk, const struct pep_packet *pkt)
{
	return pkt->th->ack &&
	       after(ntohl(pkt->th->ack_seq), READ_ONCE(tcp_sk(sk)->snd_nxt));
}

/**
 * pep_detour_packet() - note whether an end is in line with its leg
 * @flow: flow of a connection that was taken over, or another one
 * @sk: the leg, in a state that has sequence numbers of both ends
 * @skb: packet for it, no SYN and no reset
 * @pkt: parsed @skb
 *
 * The times are written without a lock: a wrong one lasts until the end's next packet that
 * is in line.
 *
 * Context: BH off, RCU read side, no socket locked.
 * Return: true when the end acknowledges payload that its leg has not sent.
 */
static inline bool pep_detour_packet(struct pep_flow *flow, struct sock *sk,
				     const struct sk_buff *skb,
				     const struct pep_packet *pkt)
{
	enum pep_side side = pep_flow_side(flow, sk);
	struct pep_leg *leg = &flow->leg[side];
	u32 hole = READ_ONCE(leg->hole);

	if (unlikely(pep_detour_is_ahead(sk, pkt))) {
		pep_detour_note(flow, side, skb, pkt);
		return true;
	}
	if (unlikely(READ_ONCE(leg->asked) || READ_ONCE(leg->ahead))) {
		WRITE_ONCE(leg->asked, 0);
		WRITE_ONCE(leg->ahead, 0);
	}
	if (likely(!after(ntohl(pkt->th->seq), READ_ONCE(tcp_sk(sk)->rcv_nxt)))) {
		if (unlikely(hole))
			WRITE_ONCE(leg->hole, 0);
	} else if (!hole) {
		WRITE_ONCE(leg->hole, (u32)jiffies ?: 1);
	} else if ((u32)jiffies - hole > HZ / 2) {
		pep_detour_note(flow, side, skb, pkt);
	}
	return false;
}

#endif
