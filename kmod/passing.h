/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_PASSING_H
#define _PEP_PASSING_H

struct pep_net;
struct pep_packet;
struct pep_release_way;
struct sk_buff;

void pep_passing_deliver(struct pep_net *pn, struct sk_buff *skb,
			 const struct pep_packet *pkt,
			 const struct pep_release_way *way);

#endif
