// SPDX-License-Identifier: GPL-2.0
/*
 * What a namespace and a profile may hold. Connections beyond stay unsplit, each
 * with its reason counted; nothing that is split already is touched. Listeners are
 * notified of limits that are reached, and when draining is done.
 */

#include "limit.h"

#include <net/tcp.h>
#include <uapi/linux/pep.h>

#include "gen.h"
#include "report.h"

/* Time between two times that the same limit is told of, seconds. */
#define PEP_LIMIT_OVERLOAD	10

/**
 * pep_limit_init() - set the defaults
 * @pn: instance
 */
void pep_limit_init(struct pep_net *pn)
{
	pn->max_flows = PEP_LIMIT_FLOWS;
	pn->max_pending = PEP_LIMIT_PENDING;
	pn->prefix4 = PEP_LIMIT_PREFIX4;
	pn->prefix6 = PEP_LIMIT_PREFIX6;
}

/**
 * pep_limit_check() - may another flow be opened?
 * @gen: generation of the profile that is to split it
 *
 * The limits are not exact: CPUs that ask at the same time may exceed them by
 * one each.
 *
 * Context: any, under RCU.
 * Return: 0, or the counter of the reason why not.
 */
unsigned int pep_limit_check(const struct pep_gen *gen)
{
	const struct pep_net *pn = gen->pn;
	u32 most = gen->values.max_flows;

	if (READ_ONCE(pn->draining))
		return PEP_A_STAT_SPLIT_PASS_DRAIN;
	if (atomic_read(&pn->nflows) >= READ_ONCE(pn->max_flows))
		return PEP_A_STAT_SPLIT_PASS_MAX_FLOWS;
	if (most && atomic_read(&gen->tally->flows) >= most)
		return PEP_A_STAT_SPLIT_PASS_PROFILE_FLOWS;
	/* Of all namespaces together, net.ipv4.tcp_mem. */
	if (READ_ONCE(tcp_memory_pressure))
		return PEP_A_STAT_SPLIT_PASS_PRESSURE;
	return 0;
}

/**
 * pep_limit_pending() - are as many flows being opened as may be?
 * @pn: instance
 *
 * Listeners are notified. The limit is no more exact than the others.
 *
 * Context: any, BH off.
 * Return: true when no other opener may be answered early.
 */
bool pep_limit_pending(struct pep_net *pn)
{
	if (atomic_read(&pn->npending) < READ_ONCE(pn->max_pending))
		return false;
	pep_limit_refused(pn, PEP_A_STAT_SPLIT_PASS_MAX_PENDING);
	return true;
}

/* Number of a limit by its counter, negative for what is none. */
static int pep_limit_kind(unsigned int counter)
{
	switch (counter) {
	case PEP_A_STAT_SPLIT_PASS_MAX_FLOWS:
		return 0;
	case PEP_A_STAT_SPLIT_PASS_PROFILE_FLOWS:
		return 1;
	case PEP_A_STAT_SPLIT_PASS_MAX_PENDING:
		return 2;
	case PEP_A_STAT_SPLIT_PASS_PRESSURE:
		return 3;
	default:
		return -1;
	}
}

/**
 * pep_limit_refused() - tell those who listen that a limit is reached
 * @pn: instance
 * @counter: what pep_limit_check() has returned
 *
 * Context: any, BH off.
 */
void pep_limit_refused(struct pep_net *pn, unsigned int counter)
{
	u32 now = ktime_get_seconds();
	int kind = pep_limit_kind(counter);
	u32 last;

	if (kind < 0)
		return;
	last = READ_ONCE(pn->overload[kind]);
	if (last && now - last < PEP_LIMIT_OVERLOAD)
		return;
	/* Of those who come at the same time one tells. */
	if (cmpxchg(&pn->overload[kind], last, max(now, 1U)) == last)
		pep_report_overload(pn, counter);
}

/**
 * pep_limit_ended() - tell those who listen when draining is done
 * @pn: instance, of which a flow may have left the table
 *
 * Context: any.
 */
void pep_limit_ended(struct pep_net *pn)
{
	/* Of who erases the last flow and who begins to drain at the same time
	 * at least one sees what the other has done.
	 */
	smp_mb();
	if (READ_ONCE(pn->draining) && xa_empty(&pn->flows) &&
	    !xchg(&pn->drained, true))
		pep_report_drained(pn);
}

/**
 * pep_limit_drain() - begin or end to let new connections pass
 * @pn: instance, with its lock held
 * @on: which
 *
 * A flow that is being made on another CPU may come up yet.
 *
 * Context: may sleep.
 */
void pep_limit_drain(struct pep_net *pn, bool on)
{
	lockdep_assert_held(&pn->lock);
	if (on && !pn->draining)
		WRITE_ONCE(pn->drained, false);
	/* Whoever sees it sees @drained; pairs with xchg() above. */
	smp_store_release(&pn->draining, on);
	pep_limit_ended(pn);
}
