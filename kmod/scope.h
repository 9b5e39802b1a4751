/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_SCOPE_H
#define _PEP_SCOPE_H

#include <linux/skbuff.h>

struct net;
struct task_struct;

/**
 * struct pep_scope - a packet of ours is in the stack
 * @next: the scope around this one on the same CPU
 * @net: namespace of the stack
 * @task: task that runs the stack, or that the softirq running it interrupted
 *
 * Lives on the stack of its user.
 */
struct pep_scope {
	struct pep_scope *next;
	const struct net *net;
	const struct task_struct *task;
};

void pep_scope_enter(struct pep_scope *scope, const struct net *net);
void pep_scope_leave(struct pep_scope *scope);
bool pep_scope_within(const struct net *net);
void pep_scope_send(struct net *net, struct sk_buff *skb);

#endif
