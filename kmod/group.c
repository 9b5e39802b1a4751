// SPDX-License-Identifier: GPL-2.0
/*
 * The control group of a comparison: connections that may be split, and never are.
 *
 * A keyed hash of the connection, or of its subscriber, chooses them, from the addresses
 * and ports alone.
 */

#include "group.h"

#include <linux/random.h>
#include <linux/siphash.h>

#include "gen.h"
#include "path.h"

/* All connections, 1/10,000. */
#define PEP_GROUP_ALL		10000

/* Secret of the hash that chooses the control group: subscribers cannot choose their
 * group.
 */
static siphash_key_t pep_group_key;

static u64 pep_group_hash(const struct pep_gen *gen,
			  const struct pep_tuple *tuple, enum pep_side opener)
{
	struct pep_path_key key;

	net_get_random_once(&pep_group_key, sizeof(pep_group_key));
	if (gen->values.control_by == PEP_CONTROL_BY_CONNECTION)
		return siphash(tuple, sizeof(*tuple), &pep_group_key);
	pep_path_key(gen->pn, &key, tuple, opener);
	return siphash(&key, sizeof(key), &pep_group_key);
}

/**
 * pep_group_held_back() - is a connection never to be split?
 * @gen: generation of the profile that may split it
 * @tuple: tuple of the opener's SYN
 * @opener: side that the SYN came from, enum pep_side
 *
 * Context: BH off.
 * Return: true for the profile's control group.
 */
bool pep_group_held_back(const struct pep_gen *gen,
			 const struct pep_tuple *tuple, enum pep_side opener)
{
	return gen->values.control &&
	       reciprocal_scale(pep_group_hash(gen, tuple, opener),
				PEP_GROUP_ALL) < gen->values.control;
}
