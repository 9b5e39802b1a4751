// SPDX-License-Identifier: GPL-2.0
/*
 * Settings of existing flows.
 *
 * A change is written to all generations of the profile's name, and a work item
 * applies it to their flows, one after the other, where it may sleep: a
 * congestion control is set as a process would set it. The flow is pinned
 * meanwhile, so that its sockets are not released; it may end. Flows that are
 * being opened get the change once they are up.
 */

#include "live.h"

#include <linux/workqueue.h>

#include "flow.h"
#include "gen.h"
#include "setting.h"
#include "socket.h"

static struct workqueue_struct *pep_live_wq;

/* Read the settings that a flow is to have by now. Return: their number. */
static u32 pep_live_values(const struct pep_flow *flow,
			   struct pep_values *values)
{
	u32 seq;

	mutex_lock(&flow->pn->lock);
	*values = flow->gen->live;
	seq = flow->gen->live_seq;
	mutex_unlock(&flow->pn->lock);
	return seq;
}

static void pep_live_apply(struct pep_flow *flow)
{
	struct pep_values values;
	enum pep_side side;
	struct sock *sk;
	u32 seq;

	seq = pep_live_values(flow, &values);
	if (!pep_flow_pin(flow))
		return;
	for (side = 0; side < 2; side++) {
		sk = flow->leg[side].sk;
		/* A leg keeps one that is not available any more. */
		pep_socket_set_cc(flow->gen, sk, values.cc[side]);
		pep_leg_change(sk, side, &values);
	}
	pep_flow_unpin(flow, seq, &values);
}

/* Find the next flow from an id on that lacks its settings, with a reference;
 * NULL when there is none.
 */
static struct pep_flow *pep_live_next(struct pep_net *pn, unsigned long *id)
{
	struct pep_flow *flow;
	unsigned long at;

	rcu_read_lock();
	xa_for_each_start(&pn->flows, at, flow, *id) {
		*id = at + 1;
		if (flow->live_seq != READ_ONCE(flow->gen->live_seq) &&
		    refcount_inc_not_zero(&flow->ref))
			break;
		pep_flow_walk_resched();
	}
	rcu_read_unlock();
	return flow;
}

static void pep_live_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(work, struct pep_net, live);
	struct pep_flow *flow;
	unsigned long id = 0;

	while ((flow = pep_live_next(pn, &id))) {
		pep_live_apply(flow);
		pep_flow_put(flow);
		cond_resched();
	}
}

/**
 * pep_live_change() - change settings for the flows of a profile
 * @profile: profile
 * @info: request that names the settings, checked by pep_setting_live()
 * @values: their values
 *
 * Takes effect with pep_live_order().
 *
 * Context: pep_net.lock held.
 */
void pep_live_change(const struct pep_profile *profile,
		     const struct genl_info *info,
		     const struct pep_values *values)
{
	struct pep_values live;
	struct pep_gen *gen;

	lockdep_assert_held(&profile->pn->lock);
	list_for_each_entry(gen, &profile->pn->gens, node) {
		live = gen->live;
		pep_setting_copy(info, values, &live);
		/* As in the newest one, whose sockets have been made with it. */
		if (strcmp(gen->name, profile->name) ||
		    !memcmp(&gen->live, &live, sizeof(live)))
			continue;
		gen->live = live;
		WRITE_ONCE(gen->live_seq, gen->live_seq + 1);
	}
}

/**
 * pep_live_order() - schedule settings for the flows that lack them
 * @pn: instance
 *
 * Context: any but hard interrupt.
 */
void pep_live_order(struct pep_net *pn)
{
	queue_work(pep_live_wq, &pn->live);
}

/**
 * pep_live_up() - schedule settings that changed while a flow was being opened
 * @flow: flow that has come up, locked
 *
 * Context: softirq.
 */
void pep_live_up(const struct pep_flow *flow)
{
	if (READ_ONCE(flow->gen->live_seq) != flow->live_seq)
		pep_live_order(flow->pn);
}

/**
 * pep_live_flush() - wait until flows that are up have the scheduled settings
 * @pn: instance
 *
 * Context: may sleep, without pep_net.lock.
 */
void pep_live_flush(struct pep_net *pn)
{
	flush_work(&pn->live);
}

/**
 * pep_live_prepare() - prepare a new instance
 * @pn: instance
 */
void pep_live_prepare(struct pep_net *pn)
{
	INIT_WORK(&pn->live, pep_live_work);
}

/**
 * pep_live_stop() - stop the work of an instance
 * @pn: instance that has no flows and gets no new ones
 *
 * Context: may sleep.
 */
void pep_live_stop(struct pep_net *pn)
{
	cancel_work_sync(&pn->live);
}

/**
 * pep_live_init() - prepare for changes
 *
 * Context: may sleep; once, at load.
 * Return: 0 or -ENOMEM.
 */
int pep_live_init(void)
{
	pep_live_wq = alloc_workqueue("pep_live", WQ_UNBOUND, 0);
	return pep_live_wq ? 0 : -ENOMEM;
}

/**
 * pep_live_exit() - undo pep_live_init()
 *
 * Context: may sleep; once, at unload, without instances left.
 */
void pep_live_exit(void)
{
	destroy_workqueue(pep_live_wq);
}
