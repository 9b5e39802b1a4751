/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_EARLY_H
#define _PEP_EARLY_H

#include "packet.h"

struct pep_gen;
struct pep_net;

bool pep_early_open(struct pep_gen *gen, unsigned int side, struct sk_buff *skb,
		    const struct pep_packet *pkt);
void pep_early_init(void);

#endif
