// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets made ahead.
 *
 * Connections are opened and accepted in softirq, but the kernel makes
 * sockets only where it may sleep. So a work item keeps a few of each kind
 * ready per CPU, with all options set, and releases used sockets in batches.
 * Taking one needs no lock, only BH off on the pool's CPU.
 *
 * An empty pool refuses no connection: SYNs wait in it, and the jobs that take
 * connections over or accept them, until the work item has filled it. When there
 * is no memory for that, connections stay as they are, SYNs pass, and the work
 * item tries again a little later.
 */

#include "pool.h"

#include <linux/cpu.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "compat.h"
#include "gen.h"
#include "queue.h"
#include "socket.h"
#include "stat.h"

/**
 * struct pep_release - sockets of one CPU to be released
 * @list: struct pep_sock
 * @work: releases them, a little later so that they come in batches
 */
struct pep_release {
	struct llist_head list;
	struct delayed_work work;
};

/* Time until the next attempt to make sockets for which there was no memory. */
#define PEP_POOL_RETRY	(HZ / 20 + 1)

static struct pep_release __percpu *pep_releases;
static struct workqueue_struct *pep_pool_wq;

/* Continues with SYNs that have waited; set at load. */
static pep_pool_resume *pep_pool_resumed __ro_after_init;

/**
 * pep_pool_set_resume() - set the function that continues with SYNs
 * @resume: function
 *
 * Context: once, at load.
 */
void __init pep_pool_set_resume(pep_pool_resume *resume)
{
	pep_pool_resumed = resume;
}

static bool pep_pool_low(const struct pep_pool *pool, int kind,
			 unsigned int level)
{
	return (pool->wanted & BIT(kind)) && pool->nready[kind] < level;
}

/* Operations of a stream socket, taken from the open listener of the family:
 * inet6_stream_ops is not exported.
 */
static const struct proto_ops *pep_pool_ops(struct pep_gen *gen, int family)
{
	return pep_gen_listener(gen, family, PEP_SIDE_WIRELESS)->sock->ops;
}

/**
 * pep_pool_make() - make one socket
 * @gen: generation that it is for
 * @kind: kind of socket
 *
 * Context: may sleep.
 * Return: the socket, or NULL.
 */
static struct pep_sock *pep_pool_make(struct pep_gen *gen,
				      enum pep_pool_kind kind)
{
	int family = kind & 1 ? AF_INET6 : AF_INET;
	struct pep_sock *ps;
	int err;

	ps = kmalloc(sizeof(*ps), GFP_KERNEL);
	if (!ps)
		return NULL;
	if (kind == PEP_POOL_SHELL4 || kind == PEP_POOL_SHELL6) {
		err = sock_create_lite(family, SOCK_STREAM, IPPROTO_TCP,
				       &ps->sock);
		if (!err) {
			/* Without ops sock_release() would not close sk. */
			ps->sock->ops = pep_pool_ops(gen, family);
			__module_get(ps->sock->ops->owner);
			ps->sock->state = SS_CONNECTED;
		}
	} else {
		enum pep_side side = (kind - PEP_POOL_WIRELESS4) / 2;

		err = pep_socket_make(gen, family, side, &ps->sock);
		if (!err)
			ps->sock->state = SS_CONNECTED;
	}
	if (err) {
		kfree(ps);
		return NULL;
	}
	return ps;
}

/* Put a new socket into the pool; false when that is no longer possible. */
static bool pep_pool_put(struct pep_pool *pool, enum pep_pool_kind kind,
			 struct pep_sock *ps)
{
	bool kept = false;

	local_bh_disable();
	/* With its CPU offline this work runs elsewhere. */
	if (smp_processor_id() == pool->cpu &&
	    pool->nready[kind] < PEP_POOL_DEPTH) {
		pool->ready[kind][pool->nready[kind]++] = ps;
		kept = true;
	}
	local_bh_enable();
	return kept;
}

/* Fill up with sockets of a kind; false when one could not be made. */
static bool pep_pool_fill_kind(struct pep_pool *pool, enum pep_pool_kind kind)
{
	struct pep_sock *ps;

	while (pep_pool_low(pool, kind, PEP_POOL_DEPTH)) {
		ps = pep_pool_make(pool->gen, kind);
		if (!ps)
			return false;
		if (!pep_pool_put(pool, kind, ps)) {
			sock_release(ps->sock);
			kfree(ps);
			break;
		}
	}
	return true;
}

/* Queue the jobs that waited, with BH off. */
static void pep_pool_run_jobs(struct pep_pool *pool)
{
	struct llist_node *list = llist_del_all(&pool->jobs);
	struct pep_job *job, *next;

	llist_for_each_entry_safe(job, next, llist_reverse_order(list), node)
		pep_queue_job(job);
}

/* Serve the jobs and SYNs that waited, with BH off; each takes its sockets from
 * the pool of the CPU that this runs on, or waits again unless sockets could not
 * be made.
 */
static void pep_pool_serve(struct pep_pool *pool, bool failed)
{
	struct sk_buff_head syns;
	struct sk_buff *skb;

	__skb_queue_head_init(&syns);
	pool->failed = failed;
	pep_pool_run_jobs(pool);
	skb_queue_splice_init(&pool->waiting, &syns);
	rcu_read_lock();
	while ((skb = __skb_dequeue(&syns)))
		pep_pool_resumed(pool->gen, skb);
	rcu_read_unlock();
}

static void pep_pool_refill(struct work_struct *work)
{
	struct pep_pool *pool = container_of(to_delayed_work(work),
					     struct pep_pool, refill);
	bool failed = false;
	int kind;

	for (kind = 0; kind < PEP_POOL_KINDS; kind++)
		if (!pep_pool_fill_kind(pool, kind))
			failed = true;
	/* The sockets are there before the refill is counted. */
	pep_stat_inc(pool->gen->pn, PEP_STAT_POOL_REFILL);
	/* Only this work accesses the pool of a CPU that is offline. A CPU that
	 * has come back meanwhile runs the work itself.
	 */
	cpus_read_lock();
	local_bh_disable();
	if (smp_processor_id() == pool->cpu || !cpu_online(pool->cpu)) {
		pep_pool_serve(pool, failed);
		/* Until then connections are given up that would wait for sockets. */
		if (failed && cpu_online(pool->cpu))
			queue_delayed_work_on(pool->cpu, pep_pool_wq,
					      &pool->refill, PEP_POOL_RETRY);
	} else {
		queue_delayed_work_on(pool->cpu, pep_pool_wq, &pool->refill, 1);
	}
	local_bh_enable();
	cpus_read_unlock();
}

/**
 * pep_pool_setup() - prepare an empty pool
 * @pool: pool
 * @gen: generation that it belongs to
 * @cpu: CPU that it belongs to
 */
void pep_pool_setup(struct pep_pool *pool, struct pep_gen *gen, int cpu)
{
	pool->gen = gen;
	pool->cpu = cpu;
	__skb_queue_head_init(&pool->waiting);
	init_llist_head(&pool->jobs);
	INIT_DELAYED_WORK(&pool->refill, pep_pool_refill);
}

/**
 * pep_pool_drain() - release all contents of a pool
 * @pool: pool that nothing takes from any more
 *
 * Context: may sleep.
 */
void pep_pool_drain(struct pep_pool *pool)
{
	int kind;

	cancel_delayed_work_sync(&pool->refill);
	pep_stat_add(pool->gen->pn, PEP_STAT_DROPPED,
		     skb_queue_len(&pool->waiting));
	__skb_queue_purge(&pool->waiting);
	local_bh_disable();
	pep_pool_run_jobs(pool);
	local_bh_enable();
	for (kind = 0; kind < PEP_POOL_KINDS; kind++) {
		while (pool->nready[kind]) {
			struct pep_sock *ps;

			ps = pool->ready[kind][--pool->nready[kind]];
			sock_release(ps->sock);
			kfree(ps);
		}
	}
}

/**
 * pep_pool_want() - schedule making sockets of a kind when few are left
 * @pool: this CPU's pool
 * @kind: kind of socket
 *
 * Context: BH off.
 */
void pep_pool_want(struct pep_pool *pool, enum pep_pool_kind kind)
{
	pool->wanted |= BIT(kind);
	if (pep_pool_low(pool, kind, PEP_POOL_DEPTH / 2 + 1))
		queue_delayed_work_on(pool->cpu, pep_pool_wq, &pool->refill,
				      pool->failed ? PEP_POOL_RETRY : 0);
}

/**
 * pep_pool_has() - is there a socket to take?
 * @pool: this CPU's pool
 * @kind: kind of socket
 *
 * Schedules a refill when few are left.
 *
 * Context: BH off.
 * Return: true when pep_pool_take() will succeed.
 */
bool pep_pool_has(struct pep_pool *pool, enum pep_pool_kind kind)
{
	pep_pool_want(pool, kind);
	if (pool->nready[kind])
		return true;
	pep_stat_inc(pool->gen->pn, PEP_STAT_POOL_EMPTY);
	return false;
}

/**
 * pep_pool_take() - take a socket
 * @pool: this CPU's pool
 * @kind: kind of socket
 *
 * Context: BH off.
 * Return: a socket, or NULL when there is none right now.
 */
struct pep_sock *pep_pool_take(struct pep_pool *pool, enum pep_pool_kind kind)
{
	if (!pep_pool_has(pool, kind))
		return NULL;
	return pool->ready[kind][--pool->nready[kind]];
}

/**
 * pep_pool_give_back() - return an unused socket
 * @pool: this CPU's pool
 * @kind: kind that it was taken as
 * @ps: from pep_pool_take(), in the same softirq
 *
 * Context: BH off.
 */
void pep_pool_give_back(struct pep_pool *pool, enum pep_pool_kind kind,
			struct pep_sock *ps)
{
	pool->ready[kind][pool->nready[kind]++] = ps;
}

/**
 * pep_pool_wait() - let a SYN wait for the next refill
 * @pool: this CPU's pool, which was found empty
 * @skb: held SYN
 *
 * Context: BH off; check pep_pool_may_wait() first.
 */
void pep_pool_wait(struct pep_pool *pool, struct sk_buff *skb)
{
	__skb_queue_tail(&pool->waiting, skb);
}

/**
 * pep_pool_wait_job() - run a job again after the next refill
 * @pool: this CPU's pool, which was found empty
 * @job: claimed job
 *
 * Context: softirq.
 */
void pep_pool_wait_job(struct pep_pool *pool, struct pep_job *job)
{
	llist_add(&job->node, &pool->jobs);
}

static void pep_pool_release_work(struct work_struct *work)
{
	struct pep_release *rel = container_of(to_delayed_work(work),
					       struct pep_release, work);
	struct pep_sock *ps, *next;

	llist_for_each_entry_safe(ps, next, llist_del_all(&rel->list), node) {
		sock_release(ps->sock);
		kfree(ps);
		cond_resched();
	}
}

/**
 * pep_pool_release() - schedule the release of a socket
 * @ps: socket in TCP_CLOSE, or one that was never used
 *
 * Context: BH off.
 */
void pep_pool_release(struct pep_sock *ps)
{
	struct pep_release *rel = this_cpu_ptr(pep_releases);

	if (llist_add(&ps->node, &rel->list))
		queue_delayed_work_on(smp_processor_id(), pep_pool_wq,
				      &rel->work, 1);
}

/**
 * pep_pool_flush() - wait until all sockets given back are released
 *
 * Context: may sleep.
 */
void pep_pool_flush(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		flush_delayed_work(&per_cpu_ptr(pep_releases, cpu)->work);
}

/**
 * pep_pool_init() - prepare for pools
 *
 * Context: may sleep; once, at load.
 * Return: 0 or -ENOMEM.
 */
int pep_pool_init(void)
{
	int cpu;

	pep_releases = alloc_percpu(struct pep_release);
	if (!pep_releases)
		return -ENOMEM;
	pep_pool_wq = alloc_workqueue("pep", WQ_HIGHPRI | WQ_MEM_RECLAIM |
				      WQ_PERCPU, 0);
	if (!pep_pool_wq) {
		free_percpu(pep_releases);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu) {
		struct pep_release *rel = per_cpu_ptr(pep_releases, cpu);

		init_llist_head(&rel->list);
		INIT_DELAYED_WORK(&rel->work, pep_pool_release_work);
	}
	return 0;
}

/**
 * pep_pool_exit() - undo pep_pool_init()
 *
 * Context: may sleep; once, at unload, without pools left.
 */
void pep_pool_exit(void)
{
	pep_pool_flush();
	destroy_workqueue(pep_pool_wq);
	free_percpu(pep_releases);
}
