/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_STEER_H
#define _PEP_STEER_H

#include <linux/skbuff.h>
#include <uapi/linux/pep.h>

#include "packet.h"
#include "stat.h"

struct pep_net;
struct pep_profile;

bool pep_steer(struct sk_buff *skb, struct pep_profile *profile,
	       enum pep_side side);
enum pep_stat pep_steer_socket(struct pep_net *pn, struct sock *sk,
			       struct sk_buff *skb, struct pep_packet *pkt);
enum pep_stat pep_steer_over(struct pep_net *pn, struct sk_buff *skb,
			     const struct pep_packet *pkt);

/**
 * pep_steer_matters() - would a packet change what the other end has received?
 * @pkt: parsed packet, no SYN
 *
 * Context: any.
 * Return: true for a reset, payload or a FIN.
 */
static inline bool pep_steer_matters(const struct pep_packet *pkt)
{
	return pkt->th->rst || pkt->payload || pkt->th->fin;
}

#endif
