// SPDX-License-Identifier: GPL-2.0
/*
 * A queue of jobs per CPU, run by a NAPI of its own so that relaying shares
 * the softirq budget with the devices. MPTCP runs its delegated actions the
 * same way. A job is queued on the CPU that asks for it and runs there, without
 * a lock.
 *
 * When a CPU goes offline the core moves its scheduled NAPIs to another one,
 * which then runs the jobs of the dead one's queue: the queue is found from
 * the NAPI, never from the CPU. The other CPU may still run these jobs when the
 * first one is back and queues more, which is why they are in an llist.
 */

#include "queue.h"

#include <linux/percpu.h>
#include <linux/slab.h>

static struct pep_queue __percpu *pep_queues;
static struct net_device *pep_queue_dev;

/* The next job, in the order in which they were queued; NULL for none. */
static struct pep_job *pep_queue_next(struct pep_queue *queue)
{
	struct llist_node *node = queue->todo;

	if (!node)
		node = llist_reverse_order(llist_del_all(&queue->jobs));
	queue->todo = node ? node->next : NULL;
	return node ? llist_entry(node, struct pep_job, node) : NULL;
}

static int pep_queue_poll(struct napi_struct *napi, int budget)
{
	struct pep_queue *queue = container_of(napi, struct pep_queue, napi);
	unsigned int done = 0;

	rcu_read_lock();
	while (done < budget) {
		struct pep_job *job = pep_queue_next(queue);

		if (!job)
			break;
		clear_bit(0, &job->queued);
		/* Pairs with test_and_set_bit() in pep_job_claim(). */
		smp_mb__after_atomic();
		done += job->run(job, queue);
	}
	rcu_read_unlock();

	done = min_t(unsigned int, done, budget);
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

/**
 * pep_queue_job() - schedule a job on this CPU
 * @job: job that the caller has claimed
 *
 * Context: any but hard interrupt; socket callbacks run with BH on when a
 *	process releases the socket.
 */
void pep_queue_job(struct pep_job *job)
{
	struct pep_queue *queue;

	local_bh_disable();
	queue = this_cpu_ptr(pep_queues);
	llist_add(&job->node, &queue->jobs);
	napi_schedule(&queue->napi);
	local_bh_enable();
}

/**
 * pep_queue_init() - make the queues
 *
 * Context: may sleep; once, at load.
 * Return: 0 or -ENOMEM.
 */
int pep_queue_init(void)
{
	int cpu;

	pep_queue_dev = alloc_netdev_dummy(0);
	pep_queues = alloc_percpu(struct pep_queue);
	if (!pep_queue_dev || !pep_queues) {
		free_percpu(pep_queues);
		if (pep_queue_dev)
			free_netdev(pep_queue_dev);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu) {
		struct pep_queue *queue = per_cpu_ptr(pep_queues, cpu);

		init_llist_head(&queue->jobs);
		netif_napi_add_tx(pep_queue_dev, &queue->napi, pep_queue_poll);
		napi_enable(&queue->napi);
	}
	return 0;
}

/**
 * pep_queue_exit() - take the queues down
 *
 * Nothing queues a job any more: there are no flows and no listeners.
 *
 * Context: may sleep; once, at unload.
 */
void pep_queue_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct pep_queue *queue = per_cpu_ptr(pep_queues, cpu);

		napi_disable(&queue->napi);
		__netif_napi_del(&queue->napi);
		WARN_ON_ONCE(!llist_empty(&queue->jobs) || queue->todo);
		pep_gather_drop(&queue->page);
	}
	synchronize_net();
	free_percpu(pep_queues);
	free_netdev(pep_queue_dev);
}
