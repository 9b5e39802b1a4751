// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of subscribers who hold too much of it comes back.
 *
 * A flow holds the memory of both legs' queues, as TCP counts it. Each run of the relay
 * notes it, so that an idle flow counts with its last value. When a subscriber seems to
 * hold more than a share, or TCP is short of memory, a work item looks at the flows
 * again. It resets those that hold memory and have made no progress for
 * PEP_RELIEF_STALL: an end does not read. Flows that make progress are only bounded,
 * see pep_window_couple().
 */

#include "relief.h"

#include <net/tcp.h>

#include "flow.h"
#include "idle.h"
#include "path.h"
#include "share.h"
#include "stat.h"

/* Time without progress after which a flow of a subscriber who holds too much is reset. */
#define PEP_RELIEF_STALL	(30 * HZ)

/* How often flows are looked at while there is such a subscriber. */
#define PEP_RELIEF_PERIOD	(5 * HZ)

/* When TCP is short of memory, subscribers pay who hold at least this part of the largest
 * holding, a divisor.
 */
#define PEP_RELIEF_PART		2

/* Subscribers who hold less than this never pay, bytes. */
#define PEP_RELIEF_LEAST	(1024 * 1024)

/* Memory of a flow's queues, bytes. */
static u32 pep_relief_memory(const struct pep_flow *flow)
{
	u32 sum = 0;
	int side;

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

/* Look at a flow whose subscriber seems to hold more than MOST. Return: true when the
 * subscriber still does.
 */
static bool pep_relief_flow(struct pep_flow *flow, u64 most)
{
	bool over = false;

	spin_lock_bh(&flow->lock);
	if (flow->path && (flow->state == PEP_FLOW_STATE_ESTABLISHED ||
			   flow->state == PEP_FLOW_STATE_CLOSING)) {
		pep_flow_lock_legs(flow);
		pep_relief_note(flow);
		over = pep_share_held(flow->path) > most;
		if (pep_idle_time(flow) > PEP_RELIEF_STALL && over &&
		    flow->held && !flow->evicted) {
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
	}
	rcu_read_unlock();
	return top;
}

static void pep_relief_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, relief);
	u64 most = READ_ONCE(pn->limits.subscriber_memory);
	struct pep_flow *flow;
	bool again = false;
	unsigned long id;

	if (READ_ONCE(tcp_memory_pressure)) {
		most = min(most, max(pep_relief_top(pn) / PEP_RELIEF_PART,
				     PEP_RELIEF_LEAST));
		again = true;
	}
	rcu_read_lock();
	xa_for_each(&pn->flows, id, flow) {
		const struct pep_path *path = READ_ONCE(flow->path);

		if (path && pep_share_held(path) > most)
			again |= pep_relief_flow(flow, most);
		/* There may be a hundred thousand. */
		if (need_resched()) {
			rcu_read_unlock();
			cond_resched();
			rcu_read_lock();
		}
	}
	rcu_read_unlock();
	if (again)
		schedule_delayed_work(&pn->relief, PEP_RELIEF_PERIOD);
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
 * pep_relief_stop() - look no more
 * @pn: instance without flows, which none is made for any more
 *
 * Context: may sleep.
 */
void pep_relief_stop(struct pep_net *pn)
{
	cancel_delayed_work_sync(&pn->relief);
}
