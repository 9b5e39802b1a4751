/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_SYN_H
#define _PEP_SYN_H

#include "packet.h"

struct pep_gen;
struct pep_net;

void pep_syn_count(const struct pep_net *pn, unsigned int opener,
		   const struct pep_tuple *tuple, unsigned int counter);
bool pep_syn_take(struct pep_gen *gen, unsigned int opener,
		  struct sk_buff *skb, const struct pep_packet *pkt);
void pep_syn_resume(struct pep_gen *gen, struct sk_buff *skb);

#endif
