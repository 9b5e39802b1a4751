/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_ACCEPT_H
#define _PEP_ACCEPT_H

#include <uapi/linux/pep.h>

#include "packet.h"

struct pep_gen;
struct pep_net;

void pep_accept_offer(struct pep_gen *gen, enum pep_side side,
		      struct sk_buff *skb);
bool pep_accept_repeat(struct pep_net *pn, struct sk_buff *skb,
		       const struct pep_packet *pkt);
bool pep_accept_routed(const struct sock *req);
bool pep_accept_reset_cookie(struct pep_net *pn, const struct sk_buff *skb,
			     const struct pep_packet *pkt);
void pep_accept_reset(struct pep_net *pn, struct sock *req,
		      struct sk_buff *skb, const struct pep_packet *pkt);
bool pep_accept_awaits(struct pep_net *pn, const struct sk_buff *skb,
		       const struct pep_packet *pkt);
void pep_accept_init(void);

#endif
