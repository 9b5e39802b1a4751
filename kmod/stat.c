// SPDX-License-Identifier: GPL-2.0
/* Counters per namespace and CPU, numbered as netlink numbers them. */

#include "stat.h"

/**
 * pep_stat_init() - get the memory of an instance's counters
 * @pn: instance
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int pep_stat_init(struct pep_net *pn)
{
	pn->stats = __alloc_percpu(sizeof(u64) * (PEP_A_STAT_MAX + 1),
				   sizeof(u64));
	return pn->stats ? 0 : -ENOMEM;
}

/**
 * pep_stat_exit() - free an instance's counters
 * @pn: instance, unused by now
 */
void pep_stat_exit(struct pep_net *pn)
{
	free_percpu(pn->stats);
}

/**
 * pep_stat_sum() - read a counter
 * @pn: instance
 * @index: which counter, PEP_A_STAT_*
 *
 * Context: any.
 * Return: the sum over all CPUs; not a snapshot while packets flow.
 */
u64 pep_stat_sum(const struct pep_net *pn, unsigned int index)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(pn->stats, cpu)[index]);
	return sum;
}
