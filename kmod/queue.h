/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_QUEUE_H
#define _PEP_QUEUE_H

#include <linux/bvec.h>
#include <linux/llist.h>
#include <linux/netdevice.h>

#include "gather.h"

/* Payload for which a job takes another unit of a poll's budget, bytes: the most that a
 * device hands over as one packet.
 */
#define PEP_QUEUE_UNIT		65536

/**
 * struct pep_queue - the work of one CPU
 * @jobs: jobs to run, the latest first; its CPU adds to it, with BH off, maybe
 *	while another one runs @napi
 * @todo: jobs taken off @jobs, in order; used only by the CPU that runs @napi
 * @napi: runs the jobs in softirq, on a device that only carries it
 * @bvec: scratch for the fragments of one call
 * @ubuf: zerocopy state that tcp_sendmsg_locked() needs for its caller's memory
 * @page: page that payload is copied to; used only by the CPU that runs @napi
 */
struct pep_queue {
	struct llist_head jobs;
	struct llist_node *todo;
	struct napi_struct napi;
	struct bio_vec bvec[PEP_GATHER_BVECS];
	struct ubuf_info ubuf;
	struct pep_gather_page page;
};

/**
 * struct pep_job - work to run in softirq
 * @node: in pep_queue.jobs or pep_queue.todo while queued, or in pep_pool.jobs while it
 *	waits for sockets
 * @queued: bit 0 set from queueing, or from pep_job_claim(), until just before @run
 * @run: its function; softirq, RCU read side. The job may be queued again, also
 *	by another CPU, as soon as it has begun. Returns the units of the poll's
 *	budget that it has taken, at least 1
 */
struct pep_job {
	struct llist_node node;
	unsigned long queued;
	unsigned int (*run)(struct pep_job *job, struct pep_queue *queue);
};

/**
 * pep_job_init() - prepare a job
 * @job: job
 * @run: its function
 */
static inline void pep_job_init(struct pep_job *job,
				unsigned int (*run)(struct pep_job *job,
						    struct pep_queue *queue))
{
	job->queued = 0;
	job->run = run;
}

/**
 * pep_job_claim() - win the right to queue a job
 * @job: job
 *
 * Context: any.
 * Return: false when it is queued already: it will run after this call.
 */
static inline bool pep_job_claim(struct pep_job *job)
{
	/* A full barrier even when the bit is set: the run that the bit stands
	 * for sees the caller's earlier writes. Pairs with the barrier in
	 * pep_queue_poll().
	 */
	return !test_and_set_bit(0, &job->queued);
}

void pep_queue_job(struct pep_job *job);
int pep_queue_init(void);
void pep_queue_exit(void);

#endif
