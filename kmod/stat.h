/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_STAT_H
#define _PEP_STAT_H

#include <linux/percpu.h>
#include <uapi/linux/pep.h>

#include "net.h"

/**
 * pep_stat_add() - add to a counter
 * @pn: instance
 * @index: which one, PEP_A_STAT_*
 * @n: what to add, in the counter's unit
 *
 * Context: any.
 */
static inline void pep_stat_add(const struct pep_net *pn, unsigned int index,
				u64 n)
{
	this_cpu_add(pn->stats[index], n);
}

/**
 * pep_stat_inc() - count one
 * @pn: instance
 * @index: which counter, PEP_A_STAT_*
 *
 * Context: any.
 */
static inline void pep_stat_inc(const struct pep_net *pn, unsigned int index)
{
	this_cpu_inc(pn->stats[index]);
}

int pep_stat_init(struct pep_net *pn);
void pep_stat_exit(struct pep_net *pn);
u64 pep_stat_sum(const struct pep_net *pn, unsigned int index);

#endif
