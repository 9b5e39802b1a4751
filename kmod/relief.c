// SPDX-License-Identifier: GPL-2.0
/*
 * Reclaim memory from subscribers that hold too much of it.
 *
 * A flow holds the memory of both legs' queues, as TCP counts it. Each run of the relay
 * notes it, so that an idle flow counts with its last value. When a subscriber seems to
 * hold more than a share, or is refused a flow as TCP is short of memory, a work item looks
 * at the flows again. It resets those that hold memory and have made no progress for
 * PEP_RELIEF_STALL: an end does not read. When TCP is short of memory all windows
 * shrink to a few segments, so the more a subscriber holds then, the shorter that time
 * is. Flows that make progress are only bounded, see pep_window_couple().
 */

#include "relief.h"

#include <net/tcp.h>

#include "flow.h"
#include "idle.h"
#include "path.h"
#include "share.h"
#include "stat.h"

/* Time without progress after which a flow is reset whose subscriber holds too much. */
#define PEP_RELIEF_STALL	(30 * HZ)

/* The same when TCP is short of memory and the subscriber holds much. */
#define PEP_RELIEF_STALL_LEAST	HZ

/* How often flows are checked while there is such a subscriber, and while TCP is short
 * of memory.
 */
#define PEP_RELIEF_PERIOD	(5 * HZ)
#define PEP_RELIEF_PRESSED	(HZ / 2)

/* When TCP is short of memory, subscribers that hold at least this part of the largest
 * holding pay, a divisor.
 */
#define PEP_RELIEF_PART		2

/* Subscribers that hold less than this pay only when their share is smaller, bytes. */
#define PEP_RELIEF_LEAST	(1024 * 1024)

/* Memory of a flow's queues, bytes. */
static u32 pep_relief_memory(const struct pep_flow *flow)
{
	u32 sum = 0;
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		const struct sock *sk = flow->leg[side].sk;

		sum += atomic_read(&sk->sk_rmem_alloc) + sk->sk_wmem_queued;
	}
	return sum;
}

/**
 * pep_relief_note() - note the memory that a flow holds
 * @flow: flow that is up, locked, with its legs locked
 *
 * Context: BH off.
 */
void pep_relief_note(struct pep_flow *flow)
{
	if (flow->path)
		pep_share_hold(flow->pn, flow->path, &flow->held,
			       pep_relief_memory(flow));
}

/* Time without progress after which a flow is reset, jiffies, when its subscriber holds
 * @held bytes, which is too much.
 */
static unsigned long pep_relief_stall(u64 held, bool pressed)
{
	u64 stall = PEP_RELIEF_STALL;

	if (pressed && held > PEP_RELIEF_LEAST)
		stall = div64_u64(stall * PEP_RELIEF_LEAST, held);
	return max_t(u64, stall, PEP_RELIEF_STALL_LEAST);
}

/* Check a flow whose subscriber seems to hold more than @most bytes. Return: true when
 * the subscriber still does.
 */
static bool pep_relief_flow(struct pep_flow *flow, u64 most, bool pressed)
{
	bool over = false;
	u64 held;

	spin_lock_bh(&flow->lock);
	if (flow->path && (flow->state == PEP_FLOW_STATE_ESTABLISHED ||
			   flow->state == PEP_FLOW_STATE_CLOSING)) {
		pep_flow_lock_legs(flow);
		if (!flow->evicted)
			pep_share_renew(flow->pn, flow->path, &flow->held,
					pep_relief_memory(flow));
		held = pep_share_held(flow->path);
		over = held > most;
		if (over && flow->held && !flow->evicted &&
		    pep_idle_time(flow) > pep_relief_stall(held, pressed)) {
			WRITE_ONCE(flow->evicted, true);
			/* Its memory counts no more, or other flows would end, too. */
			pep_share_hold(flow->pn, flow->path, &flow->held, 0);
			pep_flow_schedule(flow);
		}
		pep_flow_unlock_legs(flow);
	}
	spin_unlock_bh(&flow->lock);
	return over;
}

/* In a walk of the flows, of which there may be a hundred thousand: let others run. */
static void pep_relief_breathe(void)
{
	if (need_resched()) {
		rcu_read_unlock();
		cond_resched();
		rcu_read_lock();
	}
}

/* The largest holding of a subscriber, bytes. */
static u64 pep_relief_top(struct pep_net *pn)
{
	struct pep_flow *flow;
	unsigned long id;
	u64 top = 0;

	rcu_read_lock();
	xa_for_each(&pn->flows, id, flow) {
		const struct pep_path *path = READ_ONCE(flow->path);

		if (path)
			top = max(top, pep_share_held(path));
		pep_relief_breathe();
	}
	rcu_read_unlock();
	return top;
}

static void pep_relief_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, relief);
	u64 most = READ_ONCE(pn->limits.subscriber_memory);
	bool pressed = READ_ONCE(tcp_memory_pressure);
	bool again = pressed;
	struct pep_flow *flow;
	unsigned long id;

	if (pressed)
		most = min(most, max(pep_relief_top(pn) / PEP_RELIEF_PART,
				     PEP_RELIEF_LEAST));
	rcu_read_lock();
	xa_for_each(&pn->flows, id, flow) {
		const struct pep_path *path = READ_ONCE(flow->path);

		if (path && pep_share_held(path) > most)
			again |= pep_relief_flow(flow, most, pressed);
		pep_relief_breathe();
	}
	rcu_read_unlock();
	if (again)
		schedule_delayed_work(&pn->relief, pressed ?
				      PEP_RELIEF_PRESSED : PEP_RELIEF_PERIOD);
}

/**
 * pep_relief_init() - prepare an instance
 * @pn: instance
 *
 * Context: may sleep.
 */
void pep_relief_init(struct pep_net *pn)
{
	INIT_DELAYED_WORK(&pn->relief, pep_relief_work);
}

/**
 * pep_relief_stop() - stop checking flows
 * @pn: instance that has no flows and gets none any more
 *
 * Context: may sleep.
 */
void pep_relief_stop(struct pep_net *pn)
{
	cancel_delayed_work_sync(&pn->relief);
}
