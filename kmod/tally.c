// SPDX-License-Identifier: GPL-2.0
/*
 * A tally belongs to a profile's name: the number of its flows, and the generation
 * that it has now. It outlives both the profile, which may be deleted while it has
 * flows, and any of its generations, which are replaced. A name that is taken again
 * when none of these is left gets another tally.
 */

#include "tally.h"

#include <linux/slab.h>

#include "gain.h"

/**
 * pep_tally_create() - begin to count
 *
 * Context: may sleep.
 * Return: a tally of no flows with a reference, or NULL.
 */
struct pep_tally *pep_tally_create(void)
{
	struct pep_tally *tally = kzalloc(sizeof(*tally), GFP_KERNEL);

	if (tally)
		refcount_set(&tally->ref, 1);
	return tally;
}

/**
 * pep_tally_get() - take a reference
 * @tally: tally, by another reference
 *
 * Context: any.
 * Return: @tally.
 */
struct pep_tally *pep_tally_get(struct pep_tally *tally)
{
	refcount_inc(&tally->ref);
	return tally;
}

/**
 * pep_tally_put() - drop a reference
 * @tally: tally
 *
 * Context: any.
 */
void pep_tally_put(struct pep_tally *tally)
{
	if (!refcount_dec_and_test(&tally->ref))
		return;
	pep_gain_put(rcu_dereference_protected(tally->gain, true));
	kfree_rcu(tally, rcu);
}
