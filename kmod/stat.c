// SPDX-License-Identifier: GPL-2.0
/* Counters per namespace and CPU. */

#include "stat.h"

#include "name.h"
#include "trace.h"

/**
 * pep_stat_init() - get the memory of an instance's counters
 * @pn: instance
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int pep_stat_init(struct pep_net *pn)
{
	pn->stats = __alloc_percpu(sizeof(u64) * PEP_STAT_COUNT, sizeof(u64));
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
 * pep_stat_syn() - count the outcome of a SYN, or the reason why it passes
 * @pn: instance
 * @opener: side that it came from, enum pep_side
 * @tuple: its ends
 * @stat: counter
 *
 * Context: any.
 */
void pep_stat_syn(const struct pep_net *pn, enum pep_side opener,
		  const struct pep_tuple *tuple, enum pep_stat stat)
{
	pep_stat_inc(pn, stat);
	if (trace_pep_syn_enabled())
		trace_pep_syn(pn, tuple, opener, pep_name_stat(stat));
}

/**
 * pep_stat_trace_unsplit() - trace a connection that is not split, counted elsewhere
 * @pn: instance
 * @opener: side of its opener
 * @tuple: its ends
 * @stat: counter of the reason
 *
 * Context: any.
 */
void pep_stat_trace_unsplit(const struct pep_net *pn, enum pep_side opener,
			    const struct pep_tuple *tuple, enum pep_stat stat)
{
	if (trace_pep_unsplit_enabled())
		trace_pep_unsplit(pn, tuple, opener, pep_name_stat(stat));
}

/**
 * pep_stat_unsplit() - count a connection that is not split
 * @pn: instance
 * @opener: side of its opener
 * @tuple: its ends
 * @stat: counter of the reason
 *
 * Context: any.
 */
void pep_stat_unsplit(const struct pep_net *pn, enum pep_side opener,
		      const struct pep_tuple *tuple, enum pep_stat stat)
{
	pep_stat_inc(pn, stat);
	pep_stat_trace_unsplit(pn, opener, tuple, stat);
}

/**
 * pep_stat_read() - read one CPU's part of a counter
 * @pn: instance
 * @index: enum pep_stat, or one behind them
 * @cpu: a possible CPU
 *
 * Context: any.
 * Return: the CPU's part of the counter.
 */
u64 pep_stat_read(const struct pep_net *pn, unsigned int index, int cpu)
{
	return READ_ONCE(per_cpu_ptr(pn->stats, cpu)[index]);
}

/**
 * pep_stat_sum() - read a counter
 * @pn: instance
 * @index: enum pep_stat, or one behind them
 *
 * Context: any.
 * Return: the sum over all CPUs; not a snapshot while packets flow.
 */
u64 pep_stat_sum(const struct pep_net *pn, unsigned int index)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += pep_stat_read(pn, index, cpu);
	return sum;
}
