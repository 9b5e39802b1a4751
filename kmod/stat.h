/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_STAT_H
#define _PEP_STAT_H

#include <linux/percpu.h>
#include <uapi/linux/pep.h>

#include "net.h"
#include "stat-gen.h"
#include "tuple.h"

/*
 * Behind enum pep_stat come the samples of residence.c, by side and bucket, and
 * the sums of their times, by side, ns.
 */
#define PEP_STAT_RESIDENCE	PEP_STAT_NAMED
#define PEP_STAT_RESIDENCE_SUM	(PEP_STAT_RESIDENCE + 2 * PEP_RESIDENCE_BUCKETS)
#define PEP_STAT_COUNT		(PEP_STAT_RESIDENCE_SUM + 2)

/**
 * pep_stat_residence() - find the counter of a bucket
 * @side: side of the leg that the payload goes to, enum pep_side
 * @bucket: index as in pep_residence.count
 *
 * Return: its index.
 */
static inline unsigned int pep_stat_residence(enum pep_side side,
					      unsigned int bucket)
{
	return PEP_STAT_RESIDENCE + side * PEP_RESIDENCE_BUCKETS + bucket;
}

/**
 * pep_stat_add() - add to a counter
 * @pn: instance
 * @index: enum pep_stat, or one behind them
 * @n: amount to add, in the counter's unit
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
 * @index: enum pep_stat, or one behind them
 *
 * Context: any.
 */
static inline void pep_stat_inc(const struct pep_net *pn, unsigned int index)
{
	this_cpu_inc(pn->stats[index]);
}

int pep_stat_init(struct pep_net *pn);
void pep_stat_exit(struct pep_net *pn);
void pep_stat_syn(const struct pep_net *pn, enum pep_side opener,
		  const struct pep_tuple *tuple, enum pep_stat stat);
void pep_stat_trace_unsplit(const struct pep_net *pn, enum pep_side opener,
			    const struct pep_tuple *tuple, enum pep_stat stat);
void pep_stat_unsplit(const struct pep_net *pn, enum pep_side opener,
		      const struct pep_tuple *tuple, enum pep_stat stat);
u64 pep_stat_read(const struct pep_net *pn, unsigned int index, int cpu);
u64 pep_stat_sum(const struct pep_net *pn, unsigned int index);

#endif
