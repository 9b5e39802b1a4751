// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of ours in the stack.
 *
 * Each CPU notes the packets of ours that are in the stack, in a list because
 * devices that hand a packet over at once make deliveries nest. The stack runs
 * with BH off and so stays on its CPU, but with PREEMPT_RT others may run on
 * it meanwhile, hence the task.
 */

#include "scope.h"

#include <linux/percpu.h>
#include <linux/sched.h>
#include <net/ip.h>
#include <net/ipv6.h>

static DEFINE_PER_CPU(struct pep_scope *, pep_scopes);

/**
 * pep_scope_enter() - note that a packet of ours enters the stack
 * @scope: for pep_scope_leave() when the stack has returned
 * @net: namespace
 *
 * Context: softirq or BH off.
 */
void pep_scope_enter(struct pep_scope *scope, const struct net *net)
{
	scope->net = net;
	scope->task = current;
	preempt_disable();
	scope->next = __this_cpu_read(pep_scopes);
	__this_cpu_write(pep_scopes, scope);
	preempt_enable();
}

/**
 * pep_scope_leave() - undo pep_scope_enter()
 * @scope: scope on this CPU, the first one but for those of other tasks
 *
 * Context: as pep_scope_enter().
 */
void pep_scope_leave(struct pep_scope *scope)
{
	struct pep_scope **p;

	preempt_disable();
	p = this_cpu_ptr(&pep_scopes);
	while (*p != scope)
		p = &(*p)->next;
	*p = scope->next;
	preempt_enable();
}

/**
 * pep_scope_within() - is this task, here, handing a packet of ours to the stack?
 * @net: namespace
 *
 * Context: softirq or BH off.
 * Return: true when it is so.
 */
bool pep_scope_within(const struct net *net)
{
	const struct pep_scope *scope;

	preempt_disable();
	scope = __this_cpu_read(pep_scopes);
	while (scope && (scope->task != current || scope->net != net))
		scope = scope->next;
	preempt_enable();
	return scope;
}

/**
 * pep_scope_send() - send a packet that has no socket, as TCP does
 * @net: namespace
 * @skb: packet with its headers and its route; consumed
 *
 * This host's rules for its own packets apply to it.
 *
 * Context: any but hard interrupts, no socket locked.
 */
void pep_scope_send(struct net *net, struct sk_buff *skb)
{
	struct pep_scope scope;

	local_bh_disable();
	pep_scope_enter(&scope, net);
	if (IS_ENABLED(CONFIG_IPV6) && skb->protocol == htons(ETH_P_IPV6))
		ip6_local_out(net, NULL, skb);
	else
		ip_local_out(net, NULL, skb);
	pep_scope_leave(&scope);
	local_bh_enable();
}
