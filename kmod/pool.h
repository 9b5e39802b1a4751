/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_POOL_H
#define _PEP_POOL_H

#include <linux/llist.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <uapi/linux/pep.h>

struct pep_gen;
struct pep_job;

/* Sockets of one kind that a CPU keeps ready for a generation. */
#define PEP_POOL_DEPTH		32

/* SYNs of one CPU and generation that may wait for a socket. */
#define PEP_POOL_WAITING	512

/**
 * enum pep_pool_kind - purpose of a ready socket
 * @PEP_POOL_SHELL4: to graft an accepted IPv4 connection on
 * @PEP_POOL_SHELL6: to graft an accepted IPv6 connection on
 * @PEP_POOL_WIRELESS4: to connect to an IPv4 subscriber
 * @PEP_POOL_WIRELESS6: to connect to an IPv6 subscriber
 * @PEP_POOL_SERVER4: to connect to an IPv4 server
 * @PEP_POOL_SERVER6: to connect to an IPv6 server
 * @PEP_POOL_KINDS: number of kinds
 */
enum pep_pool_kind {
	PEP_POOL_SHELL4,
	PEP_POOL_SHELL6,
	PEP_POOL_WIRELESS4,
	PEP_POOL_WIRELESS6,
	PEP_POOL_SERVER4,
	PEP_POOL_SERVER6,
	PEP_POOL_KINDS,
};

/**
 * struct pep_sock - a socket of ours
 * @sock: made by the kernel's constructors
 * @node: in the list of sockets to release
 */
struct pep_sock {
	struct socket *sock;
	struct llist_node node;
};

/**
 * struct pep_pool - sockets that one CPU keeps ready for a generation
 * @gen: generation whose settings the sockets have
 * @cpu: CPU of the pool
 * @ready: sockets by kind
 * @nready: number of sockets in @ready; read locklessly
 * @wanted: kinds that have been requested, bit mask
 * @failed: the last refill could not make all wanted sockets
 * @waiting: SYNs that wait for a socket, held
 * @jobs: claimed jobs that wait for a socket
 * @refill: makes new sockets
 *
 * Only @cpu accesses it, with BH off; while @cpu is offline, @refill does.
 */
struct pep_pool {
	struct pep_gen *gen;
	int cpu;
	struct pep_sock *ready[PEP_POOL_KINDS][PEP_POOL_DEPTH];
	u8 nready[PEP_POOL_KINDS];
	u8 wanted;
	bool failed;
	struct sk_buff_head waiting;
	struct llist_head jobs;
	struct delayed_work refill;
};

/**
 * pep_pool_shell() - kind of shell for an address family
 * @family: AF_INET or AF_INET6
 *
 * Return: the kind.
 */
static inline enum pep_pool_kind pep_pool_shell(int family)
{
	return family == AF_INET6 ? PEP_POOL_SHELL6 : PEP_POOL_SHELL4;
}

/**
 * pep_pool_connector() - kind of socket that connects to a side
 * @side: side that the target is on, enum pep_side
 * @family: AF_INET or AF_INET6
 *
 * Return: the kind.
 */
static inline enum pep_pool_kind pep_pool_connector(enum pep_side side,
						    int family)
{
	if (family == AF_INET6)
		return side == PEP_SIDE_SERVER ? PEP_POOL_SERVER6 : PEP_POOL_WIRELESS6;
	return side == PEP_SIDE_SERVER ? PEP_POOL_SERVER4 : PEP_POOL_WIRELESS4;
}

/**
 * pep_pool_may_wait() - is there room for another waiting SYN?
 * @pool: this CPU's pool
 *
 * Return: true while fewer than PEP_POOL_WAITING wait and a refill is likely to
 * help.
 */
static inline bool pep_pool_may_wait(const struct pep_pool *pool)
{
	return !pool->failed &&
	       skb_queue_len(&pool->waiting) < PEP_POOL_WAITING;
}

/**
 * typedef pep_pool_resume - continue with a SYN that waited for a socket
 * @gen: generation whose pool has been refilled
 * @skb: held SYN; consumed
 *
 * Context: BH off, RCU read side.
 */
typedef void pep_pool_resume(struct pep_gen *gen, struct sk_buff *skb);

void pep_pool_set_resume(pep_pool_resume *resume);
void pep_pool_setup(struct pep_pool *pool, struct pep_gen *gen, int cpu);
void pep_pool_drain(struct pep_pool *pool);
void pep_pool_want(struct pep_pool *pool, enum pep_pool_kind kind);
bool pep_pool_has(struct pep_pool *pool, enum pep_pool_kind kind);
void pep_pool_give_back(struct pep_pool *pool, enum pep_pool_kind kind,
			struct pep_sock *ps);
struct pep_sock *pep_pool_take(struct pep_pool *pool, enum pep_pool_kind kind);
void pep_pool_wait(struct pep_pool *pool, struct sk_buff *skb);
void pep_pool_wait_job(struct pep_pool *pool, struct pep_job *job);
void pep_pool_release(struct pep_sock *ps);
void pep_pool_flush(void);
int pep_pool_init(void);
void pep_pool_exit(void);

#endif
