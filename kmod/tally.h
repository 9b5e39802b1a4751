/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_TALLY_H
#define _PEP_TALLY_H

#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>

/**
 * struct pep_tally - how many flows a profile has, with all its generations
 * @ref: one of the profile, one per generation
 * @flows: live flows
 * @rcu: frees the memory: limits are checked under RCU
 */
struct pep_tally {
	refcount_t ref;
	atomic_t flows;
	struct rcu_head rcu;
};

struct pep_tally *pep_tally_create(void);
struct pep_tally *pep_tally_get(struct pep_tally *tally);
void pep_tally_put(struct pep_tally *tally);

#endif
