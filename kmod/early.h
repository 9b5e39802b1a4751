/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_EARLY_H
#define _PEP_EARLY_H

#include <uapi/linux/pep.h>

#include "follow.h"
#include "packet.h"
#include "stat-gen.h"

struct pep_gen;
struct pep_net;

enum pep_follow_verdict pep_early_open(struct pep_gen *gen, enum pep_side side,
				       struct sk_buff *skb,
				       const struct pep_packet *pkt,
				       enum pep_stat *reason);
void pep_early_init(void);

#endif
