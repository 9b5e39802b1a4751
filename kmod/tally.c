// SPDX-License-Identifier: GPL-2.0
/*
 * A tally belongs to a profile's name: it holds the number of the profile's flows
 * and its current generation. It outlives both the profile, which may be deleted
 * while it has flows, and any of its generations, which are replaced. A name that
 * is used again when none of these is left gets another tally.
 */

#include "tally.h"

#include <linux/slab.h>

#include "gain.h"

/**
 * pep_tally_create() - create a tally
 *
 * Context: may sleep.
 * Return: a tally without flows, with a reference, or NULL.
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
 * @tally: tally that another reference keeps
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
