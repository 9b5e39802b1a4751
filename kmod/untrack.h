/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_UNTRACK_H
#define _PEP_UNTRACK_H

#include <linux/skbuff.h>

#include "net.h"
#include "stat-gen.h"

struct pep_flow;
struct pep_track_end;

void pep_untrack_skb(struct sk_buff *skb);
void pep_untrack_split(struct net *net, const struct pep_tuple *tuple);
void pep_untrack_back(struct net *net, const struct pep_tuple *tuple,
		      const struct pep_track_end *opener, const struct pep_track_end *other);
void pep_untrack_over(const struct pep_flow *flow, enum pep_stat cause);
void pep_untrack_exit(void);
int pep_untrack_start(struct pep_net *pn);
void pep_untrack_stop(struct pep_net *pn);

#endif
