/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_TALLY_H
#define _PEP_TALLY_H

#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>

struct pep_gain;
struct pep_gen;

/**
 * struct pep_tally - state that all generations of a profile share
 * @ref: one of the profile, one per generation, one per connection that was handed
 *	back and may be split again
 * @flows: live flows
 * @gen: current generation of the profile, NULL while no device uses it;
 *	read under RCU, written under pep_net.lock
 * @gain: comparison of the connections that may be split, with a reference; NULL
 *	where there is no control group; read under RCU, written under pep_net.lock
 * @rcu: frees the memory: limits are checked under RCU
 */
struct pep_tally {
	refcount_t ref;
	atomic_t flows;
	struct pep_gen __rcu *gen;
	struct pep_gain __rcu *gain;
	struct rcu_head rcu;
};

struct pep_tally *pep_tally_create(void);
struct pep_tally *pep_tally_get(struct pep_tally *tally);
void pep_tally_put(struct pep_tally *tally);

#endif
