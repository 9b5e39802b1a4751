// SPDX-License-Identifier: GPL-2.0
/*
 * Flows: their states, their lifetime, the table that holds them.
 *
 * A flow is made when a connection is taken over, or when its opener is answered
 * early. It is in the table, and alive, until both legs are in
 * TCP_CLOSE. pep_flow_end() then makes it dead: the sockets are detached and
 * released, the flow leaves the table and loses the table's reference. Jobs
 * and timers that still hold a reference find it dead. The last reference
 * frees it after a grace period.
 */

#include "flow.h"

#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/slab.h>

#include "again.h"
#include "gen.h"
#include "limit.h"
#include "meter.h"
#include "report.h"
#include "share.h"
#include "stamp.h"
#include "stat.h"
#include "trace.h"
#include "unsent.h"

static struct kmem_cache *pep_flow_cache;

/* The state that an event leads to, -EINVAL where it cannot happen. */
static const s8 pep_flow_table[][PEP_FLOW_END + 1] = {
	[PEP_FLOW_STATE_CONNECTING] = {
		[PEP_FLOW_UP] = PEP_FLOW_STATE_ESTABLISHED,
		[PEP_FLOW_FIN] = -EINVAL,
		[PEP_FLOW_END] = PEP_FLOW_STATE_DEAD,
	},
	[PEP_FLOW_STATE_ESTABLISHED] = {
		[PEP_FLOW_UP] = -EINVAL,
		[PEP_FLOW_FIN] = PEP_FLOW_STATE_CLOSING,
		[PEP_FLOW_END] = PEP_FLOW_STATE_DEAD,
	},
	[PEP_FLOW_STATE_CLOSING] = {
		[PEP_FLOW_UP] = -EINVAL,
		[PEP_FLOW_FIN] = PEP_FLOW_STATE_CLOSING,
		[PEP_FLOW_END] = PEP_FLOW_STATE_DEAD,
	},
	[PEP_FLOW_STATE_DEAD] = {
		[PEP_FLOW_UP] = -EINVAL,
		[PEP_FLOW_FIN] = -EINVAL,
		[PEP_FLOW_END] = -EINVAL,
	},
};

/**
 * pep_flow_next() - look up a transition
 * @state: enum pep_flow_state
 * @event: event that occurs
 *
 * Return: the state that follows, or -EINVAL when the event cannot happen.
 */
int pep_flow_next(unsigned int state, enum pep_flow_event event)
{
	if (state >= ARRAY_SIZE(pep_flow_table) || event > PEP_FLOW_END)
		return -EINVAL;
	return pep_flow_table[state][event];
}
EXPORT_SYMBOL_IF_KUNIT(pep_flow_next);

/**
 * pep_flow_advance() - change a flow's state
 * @flow: flow, locked
 * @event: event that has occurred
 *
 * Listeners are notified when the flow is up.
 *
 * Context: BH off.
 */
void pep_flow_advance(struct pep_flow *flow, enum pep_flow_event event)
{
	int next = pep_flow_next(flow->state, event);

	lockdep_assert_held(&flow->lock);
	if (WARN_ON_ONCE(next < 0))
		return;
	if (flow->state < PEP_FLOW_STATE_ESTABLISHED &&
	    next >= PEP_FLOW_STATE_ESTABLISHED) {
		atomic_dec(&flow->pn->npending);
		if (flow->share)
			atomic_dec(flow->share);
		flow->active = jiffies;
	}
	trace_pep_state(flow, next);
	WRITE_ONCE(flow->state, next);
	if (event == PEP_FLOW_UP) {
		pep_stamp(flow, PEP_FLOW_TIME_UP);
		pep_report_new(flow);
	}
}

/**
 * pep_flow_schedule() - schedule a flow to run soon on this CPU
 * @flow: flow, by a reference or under RCU
 *
 * Context: any but hard interrupt.
 */
void pep_flow_schedule(struct pep_flow *flow)
{
	if (!pep_job_claim(&flow->job))
		return;
	/* Without a reference left the flow is dead and never runs again. */
	if (refcount_inc_not_zero(&flow->ref))
		pep_queue_job(&flow->job);
}

static void pep_flow_timeout(struct timer_list *timer)
{
	struct pep_flow *flow = container_of(timer, struct pep_flow, timer);

	pep_flow_schedule(flow);
	pep_flow_put(flow);
}

/**
 * pep_flow_wake_in() - schedule a flow to run later
 * @flow: flow, locked and alive
 * @delay: jiffies from now; replaces the delay of an earlier call
 */
void pep_flow_wake_in(struct pep_flow *flow, unsigned long delay)
{
	lockdep_assert_held(&flow->lock);
	refcount_inc(&flow->ref);
	if (mod_timer(&flow->timer, jiffies + delay))
		pep_flow_put(flow);
}

/**
 * pep_flow_wake_within() - schedule a flow to run after a time, unless it will before that
 * @flow: flow, locked and alive
 * @delay: jiffies from now
 */
void pep_flow_wake_within(struct pep_flow *flow, unsigned long delay)
{
	lockdep_assert_held(&flow->lock);
	refcount_inc(&flow->ref);
	if (timer_reduce(&flow->timer, jiffies + delay))
		pep_flow_put(flow);
}

/**
 * pep_flow_create() - make a flow and enter it into the table
 * @gen: generation, protected by RCU or a reference
 * @ops: its mode and its callbacks
 * @opener: side that sent the SYN, enum pep_side
 * @tuple: tuple of the SYN
 * @ifindex: device that received the SYN
 * @born: when the SYN came, ns of ktime_get_ns()
 *
 * The flow can be killed as soon as it is in the table, and is killed when a side
 * has lost its last device meanwhile: the caller schedules it when it has a leg.
 *
 * Context: BH off.
 * Return: a connecting flow with a reference for the caller, or NULL.
 */
struct pep_flow *pep_flow_create(struct pep_gen *gen,
				 const struct pep_flow_ops *ops,
				 enum pep_side opener,
				 const struct pep_tuple *tuple, int ifindex,
				 u64 born)
{
	struct pep_net *pn = gen->pn;
	struct pep_flow *flow;
	int err;

	flow = kmem_cache_zalloc(pep_flow_cache, GFP_ATOMIC);
	if (!flow)
		return NULL;
	if (!refcount_inc_not_zero(&gen->ref))
		goto err_free;
	pep_job_init(&flow->job, ops->run);
	spin_lock_init(&flow->lock);
	flow->state = PEP_FLOW_STATE_CONNECTING;
	flow->opener = opener;
	flow->mode = ops->mode;
	flow->ops = ops;
	flow->idle_timeout = gen->values.idle_timeout;
	flow->release_idle = gen->values.release_idle;
	refcount_set(&flow->ref, 2);
	flow->pn = pn;
	flow->gen = gen;
	flow->ifindex = ifindex;
	flow->born = born;
	flow->tuple = *tuple;
	timer_setup(&flow->timer, pep_flow_timeout, 0);

	atomic_inc(&gen->tally->flows);
	atomic_inc(&pn->nflows);
	atomic_inc(&pn->npending);
	err = xa_alloc_cyclic_bh(&pn->flows, &flow->id, flow,
				 XA_LIMIT(1, INT_MAX), &pn->next_id,
				 GFP_ATOMIC);
	if (err < 0)
		goto err_count;
	/* Pairs with atomic_dec_and_test() in pep_action_free_params(), after which
	 * pep_stray_detach() ends the flows that are in the table where it has no hook.
	 */
	smp_mb();
	if (!atomic_read(&pn->devices[PEP_SIDE_WIRELESS]) ||
	    !atomic_read(&pn->devices[PEP_SIDE_SERVER]))
		WRITE_ONCE(flow->killed, true);
	return flow;

err_count:
	atomic_dec(&pn->npending);
	atomic_dec(&pn->nflows);
	atomic_dec(&gen->tally->flows);
	pep_gen_put(gen);
err_free:
	kmem_cache_free(pep_flow_cache, flow);
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(pep_flow_create);

static void pep_flow_free(struct rcu_head *rcu)
{
	struct pep_flow *flow = container_of(rcu, struct pep_flow, rcu);
	struct pep_net *pn = flow->pn;
	enum pep_side side;

	for (side = 0; side < 2; side++)
		if (flow->leg[side].sk)
			sock_put(flow->leg[side].sk);
	pep_gen_put(flow->gen);
	kmem_cache_free(pep_flow_cache, flow);
	/* Last: pep_instance_stop() waits for it. */
	if (atomic_dec_and_test(&pn->nflows))
		wake_up_all(&pn->idle);
}

/**
 * pep_flow_put() - drop a reference
 * @flow: flow
 *
 * Context: any but hard interrupt.
 */
void pep_flow_put(struct pep_flow *flow)
{
	/* Dumps read the flow and its sockets under RCU. */
	if (refcount_dec_and_test(&flow->ref))
		call_rcu(&flow->rcu, pep_flow_free);
}

/**
 * pep_flow_set_leg() - give a flow one of its sockets
 * @flow: flow, locked, without that leg
 * @side: enum pep_side
 * @sk: socket, not locked
 * @ps: its owner, released when the flow ends
 */
void pep_flow_set_leg(struct pep_flow *flow, enum pep_side side,
		      struct sock *sk, struct pep_sock *ps)
{
	lockdep_assert_held(&flow->lock);
	sock_hold(sk);
	flow->leg[side].ps = ps;
	/* Dumps read the pointer without the lock. */
	smp_store_release(&flow->leg[side].sk, sk);
}

/**
 * pep_flow_lock_legs() - lock the sockets of a flow that exist
 * @flow: flow, locked
 */
void pep_flow_lock_legs(struct pep_flow *flow)
{
	enum pep_side side;

	lockdep_assert_held(&flow->lock);
	for (side = PEP_SIDE_WIRELESS; side <= PEP_SIDE_SERVER; side++)
		if (flow->leg[side].sk)
			pep_leg_lock(flow->leg[side].sk, side);
}

/**
 * pep_flow_unlock_legs() - undo pep_flow_lock_legs()
 * @flow: flow, locked, with the legs that it had then
 */
void pep_flow_unlock_legs(struct pep_flow *flow)
{
	int side;

	for (side = PEP_SIDE_SERVER; side >= PEP_SIDE_WIRELESS; side--)
		if (flow->leg[side].sk)
			pep_leg_unlock(flow->leg[side].sk);
}

/**
 * pep_flow_legs_owned() - does a process own one of the sockets?
 * @flow: flow with its legs locked
 *
 * Callers must not touch an owned socket, and must recognize a dead flow before
 * this call: the work item that releases its sockets owns them.
 *
 * Return: true when one is owned.
 */
bool pep_flow_legs_owned(const struct pep_flow *flow)
{
	enum pep_side side;

	for (side = 0; side < 2; side++)
		if (flow->leg[side].sk && sock_owned_by_user(flow->leg[side].sk))
			return true;
	return false;
}

/**
 * pep_flow_remember() - have later packets of a flow's ends reset
 * @flow: flow; nothing is done for an end without pep_flow_waits()
 *
 * A leg's reset carries the number of the next byte to send. An end that has
 * lost payload on the way expects another number and sends a challenge ACK
 * (RFC 5961, section 3.2); steering remembers the connection and answers.
 *
 * Context: BH off.
 */
void pep_flow_remember(struct pep_flow *flow)
{
	struct pep_tuple reverse;

	pep_tuple_reverse(&reverse, &flow->tuple);
	if (pep_flow_waits(flow, flow->opener))
		pep_memo_add(&flow->pn->reset, &flow->tuple);
	if (pep_flow_waits(flow, !flow->opener))
		pep_memo_add(&flow->pn->reset, &reverse);
}

/* Release the sockets of a dead flow. */
static void pep_flow_release_legs(struct pep_flow *flow)
{
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		if (flow->leg[side].ps)
			pep_pool_release(flow->leg[side].ps);
		flow->leg[side].ps = NULL;
	}
}

/**
 * pep_flow_pin() - keep the sockets of a flow from being released
 * @flow: flow with a reference of the caller
 *
 * Only one caller at a time may have it pinned.
 *
 * Context: process; until pep_flow_unpin() it may sleep and own the sockets.
 * Return: false when the flow is not up.
 */
bool pep_flow_pin(struct pep_flow *flow)
{
	spin_lock_bh(&flow->lock);
	flow->pinned = flow->state == PEP_FLOW_STATE_ESTABLISHED ||
		       flow->state == PEP_FLOW_STATE_CLOSING;
	spin_unlock_bh(&flow->lock);
	return flow->pinned;
}

/**
 * pep_flow_unpin() - undo pep_flow_pin() after a change of the legs' settings
 * @flow: pinned flow, which may have ended meanwhile
 * @seq: number of the settings that its legs have now
 * @values: settings
 *
 * Context: process.
 */
void pep_flow_unpin(struct pep_flow *flow, u32 seq,
		    const struct pep_values *values)
{
	bool changed = flow->idle_timeout != values->idle_timeout ||
		       flow->release_idle != values->release_idle;

	spin_lock_bh(&flow->lock);
	flow->pinned = false;
	flow->live_seq = seq;
	flow->idle_timeout = values->idle_timeout;
	flow->release_idle = values->release_idle;
	if (changed)
		flow->idle_due = false;
	if (flow->state == PEP_FLOW_STATE_DEAD)
		pep_flow_release_legs(flow);
	/* The run sets the timer anew and does its other work, too. */
	if (changed && timer_delete(&flow->timer))
		pep_flow_put(flow);
	spin_unlock_bh(&flow->lock);
	if (changed)
		pep_flow_schedule(flow);
}

/* Close a leg of a flow that ends, with both locked. A reset that is due is repeated: the
 * hook of untrack.c takes leg->again when it sees the reset, unsent.c does when it did not.
 */
static void pep_flow_abort(struct pep_flow *flow, enum pep_side side)
{
	struct pep_leg *leg = &flow->leg[side];
	struct pep_unsent reset;
	bool due;

	pep_unsent_note(&reset, leg->sk);
	due = reset.due && pep_flow_resets(flow, side);
	if (due)
		leg->again = pep_again_alloc(leg->sk);
	pep_leg_abort(leg->sk);
	if (due && !leg->reset_sent)
		pep_unsent_keep(flow->pn, &reset, xchg(&leg->again, NULL));
	kfree(xchg(&leg->again, NULL));
}

/**
 * pep_flow_end() - end a flow, with resets where legs are not yet closed
 * @flow: live flow, locked, with its legs locked and not owned
 * @cause: counter of the cause, PEP_STAT_*; a PEP_STAT_SPLIT_PASS_* of a flow whose legs
 *	could not be made
 *
 * The caller needs a reference of its own, or the RCU read side until it has unlocked the
 * flow. Listeners are notified first, while the legs are unchanged.
 *
 * Context: BH off.
 */
void pep_flow_end(struct pep_flow *flow, enum pep_stat cause)
{
	struct pep_path *path;
	enum pep_side side;

	if (cause != PEP_STAT_FLOW_CLOSED && !pep_flow_released(cause))
		pep_flow_remember(flow);
	if (flow->state == PEP_FLOW_STATE_CONNECTING &&
	    flow->mode == PEP_CONNECT_MODE_EARLY &&
	    !flow->at[PEP_FLOW_TIME_ANSWERED])
		trace_pep_connect(flow, cause);
	trace_pep_close(flow, cause);
	/* Without flow->conn the connection goes on as it was: report nothing. */
	if (flow->conn)
		pep_report_closed(flow, cause);
	pep_link_end(flow);
	path = flow->path;
	if (path) {
		/* pep_relief_work() reads it under RCU. */
		WRITE_ONCE(flow->path, NULL);
		pep_share_hold(flow->pn, path, &flow->held, 0);
		pep_share_end(path);
	}
	pep_meter_leg(flow);
	pep_flow_advance(flow, PEP_FLOW_END);
	for (side = 0; side < 2; side++) {
		if (!flow->leg[side].sk)
			continue;
		pep_flow_abort(flow, side);
		pep_leg_detach(flow->leg[side].sk);
	}
	if (!flow->pinned)
		pep_flow_release_legs(flow);
	pep_stat_inc(flow->pn, cause);
	atomic_dec(&flow->gen->tally->flows);
	xa_erase_bh(&flow->pn->flows, flow->id);
	pep_limit_ended(flow->pn);
	if (flow->conn)
		flow->ops->ended(flow, cause);
	if (timer_delete(&flow->timer))
		pep_flow_put(flow);
	pep_flow_put(flow);
}

/**
 * pep_flow_each() - call a function for flows of an instance
 * @pn: instance
 * @match: selects the flows; called on the RCU read side; NULL for all
 * @filter: passed to @match
 * @act: called for each of them on the RCU read side; returns whether to count it
 *
 * Context: may sleep.
 * Return: number of counted flows.
 */
unsigned int pep_flow_each(struct pep_net *pn, pep_flow_match *match,
			   const void *filter,
			   bool (*act)(struct pep_flow *flow))
{
	struct pep_flow *flow;
	unsigned int n = 0;
	unsigned long id;

	rcu_read_lock();
	xa_for_each(&pn->flows, id, flow) {
		if ((!match || match(flow, filter)) && act(flow))
			n++;
		pep_flow_walk_resched();
	}
	rcu_read_unlock();
	return n;
}

/**
 * pep_flow_kill_one() - end a flow with resets
 * @flow: flow, by a reference or under RCU
 *
 * Does not wait for the end.
 *
 * Context: any but hard interrupt.
 * Return: true, for pep_flow_each().
 */
bool pep_flow_kill_one(struct pep_flow *flow)
{
	WRITE_ONCE(flow->killed, true);
	pep_flow_schedule(flow);
	return true;
}

/**
 * pep_flow_kill() - end flows of an instance with resets
 * @pn: instance
 * @match: selects the flows; called on the RCU read side; NULL for all
 * @filter: passed to @match
 *
 * Does not wait for the end.
 *
 * Context: may sleep.
 * Return: number of flows that will end.
 */
unsigned int pep_flow_kill(struct pep_net *pn, pep_flow_match *match,
			   const void *filter)
{
	return pep_flow_each(pn, match, filter, pep_flow_kill_one);
}

/**
 * pep_flow_init() - prepare for flows
 *
 * Context: may sleep; once, at load.
 * Return: 0 or -ENOMEM.
 */
int pep_flow_init(void)
{
	pep_flow_cache = KMEM_CACHE(pep_flow, SLAB_HWCACHE_ALIGN);
	return pep_flow_cache ? 0 : -ENOMEM;
}

/**
 * pep_flow_exit() - undo pep_flow_init()
 *
 * Context: may sleep; once, at unload, without flows left.
 */
void pep_flow_exit(void)
{
	rcu_barrier();
	kmem_cache_destroy(pep_flow_cache);
}
