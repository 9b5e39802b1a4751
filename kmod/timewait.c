// SPDX-License-Identifier: GPL-2.0
/*
 * Removes the TIME_WAIT sockets of legs when steering does not see their packets any
 * more.
 *
 * Steering makes these sockets give way to a new connection. Where it does not see
 * a packet, early demux finds such a socket for it, and ip_forward() drops a packet that
 * has a socket: nothing is forwarded for a minute between two ends that use their
 * addresses and ports again.
 */

#include "timewait.h"

#include <linux/sched.h>
#include <net/inet_hashtables.h>
#include <net/inet_timewait_sock.h>
#include <net/tcp.h>

#include "net.h"

/* Buckets looked at before other work gets its turn. */
#define PEP_TIMEWAIT_BATCH	1024

/* A flow that ends with the device, and whose leg a process owns, ends a little later. */
#define PEP_TIMEWAIT_LATE	HZ

/* Is it a TIME_WAIT socket of a leg in a namespace? */
static bool pep_timewait_ours(const struct net *net, const struct sock *sk)
{
	return inet_sk_state_load(sk) == TCP_TIME_WAIT &&
	       net_eq(sock_net(sk), net) && inet_twsk(sk)->tw_transparent;
}

/* Take such a socket out of a bucket, with a reference; NULL when there is none. The
 * sockets are reused without a grace period, so one that moves to another bucket meanwhile
 * leads there: the end of a list identifies the bucket.
 */
static struct inet_timewait_sock *
pep_timewait_find(const struct net *net, struct inet_ehash_bucket *bucket,
		  unsigned int slot)
{
	struct hlist_nulls_node *node;
	struct sock *sk;

	do {
		sk_nulls_for_each_rcu(sk, node, &bucket->chain) {
			if (!pep_timewait_ours(net, sk) ||
			    !refcount_inc_not_zero(&sk->sk_refcnt))
				continue;
			/* It may be another one by now. */
			if (pep_timewait_ours(net, sk))
				return inet_twsk(sk);
			sock_gen_put(sk);
		}
	} while (get_nulls_value(node) != slot);
	return NULL;
}

/* Remove such sockets from a bucket. */
static void pep_timewait_clear(const struct net *net,
			       struct inet_ehash_bucket *bucket,
			       unsigned int slot)
{
	struct inet_timewait_sock *tw;

	do {
		rcu_read_lock();
		tw = pep_timewait_find(net, bucket, slot);
		rcu_read_unlock();
		if (tw) {
			local_bh_disable();
			inet_twsk_deschedule_put(tw);
			local_bh_enable();
		}
	} while (tw);
}

/* Remove all such sockets of a namespace. */
static void pep_timewait_purge(const struct net *net)
{
	const struct inet_hashinfo *hash = net->ipv4.tcp_death_row.hashinfo;
	unsigned int slot;

	for (slot = 0; slot <= hash->ehash_mask; slot++) {
		if (!hlist_nulls_empty(&hash->ehash[slot].chain))
			pep_timewait_clear(net, &hash->ehash[slot], slot);
		if (slot % PEP_TIMEWAIT_BATCH == 0)
			cond_resched();
	}
}

static void pep_timewait_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(work, struct pep_net, timewait);

	pep_timewait_purge(pn->net);
}

static void pep_timewait_late(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, timewait_late);

	pep_timewait_purge(pn->net);
}

/**
 * pep_timewait_init() - prepare an instance
 * @pn: instance
 *
 * Context: may sleep.
 */
void pep_timewait_init(struct pep_net *pn)
{
	INIT_WORK(&pn->timewait, pep_timewait_work);
	INIT_DELAYED_WORK(&pn->timewait_late, pep_timewait_late);
}

/**
 * pep_timewait_schedule() - schedule the removal of legs' TIME_WAIT sockets
 * @pn: instance that a device has been detached from
 *
 * This removes those of other devices' connections as well, whose late packets pass then.
 *
 * Context: any.
 */
void pep_timewait_schedule(struct pep_net *pn)
{
	/* Both do nothing after pep_timewait_stop(). */
	schedule_work(&pn->timewait);
	schedule_delayed_work(&pn->timewait_late, PEP_TIMEWAIT_LATE);
}

/**
 * pep_timewait_stop() - remove the TIME_WAIT sockets of legs for good
 * @pn: instance without flows, which gets no new ones
 *
 * Context: may sleep.
 */
void pep_timewait_stop(struct pep_net *pn)
{
	disable_work_sync(&pn->timewait);
	disable_delayed_work_sync(&pn->timewait_late);
	pep_timewait_purge(pn->net);
}
