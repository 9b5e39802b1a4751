// SPDX-License-Identifier: GPL-2.0
/*
 * The table of connections that are followed.
 *
 * A SYN makes an entry, and both directions' packets find it with one lookup,
 * under RCU. The entry leaves the table at a reset, when the flow that has taken
 * it over has ended, when a SYN opens the connection anew, and after a silence, see
 * sweep.c. pep_limits.connections bounds the table, by default a share of the machine's
 * memory: when it is full, the connection whose handshake has been incomplete for longest
 * makes room. CPUs that insert at the same time may exceed the bound by one each.
 */

#include "track.h"

#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/jhash.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>

#include "conn.h"
#include "copies.h"
#include "flow.h"
#include "limit.h"
#include "meter.h"
#include "path.h"
#include "share.h"
#include "spare.h"
#include "stat.h"
#include "tally.h"
#include "trace.h"

/* The bound that the design states; debug kernels have larger locks. */
#if !IS_ENABLED(CONFIG_DEBUG_SPINLOCK) && !IS_ENABLED(CONFIG_LOCKDEP)
static_assert(sizeof(struct pep_conn) <= PEP_LIMIT_FOLLOWED_SIZE);
#endif

static struct kmem_cache *pep_track_cache;

/**
 * struct pep_track_key - how the table finds a connection
 * @tuple: tuple of a packet of either direction
 * @vrf: VRF that the packet is received by, 0 for none
 * @across: match answers to a connection's packets, from any VRF
 */
struct pep_track_key {
	const struct pep_tuple *tuple;
	int vrf;
	bool across;
};

/* The stage that an event leads to; an event that is not listed cannot happen.
 * None leads to PEP_TRACK_OPENING, which is 0.
 */
static const u8 pep_track_table[PEP_TRACK_STAGES][PEP_TRACK_EVENTS] = {
	[PEP_TRACK_OPENING] = {
		[PEP_TRACK_SYNACK] = PEP_TRACK_ANSWERED,
		[PEP_TRACK_ADOPT] = PEP_TRACK_SPLIT,
		[PEP_TRACK_IMPORT] = PEP_TRACK_FOLLOWED,
		[PEP_TRACK_END] = PEP_TRACK_GONE,
	},
	[PEP_TRACK_ANSWERED] = {
		[PEP_TRACK_ACK] = PEP_TRACK_FOLLOWED,
		[PEP_TRACK_END] = PEP_TRACK_GONE,
	},
	[PEP_TRACK_FOLLOWED] = {
		[PEP_TRACK_FINS] = PEP_TRACK_CLOSING,
		[PEP_TRACK_ADOPT] = PEP_TRACK_SPLIT,
		[PEP_TRACK_END] = PEP_TRACK_GONE,
	},
	[PEP_TRACK_CLOSING] = {
		[PEP_TRACK_END] = PEP_TRACK_GONE,
	},
	[PEP_TRACK_SPLIT] = {
		[PEP_TRACK_CUT] = PEP_TRACK_RELEASING,
		[PEP_TRACK_END] = PEP_TRACK_GONE,
	},
	[PEP_TRACK_RELEASING] = {
		[PEP_TRACK_RELEASED] = PEP_TRACK_FOLLOWED,
		[PEP_TRACK_END] = PEP_TRACK_GONE,
	},
};

/* An end of an IPv4 connection as a number. */
static u64 pep_track_end4(const union pep_addr *addr, __be16 port)
{
	return (u64)(__force u32)addr->v4 << 16 | (__force u16)port;
}

/* The same for both directions: with the ends in order. */
static u32 pep_track_hash4(const struct pep_tuple *tuple, u32 seed)
{
	u64 a = pep_track_end4(&tuple->src, tuple->sport);
	u64 b = pep_track_end4(&tuple->dst, tuple->dport);

	if (a > b)
		swap(a, b);
	return jhash_3words(a, b, (u32)(a >> 32) << 16 | (u32)(b >> 32), seed);
}

/* As pep_track_hash4(): each end by itself, and then both in order. */
static u32 pep_track_hash6(const struct pep_tuple *tuple, u32 seed)
{
	u32 a = jhash2((__force const u32 *)&tuple->src.v6, 4,
		       seed ^ (__force u16)tuple->sport);
	u32 b = jhash2((__force const u32 *)&tuple->dst.v6, 4,
		       seed ^ (__force u16)tuple->dport);

	return jhash_2words(min(a, b), max(a, b), seed);
}

static u32 pep_track_hash_tuple(const struct pep_tuple *tuple, u32 seed)
{
	return tuple->family == AF_INET ? pep_track_hash4(tuple, seed) :
					  pep_track_hash6(tuple, seed);
}

static u32 pep_track_hash_key(const void *data, u32 len, u32 seed)
{
	const struct pep_track_key *key = data;

	return pep_track_hash_tuple(key->tuple, seed);
}

static u32 pep_track_hash(const void *data, u32 len, u32 seed)
{
	const struct pep_conn *conn = data;

	return pep_track_hash_tuple(&conn->tuple, seed);
}

static int pep_track_compare(struct rhashtable_compare_arg *arg,
			     const void *obj)
{
	const struct pep_track_key *key = arg->key;
	const struct pep_tuple *a = key->tuple;
	const struct pep_conn *conn = obj;
	const struct pep_tuple *b = &conn->tuple;

	if (!key->across && conn->vrf != key->vrf)
		return 1;
	if (!key->across && pep_tuple_equal(a, b))
		return 0;
	return !pep_tuple_answers(a, b);
}

static const struct rhashtable_params pep_track_params = {
	.head_offset = offsetof(struct pep_conn, node),
	.hashfn = pep_track_hash_key,
	.obj_hashfn = pep_track_hash,
	.obj_cmpfn = pep_track_compare,
	.automatic_shrinking = true,
};

/**
 * pep_track_next() - look up a transition
 * @stage: enum pep_track_stage
 * @event: event that occurs
 *
 * Return: the stage that follows, or -EINVAL when the event cannot happen.
 */
int pep_track_next(unsigned int stage, enum pep_track_event event)
{
	if (stage >= PEP_TRACK_STAGES || event >= PEP_TRACK_EVENTS)
		return -EINVAL;
	return pep_track_table[stage][event] ?: -EINVAL;
}
EXPORT_SYMBOL_IF_KUNIT(pep_track_next);

/**
 * pep_track_find() - find the connection of a packet
 * @pn: started instance
 * @tuple: tuple of the packet
 * @vrf: VRF that it is received by, 0 for none
 *
 * A connection's packets of both directions may come by different VRFs.
 *
 * Context: RCU read side, which keeps the connection.
 * Return: the connection, which may be leaving the table, or NULL.
 */
struct pep_conn *pep_track_find(struct pep_net *pn,
				const struct pep_tuple *tuple, int vrf)
{
	struct pep_track_key key = { .tuple = tuple, .vrf = vrf };
	struct pep_conn *conn;

	conn = rhashtable_lookup(&pn->track, &key, pep_track_params);
	if (conn || (!vrf && !READ_ONCE(pn->track_vrfs)))
		return conn;
	key.across = true;
	return rhashtable_lookup(&pn->track, &key, pep_track_params);
}

static void pep_track_free(struct rcu_head *rcu)
{
	kmem_cache_free(pep_track_cache,
			container_of(rcu, struct pep_conn, rcu));
}

/**
 * pep_track_put() - drop a reference
 * @conn: connection
 *
 * Context: any but hard interrupt.
 */
void pep_track_put(struct pep_conn *conn)
{
	if (refcount_dec_and_test(&conn->ref))
		call_rcu(&conn->rcu, pep_track_free);
}

/* The connection leaves the table, or never gets there. */
static void pep_track_forget(struct pep_conn *conn)
{
	if (conn->path)
		pep_share_leave(conn->path);
	conn->path = NULL;
}

/* The handshake is complete, or the connection never gets as far. */
static void pep_track_settle(struct pep_net *pn, struct pep_conn *conn)
{
	spin_lock(&pn->track_lock);
	list_del(&conn->incomplete);
	spin_unlock(&pn->track_lock);
	/* These take the place of the list entry. */
	conn->tally = NULL;
	conn->meter = NULL;
}

/**
 * pep_track_drop_copies() - drop the copies of a connection, if it has any
 * @conn: connection, locked
 *
 * Its ends' @next and @label get the meaning that they have without copies.
 *
 * Context: BH off.
 */
void pep_track_drop_copies(struct pep_conn *conn)
{
	enum pep_side side;

	if (!conn->copies)
		return;
	for (side = 0; side < 2; side++) {
		conn->end[side].label = conn->copies->label[side];
		conn->end[side].next = conn->end[side].high;
	}
	pep_copies_free(conn->copies);
	WRITE_ONCE(conn->copies, NULL);
}

/**
 * pep_track_disarm() - keep triggers from splitting a connection
 * @conn: connection, locked; it has been taken over, or will not be by these
 *	triggers: pep_choose_resumed() may arm it again
 *
 * Context: BH off.
 */
void pep_track_disarm(struct pep_conn *conn)
{
	conn->trigger = 0;
	conn->due = 0;
	conn->crowded = false;
	pep_track_drop_copies(conn);
	if (pep_track_tally(conn)) {
		pep_tally_put(conn->tally);
		conn->tally = NULL;
	}
}

/**
 * pep_track_advance() - change a connection's stage
 * @pn: its instance
 * @conn: connection, locked
 * @event: event that has occurred
 *
 * At its end the connection leaves the table, which drops its reference, and drops its
 * flow and its copies.
 *
 * Context: BH off; RCU read side, or the caller has a reference.
 */
void pep_track_advance(struct pep_net *pn, struct pep_conn *conn,
		       enum pep_track_event event)
{
	int stage = conn->stage, next = pep_track_next(stage, event);

	lockdep_assert_held(&conn->lock);
	if (WARN_ON_ONCE(next < 0))
		return;
	trace_pep_stage(pn, conn, next);
	if (stage <= PEP_TRACK_ANSWERED && next > PEP_TRACK_ANSWERED)
		pep_track_settle(pn, conn);
	/* pep_follow_packet() reads it without the lock. */
	smp_store_release(&conn->stage, next);
	if (event == PEP_TRACK_RELEASED) {
		pep_flow_put(conn->flow);
		WRITE_ONCE(conn->flow, NULL);
	}
	if (next != PEP_TRACK_GONE)
		return;
	pep_track_disarm(conn);
	pep_meter_end(conn);
	pep_track_forget(conn);
	if (stage == PEP_TRACK_SPLIT || stage == PEP_TRACK_RELEASING)
		pep_flow_put(conn->flow);
	rhashtable_remove_fast(&pn->track, &conn->node, pep_track_params);
	pep_track_put(conn);
}

/**
 * pep_track_fins() - close a connection whose ends have both sent their FINs
 * @pn: its instance
 * @conn: connection, locked, followed
 *
 * Context: BH off, RCU read side.
 * Return: true when they have; it is closing, and counted.
 */
bool pep_track_fins(struct pep_net *pn, struct pep_conn *conn)
{
	if (!(conn->end[0].flags & conn->end[1].flags & PEP_TRACK_FIN))
		return false;
	pep_track_advance(pn, conn, PEP_TRACK_FINS);
	pep_stat_inc(pn, PEP_STAT_FOLLOW_CLOSED);
	return true;
}

/**
 * pep_track_close() - end a connection, and report it where no flow has it
 * @pn: its instance
 * @conn: connection, locked, in the table
 * @cause: enum pep_conn_cause; PEP_CONN_CAUSE_CLOSED replaces it when both ends
 *	have closed the connection, unless it is a reset
 *
 * The end of a flow is reported with the flow.
 *
 * Context: RCU read side, BH off.
 */
void pep_track_close(struct pep_net *pn, struct pep_conn *conn,
		     unsigned int cause)
{
	if (conn->stage == PEP_TRACK_CLOSING && cause != PEP_CONN_CAUSE_RESET)
		cause = PEP_CONN_CAUSE_CLOSED;
	if (conn->stage < PEP_TRACK_SPLIT)
		pep_conn_closed(pn, conn, cause);
	pep_track_advance(pn, conn, PEP_TRACK_END);
}

/**
 * pep_track_schedule() - schedule a connection's job, pep_adopt_run()
 * @conn: connection, under RCU
 *
 * Context: BH off.
 */
void pep_track_schedule(struct pep_conn *conn)
{
	if (!pep_job_claim(&conn->job))
		return;
	if (refcount_inc_not_zero(&conn->ref))
		pep_queue_job(&conn->job);
}

/* Evict the connection whose handshake has been incomplete for longest. */
static bool pep_track_evict(struct pep_net *pn)
{
	struct pep_conn *conn;

	spin_lock(&pn->track_lock);
	conn = list_first_entry_or_null(&pn->incomplete, struct pep_conn,
					incomplete);
	spin_unlock(&pn->track_lock);
	if (!conn)
		return false;
	/* The RCU read side keeps it. */
	spin_lock(&conn->lock);
	if (conn->stage <= PEP_TRACK_ANSWERED) {
		pep_track_close(pn, conn, PEP_CONN_CAUSE_EVICTED);
		pep_stat_inc(pn, PEP_STAT_FOLLOW_EVICTED);
	}
	spin_unlock(&conn->lock);
	return true;
}

/**
 * pep_track_new() - make a connection
 * @tuple: tuple of its SYN
 * @vrf: VRF that the SYN is received by, 0 for none
 *
 * Context: any.
 * Return: the connection, zeroed but for its key, in PEP_TRACK_OPENING; for
 * pep_job_init(), and then pep_track_insert() or pep_track_import(); or NULL.
 */
struct pep_conn *pep_track_new(const struct pep_tuple *tuple, int vrf)
{
	struct pep_conn *conn;

	conn = kmem_cache_zalloc(pep_track_cache, GFP_ATOMIC);
	if (!conn)
		return NULL;
	conn->tuple = *tuple;
	conn->vrf = vrf;
	spin_lock_init(&conn->lock);
	refcount_set(&conn->ref, 1);
	return conn;
}

/* A connection that was followed before goes on where it was. */
static void pep_track_go_on(struct pep_net *pn, struct pep_conn *conn)
{
	conn->path = pep_path_get(pn, &conn->tuple, conn->opener);
	if (conn->path)
		pep_share_enter(conn->path);
	pep_track_advance(pn, conn, PEP_TRACK_IMPORT);
	if (conn->end[0].flags & conn->end[1].flags & PEP_TRACK_FIN)
		pep_track_advance(pn, conn, PEP_TRACK_FINS);
}

/* Add a connection to the list of incomplete ones, and to the table. */
static int pep_track_enter(struct pep_net *pn, struct pep_conn *conn)
{
	struct pep_track_key key = { .tuple = &conn->tuple, .vrf = conn->vrf };
	int err;

	if (conn->vrf)
		WRITE_ONCE(pn->track_vrfs, true);
	conn->gaps = atomic_read(&pn->gaps);
	/* Packets on another CPU and pep_track_evict() wait for the lock. */
	spin_lock(&conn->lock);
	spin_lock(&pn->track_lock);
	list_add_tail(&conn->incomplete, &pn->incomplete);
	spin_unlock(&pn->track_lock);
	err = rhashtable_lookup_insert_key(&pn->track, &key, &conn->node,
					   pep_track_params);
	if (err) {
		pep_track_settle(pn, conn);
		pep_track_forget(conn);
		conn->stage = PEP_TRACK_GONE;
	} else if (conn->resume) {
		pep_track_go_on(pn, conn);
	}
	spin_unlock(&conn->lock);
	return err;
}

/**
 * pep_track_insert() - enter a connection into the table
 * @pn: started instance
 * @conn: from pep_track_new(), filled in; freed when it cannot be entered
 *
 * Context: BH off, RCU read side.
 * Return: 0, -ENOSPC when the table is full and all handshakes in it are complete, -EEXIST
 * when the connection is there already, or -ENOMEM.
 */
int pep_track_insert(struct pep_net *pn, struct pep_conn *conn)
{
	int err = -ENOSPC;

	if (atomic_read(&pn->track.nelems) < READ_ONCE(pn->limits.connections) ||
	    pep_track_evict(pn)) {
		err = pep_track_enter(pn, conn);
		if (!err)
			return 0;
		if (err != -EEXIST)
			err = -ENOMEM;
	} else {
		pep_track_forget(conn);
	}
	/* pep_track_evict() on another CPU may be looking at it. */
	pep_track_put(conn);
	return err;
}

/**
 * pep_track_import() - enter a connection that was followed before
 * @pn: started instance
 * @conn: from pep_track_new(), filled in; freed when it cannot be entered
 *
 * The connection goes on as followed, or as closing when both ends have sent a
 * FIN.
 *
 * Context: BH off, RCU read side.
 * Return: 0 or an error of pep_track_insert().
 */
int pep_track_import(struct pep_net *pn, struct pep_conn *conn)
{
	/* Check before another connection makes room for it. */
	if (pep_track_find(pn, &conn->tuple, conn->vrf)) {
		pep_track_put(conn);
		return -EEXIST;
	}
	conn->resume = true;
	return pep_track_insert(pn, conn);
}

/**
 * pep_track_start() - make the table of a namespace
 * @pn: instance
 *
 * Context: may sleep, pn->lock held.
 * Return: 0 or -ENOMEM.
 */
int pep_track_start(struct pep_net *pn)
{
	int err;

	err = percpu_counter_init(&pn->copied, 0, GFP_KERNEL);
	if (err)
		return err;
	err = rhashtable_init(&pn->track, &pep_track_params);
	if (err) {
		percpu_counter_destroy(&pn->copied);
		return err;
	}
	spin_lock_init(&pn->track_lock);
	INIT_LIST_HEAD(&pn->incomplete);
	return 0;
}

/**
 * pep_track_stop() - free the table
 * @pn: instance after pep_sweep_purge(), which receives no packets any more
 *
 * Context: may sleep.
 */
void pep_track_stop(struct pep_net *pn)
{
	rhashtable_destroy(&pn->track);
	WARN_ON_ONCE(percpu_counter_sum(&pn->copied));
	percpu_counter_destroy(&pn->copied);
}

/**
 * pep_track_init() - prepare for connections
 *
 * Context: may sleep; once, at load.
 * Return: 0 or -ENOMEM.
 */
int pep_track_init(void)
{
	pep_track_cache = KMEM_CACHE(pep_conn, SLAB_HWCACHE_ALIGN);
	return pep_track_cache ? 0 : -ENOMEM;
}

/**
 * pep_track_exit() - undo pep_track_init()
 *
 * Context: may sleep; once, at unload, without connections left.
 */
void pep_track_exit(void)
{
	rcu_barrier();
	pep_spare_exit();
	kmem_cache_destroy(pep_track_cache);
}
