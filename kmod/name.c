// SPDX-License-Identifier: GPL-2.0
/* Names of counters, for readers of trace events and reports. */

#include "name.h"

#include <linux/kernel.h>

#include "names-gen.h"

/**
 * pep_name_stat() - name of a counter, as pepadm shows it
 * @index: PEP_A_STAT_*
 *
 * Context: any.
 * Return: a constant string; "unknown" when there is no such counter.
 */
const char *pep_name_stat(unsigned int index)
{
	if (index >= ARRAY_SIZE(pep_stat_names) || !pep_stat_names[index])
		return "unknown";
	return pep_stat_names[index];
}
