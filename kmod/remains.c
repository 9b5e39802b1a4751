// SPDX-License-Identifier: GPL-2.0
/*
 * Removes the sockets that connections leave in the kernel's table when steering does not
 * see their packets any more: TIME_WAIT sockets of legs, and requests of openers that were
 * answered early and whose flow has ended.
 *
 * Steering makes these sockets give way to a new connection. Where it does not see
 * a packet, early demux finds such a socket for it, and ip_forward() drops a packet that
 * has a socket: nothing is forwarded for a minute between two ends that use their
 * addresses and ports again, or of which one has not noticed that its connection is over.
 */

#include "remains.h"

#include <net/inet_hashtables.h>
#include <net/inet_timewait_sock.h>
#include <net/l3mdev.h>
#include <net/request_sock.h>
#include <net/tcp.h>

#include "listener.h"
#include "net.h"
#include "track.h"
#include "tuple.h"

/* Buckets looked at before other work gets its turn. */
#define PEP_REMAINS_BATCH	1024

/* A flow that ends with the device, and whose leg a process owns, ends a little later. */
#define PEP_REMAINS_LATE	HZ

/* Does a flow wait for the opener of a request, which is referenced? Under RCU. */
static bool pep_remains_wanted(struct pep_net *pn, const struct sock *sk)
{
	int iif = inet_rsk(inet_reqsk(sk))->ir_iif;
	const struct pep_conn *conn;
	struct pep_tuple tuple;

	pep_tuple_of_request(&tuple, sk);
	conn = pep_track_find(pn, &tuple,
			      l3mdev_master_ifindex_by_index(pn->net, iif));
	return conn && READ_ONCE(conn->stage) == PEP_TRACK_SPLIT;
}

/* Is it a TIME_WAIT socket of a leg, or a request? */
static bool pep_remains_kind(const struct net *net, const struct sock *sk)
{
	if (!net_eq(sock_net(sk), net))
		return false;
	switch (inet_sk_state_load(sk)) {
	case TCP_TIME_WAIT:
		return inet_twsk(sk)->tw_transparent;
	case TCP_NEW_SYN_RECV:
		return true;
	default:
		return false;
	}
}

/* Has a socket to go? It is referenced, under RCU. */
static bool pep_remains_ours(struct pep_net *pn, const struct sock *sk)
{
	/* It may be another one by now. */
	if (!pep_remains_kind(pn->net, sk))
		return false;
	return inet_sk_state_load(sk) == TCP_TIME_WAIT ||
	       (pep_listener_owns(inet_reqsk(sk)->rsk_listener) &&
		!pep_remains_wanted(pn, sk));
}

/* Take such a socket out of a bucket, with a reference; NULL when there is none. The
 * sockets are reused without a grace period, so one that moves to another bucket meanwhile
 * leads there: the end of a list identifies the bucket.
 */
static struct sock *pep_remains_find(struct pep_net *pn,
				     struct inet_ehash_bucket *bucket,
				     unsigned int slot)
{
	struct hlist_nulls_node *node;
	struct sock *sk;

	do {
		sk_nulls_for_each_rcu(sk, node, &bucket->chain) {
			if (!pep_remains_kind(pn->net, sk) ||
			    !refcount_inc_not_zero(&sk->sk_refcnt))
				continue;
			if (pep_remains_ours(pn, sk))
				return sk;
			sock_gen_put(sk);
		}
	} while (get_nulls_value(node) != slot);
	return NULL;
}

/* Take a request out of the table, as inet_csk_reqsk_queue_drop(), which 7.3 does not
 * export; the table and the timer hold a reference each.
 */
static void pep_remains_drop(struct inet_hashinfo *hash,
			     struct request_sock *req)
{
	struct sock *sk = req_to_sk(req);
	bool unlinked = false;

	if (sk_hashed(sk)) {
		spinlock_t *lock = inet_ehash_lockp(hash, req->rsk_hash);

		spin_lock(lock);
		unlinked = __sk_nulls_del_node_init_rcu(sk);
		spin_unlock(lock);
	}
	if (timer_delete_sync(&req->rsk_timer))
		sock_gen_put(sk);
	if (unlinked) {
		reqsk_queue_removed(&inet_csk(req->rsk_listener)->icsk_accept_queue,
				    req);
		sock_gen_put(sk);
	}
}

/* Remove such sockets from a bucket. */
static void pep_remains_clear(struct pep_net *pn, struct inet_hashinfo *hash,
			      unsigned int slot)
{
	struct sock *sk;

	do {
		rcu_read_lock();
		sk = pep_remains_find(pn, &hash->ehash[slot], slot);
		rcu_read_unlock();
		if (!sk)
			return;
		local_bh_disable();
		if (inet_sk_state_load(sk) == TCP_TIME_WAIT) {
			inet_twsk_deschedule_put(inet_twsk(sk));
		} else {
			pep_remains_drop(hash, inet_reqsk(sk));
			sock_gen_put(sk);
		}
		local_bh_enable();
	} while (true);
}

/* Remove all such sockets of a namespace. */
static void pep_remains_purge(struct pep_net *pn)
{
	struct inet_hashinfo *hash = pn->net->ipv4.tcp_death_row.hashinfo;
	unsigned int slot;

	for (slot = 0; slot <= hash->ehash_mask; slot++) {
		if (!hlist_nulls_empty(&hash->ehash[slot].chain))
			pep_remains_clear(pn, hash, slot);
		if (slot % PEP_REMAINS_BATCH == 0)
			cond_resched();
	}
}

static void pep_remains_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(work, struct pep_net, remains);

	pep_remains_purge(pn);
}

static void pep_remains_late(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, remains_late);

	pep_remains_purge(pn);
}

/**
 * pep_remains_init() - prepare an instance
 * @pn: instance
 *
 * Context: may sleep.
 */
void pep_remains_init(struct pep_net *pn)
{
	INIT_WORK(&pn->remains, pep_remains_work);
	INIT_DELAYED_WORK(&pn->remains_late, pep_remains_late);
}

/**
 * pep_remains_schedule() - schedule the removal of sockets
 * @pn: instance that a device has been detached from
 *
 * This removes TIME_WAIT sockets of other devices' connections as well, whose late packets
 * pass then.
 *
 * Context: any.
 */
void pep_remains_schedule(struct pep_net *pn)
{
	/* Both do nothing after pep_remains_stop(). */
	schedule_work(&pn->remains);
	schedule_delayed_work(&pn->remains_late, PEP_REMAINS_LATE);
}

/**
 * pep_remains_stop() - remove the sockets for good
 * @pn: instance without flows, which gets no new ones
 *
 * Context: may sleep.
 */
void pep_remains_stop(struct pep_net *pn)
{
	disable_work_sync(&pn->remains);
	disable_delayed_work_sync(&pn->remains_late);
	pep_remains_purge(pn);
}
