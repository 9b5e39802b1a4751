// SPDX-License-Identifier: GPL-2.0
/* Counters as users see them: names in trace events and reports, and attributes. */

#include "name.h"

#include <linux/kernel.h>
#include <uapi/linux/pep.h>

#include "names-gen.h"

/**
 * pep_name_stat() - name of a counter, as pepadm shows it
 * @stat: counter
 *
 * Context: any.
 * Return: a constant string; "unknown" when there is no such counter.
 */
const char *pep_name_stat(enum pep_stat stat)
{
	if (stat >= ARRAY_SIZE(pep_stat_names) || !pep_stat_names[stat])
		return "unknown";
	return pep_stat_names[stat];
}

/**
 * pep_name_attr() - attribute of a counter in netlink
 * @stat: counter, one of those between PEP_STAT_NONE and PEP_STAT_NAMED
 *
 * Context: any.
 * Return: PEP_A_STAT_*.
 */
int pep_name_attr(enum pep_stat stat)
{
	return pep_stat_attrs[stat];
}
