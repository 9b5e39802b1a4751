// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of a namespace and of a profile. Connections beyond stay unsplit, each
 * with its reason counted; connections that are split already stay so. Listeners
 * are notified of limits that are reached, and when draining is done.
 */

#include "limit.h"

#include <linux/mm.h>
#include <net/tcp.h>
#include <uapi/linux/pep.h>

#include "gen.h"
#include "path.h"
#include "report.h"

/* Time between two notifications of the same limit, seconds. */
#define PEP_LIMIT_OVERLOAD	10

/* Default limit of flows: one for each 64 KiB of memory, as a flow takes 8 KiB without
 * payload.
 */
#define PEP_LIMIT_FLOW_SHIFT	16
#define PEP_LIMIT_FLOWS_MIN	4096
#define PEP_LIMIT_FLOWS_MAX	262144

/* Default limit of flows that are being opened: 64 MiB. */
#define PEP_LIMIT_PENDING	4096

/* Bits of an address that make a subscriber by default: one host, and the smallest
 * network that a subscriber of IPv6 has.
 */
#define PEP_LIMIT_PREFIX4	32
#define PEP_LIMIT_PREFIX6	64

/* One subscriber's part of the limits of flows and connections, and of TCP's memory, a
 * divisor, and the least number of the former on any machine.
 */
#define PEP_LIMIT_PART		64
#define PEP_LIMIT_LEAST		256U

/* Highest limit of a subscriber's connections. */
#define PEP_LIMIT_MOST		16777216U

/* The part of the machine's memory that TCP may use before it is short of it, by the default
 * of net.ipv4.tcp_mem, a divisor; see tcp_init_mem().
 */
#define PEP_LIMIT_TCP_PART	16

/* Least memory of a subscriber, bytes: twice as much as flows over a link of 50 Mbit/s and
 * 600 ms hold.
 */
#define PEP_LIMIT_MEMORY_MIN	(16U << 20)

/* New connections of a subscriber, per second. */
#define PEP_LIMIT_RATE		1000

/* The part of the machine's memory that connections may take, a divisor. */
#define PEP_LIMIT_FOLLOWED_PART	16

/* The machine's memory, bytes. */
static u64 pep_limit_ram(void)
{
	return (u64)totalram_pages() << PAGE_SHIFT;
}

/* As many connections as PEP_LIMIT_FOLLOWED_PART of the machine's memory holds. */
static u32 pep_limit_followed(void)
{
	u64 most = div_u64(pep_limit_ram(), PEP_LIMIT_FOLLOWED_PART *
					    PEP_LIMIT_FOLLOWED_SIZE);

	return min_t(u64, most, INT_MAX);
}

/* As many flows as an eighth of the machine's memory holds, within bounds. */
static u32 pep_limit_flows(void)
{
	return clamp_t(u64, pep_limit_ram() >> PEP_LIMIT_FLOW_SHIFT,
		       PEP_LIMIT_FLOWS_MIN, PEP_LIMIT_FLOWS_MAX);
}

/* Memory that a subscriber may hold, bytes: a part of TCP's, within bounds. */
static u32 pep_limit_memory(void)
{
	return clamp_t(u64, div_u64(pep_limit_ram(),
				    PEP_LIMIT_TCP_PART * PEP_LIMIT_PART),
		       PEP_LIMIT_MEMORY_MIN, U32_MAX);
}

/**
 * pep_limit_defaults() - compute the defaults of a namespace's limits
 * @limits: filled
 */
void pep_limit_defaults(struct pep_limits *limits)
{
	*limits = (struct pep_limits){
		.flows = pep_limit_flows(),
		.pending = PEP_LIMIT_PENDING,
		.connections = pep_limit_followed(),
		.prefix4 = PEP_LIMIT_PREFIX4,
		.prefix6 = PEP_LIMIT_PREFIX6,
		.subscriber_rate = PEP_LIMIT_RATE,
		.subscriber_memory = pep_limit_memory(),
	};
	limits->subscriber_flows = max(limits->flows / PEP_LIMIT_PART,
				       PEP_LIMIT_LEAST);
	limits->subscriber_connections =
		clamp(limits->connections / PEP_LIMIT_PART, PEP_LIMIT_LEAST,
		      PEP_LIMIT_MOST);
}

/**
 * pep_limit_check() - may another flow be opened?
 * @gen: generation of the profile that is to split it
 *
 * The limits are not exact: CPUs that check at the same time may exceed them by
 * one each.
 *
 * Context: any, under RCU.
 * Return: PEP_STAT_NONE, or the counter of the reason why not.
 */
enum pep_stat pep_limit_check(const struct pep_gen *gen)
{
	const struct pep_net *pn = gen->pn;
	u32 most = gen->values.max_flows;

	if (READ_ONCE(pn->draining))
		return PEP_STAT_SPLIT_PASS_DRAIN;
	if (atomic_read(&pn->nflows) >= READ_ONCE(pn->limits.flows))
		return PEP_STAT_SPLIT_PASS_MAX_FLOWS;
	if (most && atomic_read(&gen->tally->flows) >= most)
		return PEP_STAT_SPLIT_PASS_PROFILE_FLOWS;
	/* All namespaces share net.ipv4.tcp_mem. */
	if (READ_ONCE(tcp_memory_pressure))
		return PEP_STAT_SPLIT_PASS_PRESSURE;
	return PEP_STAT_NONE;
}

/**
 * pep_limit_pending() - is the limit of flows being opened reached?
 * @pn: instance
 *
 * Listeners are notified. The limit is no more exact than the others.
 *
 * Context: BH off.
 * Return: true when no other opener may be answered early.
 */
bool pep_limit_pending(struct pep_net *pn)
{
	if (atomic_read(&pn->npending) < READ_ONCE(pn->limits.pending))
		return false;
	pep_limit_refused(pn, PEP_STAT_SPLIT_PASS_MAX_PENDING, NULL);
	return true;
}

/* Number of a limit by its counter, negative for other counters. */
static int pep_limit_kind(enum pep_stat counter)
{
	switch (counter) {
	case PEP_STAT_SPLIT_PASS_MAX_FLOWS:
		return 0;
	case PEP_STAT_SPLIT_PASS_PROFILE_FLOWS:
		return 1;
	case PEP_STAT_SPLIT_PASS_MAX_PENDING:
		return 2;
	case PEP_STAT_SPLIT_PASS_PRESSURE:
		return 3;
	case PEP_STAT_SPLIT_PASS_SUBSCRIBER:
		return 4;
	case PEP_STAT_FOLLOW_SUBSCRIBER:
		return 5;
	case PEP_STAT_FOLLOW_RATE:
		return 6;
	case PEP_STAT_SPLIT_PASS_MEMORY:
		return 7;
	default:
		return -1;
	}
}

/**
 * pep_limit_refused() - notify listeners that a limit is reached
 * @pn: instance
 * @counter: counter from pep_limit_check(), or another limit's; nothing happens for one
 *	that is none, as that of draining
 * @path: entry of the subscriber whose share it is, or NULL
 *
 * Context: BH off.
 */
void pep_limit_refused(struct pep_net *pn, enum pep_stat counter,
		       const struct pep_path *path)
{
	u32 now = ktime_get_seconds();
	int kind = pep_limit_kind(counter);
	u32 last;

	if (kind < 0)
		return;
	last = READ_ONCE(pn->overload[kind]);
	if (last && now - last < PEP_LIMIT_OVERLOAD)
		return;
	/* Of CPUs that get here at the same time one notifies. */
	if (cmpxchg(&pn->overload[kind], last, max(now, 1U)) == last)
		pep_report_overload(pn, counter, path);
}

/**
 * pep_limit_ended() - notify listeners when draining is done
 * @pn: instance whose table a flow may have left
 *
 * Context: any.
 */
void pep_limit_ended(struct pep_net *pn)
{
	/* When one CPU erases the last flow while another begins to drain, at
	 * least one of them sees the other's write.
	 */
	smp_mb();
	if (READ_ONCE(pn->draining) && xa_empty(&pn->flows) &&
	    !xchg(&pn->drained, true))
		pep_report_drained(pn);
}

/**
 * pep_limit_drain() - split and answer no connections from now on, or again
 * @pn: instance, with its lock held
 * @on: true to start, false to stop
 *
 * A flow that is being made on another CPU may still come up.
 *
 * Context: may sleep.
 */
void pep_limit_drain(struct pep_net *pn, bool on)
{
	lockdep_assert_held(&pn->lock);
	if (on && !pn->draining)
		WRITE_ONCE(pn->drained, false);
	/* A CPU that sees it sees @drained; pairs with xchg() above. */
	smp_store_release(&pn->draining, on);
	pep_limit_ended(pn);
}
