/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_UNTRACK_H
#define _PEP_UNTRACK_H

#include <linux/skbuff.h>

#include "net.h"

struct task_struct;

/**
 * struct pep_untrack_scope - a packet of ours is in the local stack
 * @next: the scope around this one on the same CPU
 * @net: namespace of the stack
 * @task: task that runs the stack, or that the softirq running it interrupted
 *
 * Lives on the stack of pep_deliver_local().
 */
struct pep_untrack_scope {
	struct pep_untrack_scope *next;
	const struct net *net;
	const struct task_struct *task;
};

void pep_untrack_skb(struct sk_buff *skb);
void pep_untrack_enter(struct pep_untrack_scope *scope,
		       const struct net *net);
void pep_untrack_leave(struct pep_untrack_scope *scope);
void pep_untrack_split(struct net *net, const struct pep_tuple *tuple);
void pep_untrack_back(struct net *net, const struct pep_tuple *tuple, u32 next,
		      u32 other);
void pep_untrack_exit(void);
int pep_untrack_start(struct pep_net *pn);
void pep_untrack_stop(struct pep_net *pn);

#endif
