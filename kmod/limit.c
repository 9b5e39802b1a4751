// SPDX-License-Identifier: GPL-2.0
/*
 * What a namespace may hold. New connections beyond pass unsplit, each with
 * its reason counted; nothing that is split already is touched.
 */

#include "limit.h"

#include <net/tcp.h>
#include <uapi/linux/pep.h>

/**
 * pep_limit_init() - set the defaults
 * @pn: instance
 */
void pep_limit_init(struct pep_net *pn)
{
	pn->max_flows = PEP_LIMIT_FLOWS;
	pn->max_pending = PEP_LIMIT_PENDING;
}

/**
 * pep_limit_check() - may another flow be opened?
 * @pn: instance
 *
 * The limits are not exact: CPUs that ask at the same time may exceed them by
 * one each.
 *
 * Context: any.
 * Return: 0, or the counter of the reason why not.
 */
unsigned int pep_limit_check(const struct pep_net *pn)
{
	if (READ_ONCE(pn->draining))
		return PEP_A_STAT_SYN_PASS_DRAIN;
	if (atomic_read(&pn->nflows) >= READ_ONCE(pn->max_flows))
		return PEP_A_STAT_SYN_PASS_MAX_FLOWS;
	if (atomic_read(&pn->npending) >= READ_ONCE(pn->max_pending))
		return PEP_A_STAT_SYN_PASS_MAX_PENDING;
	/* Of all namespaces together, net.ipv4.tcp_mem. */
	if (READ_ONCE(tcp_memory_pressure))
		return PEP_A_STAT_SYN_PASS_PRESSURE;
	return 0;
}
