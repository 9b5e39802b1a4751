// SPDX-License-Identifier: GPL-2.0
/*
 * The table of subscribers.
 *
 * An entry per subscriber, an address or a network (pep_limits.prefix4 and prefix6),
 * keeps what learn.c has learned, and what legs have in flight.
 *
 * The table takes a fixed share of memory. When it is full, a subscriber without connections
 * makes room: PEP_PATH_TRIES are looked at, beginning with the one whose latest connection
 * began longest ago, and the first such one goes.
 */

#include "path.h"

#include <linux/inetdevice.h>
#include <linux/mm.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "compat.h"
#include "stat.h"

/* The share of the machine's memory that a namespace's paths may take, a divisor. */
#define PEP_PATH_SHARE		128

/* Entries that are searched for an unused one. */
#define PEP_PATH_TRIES		8

/* Entries that are visited before other work gets its turn. */
#define PEP_PATH_BATCH		1024

/* Walks of the table to flush it, at most: others may come meanwhile. */
#define PEP_PATH_WALKS		4

static struct kmem_cache *pep_path_cache;

static const struct rhashtable_params pep_path_params = {
	.head_offset = offsetof(struct pep_path, node),
	.key_offset = offsetof(struct pep_path, key),
	.key_len = sizeof(struct pep_path_key),
	.automatic_shrinking = true,
};

/**
 * pep_path_key() - find a connection's subscriber: the address on the wireless side
 * @pn: instance
 * @key: result
 * @tuple: tuple of the opener's SYN
 * @opener: side that the SYN came from, enum pep_side
 *
 * Context: any.
 */
void pep_path_key(const struct pep_net *pn, struct pep_path_key *key,
		  const struct pep_tuple *tuple, enum pep_side opener)
{
	const union pep_addr *addr = opener == PEP_SIDE_WIRELESS ?
				     &tuple->src : &tuple->dst;

	memset(key, 0, sizeof(*key));
	key->family = tuple->family;
	if (tuple->family == AF_INET6) {
		key->prefix = READ_ONCE(pn->limits.prefix6);
		ipv6_addr_prefix(&key->addr.v6, &addr->v6, key->prefix);
	} else {
		key->prefix = READ_ONCE(pn->limits.prefix4);
		key->addr.v4 = addr->v4 & inet_make_mask(key->prefix);
	}
}

static void pep_path_free(struct rcu_head *rcu)
{
	kmem_cache_free(pep_path_cache,
			container_of(rcu, struct pep_path, rcu));
}

/**
 * pep_path_put() - drop a reference
 * @path: path
 *
 * Context: any.
 */
void pep_path_put(struct pep_path *path)
{
	if (refcount_dec_and_test(&path->ref))
		call_rcu(&path->rcu, pep_path_free);
}

/* Take an entry out of the table and drop the table's reference; false when it was
 * taken out before.
 */
static bool pep_path_remove(struct pep_net *pn, struct pep_path *path)
{
	lockdep_assert_held(&pn->paths_lock);
	if (rhashtable_remove_fast(&pn->paths, &path->node, pep_path_params))
		return false;
	list_del_init(&path->lru);
	pn->npaths--;
	pep_path_put(path);
	return true;
}

/* Make room where the table is full: the first entry without other references goes, of the
 * PEP_PATH_TRIES least recently used ones; those in use go to the end. Return: false when
 * all of these are in use: the new subscriber gets no entry.
 */
static bool pep_path_room(struct pep_net *pn)
{
	struct pep_path *path, *next;
	int tries = PEP_PATH_TRIES;

	if (pn->npaths < pn->max_paths)
		return true;
	list_for_each_entry_safe(path, next, &pn->paths_lru, lru) {
		if (refcount_read(&path->ref) == 1) {
			pep_path_remove(pn, path);
			pep_stat_inc(pn, PEP_STAT_PATH_EVICTED);
			return true;
		}
		list_move_tail(&path->lru, &pn->paths_lru);
		if (!--tries)
			break;
	}
	return false;
}

/* Make an entry in the table, or find the one that another CPU has made meanwhile;
 * NULL without room or memory. With a reference for the caller.
 */
static struct pep_path *pep_path_new(struct pep_net *pn,
				     const struct pep_path_key *key)
{
	struct pep_path *path, *old;

	path = kmem_cache_zalloc(pep_path_cache, GFP_ATOMIC);
	if (!path)
		return NULL;
	path->key = *key;
	refcount_set(&path->ref, 2);
	spin_lock_init(&path->lock);
	path->seen = ktime_get_seconds();
	path->rtt_since = path->seen;
	path->used = path->seen;

	spin_lock_bh(&pn->paths_lock);
	old = pep_path_room(pn) ?
	      rhashtable_lookup_get_insert_fast(&pn->paths, &path->node,
						pep_path_params) :
	      ERR_PTR(-ENOSPC);
	if (!old) {
		list_add_tail(&path->lru, &pn->paths_lru);
		pn->npaths++;
		spin_unlock_bh(&pn->paths_lock);
		return path;
	}
	/* Under the lock it stays in the table. */
	if (!IS_ERR(old))
		refcount_inc(&old->ref);
	spin_unlock_bh(&pn->paths_lock);
	kmem_cache_free(pep_path_cache, path);
	return IS_ERR(old) ? NULL : old;
}

/**
 * pep_path_touch() - note that a connection of a subscriber has begun
 * @pn: started instance
 * @path: entry of the subscriber
 *
 * It is noted once a second at most. Eviction begins with the subscriber whose latest connection
 * began longest ago.
 *
 * Context: BH off.
 */
void pep_path_touch(struct pep_net *pn, struct pep_path *path)
{
	u32 now = ktime_get_seconds();

	if (READ_ONCE(path->used) == now)
		return;
	spin_lock_bh(&pn->paths_lock);
	WRITE_ONCE(path->used, now);
	/* It may have been taken out of the table meanwhile. */
	if (!list_empty(&path->lru))
		list_move_tail(&path->lru, &pn->paths_lru);
	spin_unlock_bh(&pn->paths_lock);
}

/* Find the entry of a subscriber, with a reference, or NULL. */
static struct pep_path *pep_path_lookup(struct pep_net *pn,
					const struct pep_path_key *key)
{
	struct pep_path *path;

	path = rhashtable_lookup(&pn->paths, key, pep_path_params);
	return path && refcount_inc_not_zero(&path->ref) ? path : NULL;
}

/**
 * pep_path_find() - find the entry of a connection's subscriber
 * @pn: started instance
 * @tuple: tuple of the opener's SYN
 * @opener: side that the SYN came from, enum pep_side
 *
 * Context: BH off, RCU read side.
 * Return: the entry with a reference, or NULL when there is none.
 */
struct pep_path *pep_path_find(struct pep_net *pn,
			       const struct pep_tuple *tuple,
			       enum pep_side opener)
{
	struct pep_path_key key;

	pep_path_key(pn, &key, tuple, opener);
	return pep_path_lookup(pn, &key);
}

/**
 * pep_path_get() - find or make the entry of a connection's subscriber
 * @pn: started instance
 * @tuple: tuple of the opener's SYN
 * @opener: side that the SYN came from, enum pep_side
 *
 * Context: BH off, RCU read side.
 * Return: the entry with a reference, or NULL without room or memory: nothing is
 * known of the link then, and nothing is learned.
 */
struct pep_path *pep_path_get(struct pep_net *pn,
			      const struct pep_tuple *tuple,
			      enum pep_side opener)
{
	struct pep_path_key key;
	struct pep_path *path;

	pep_path_key(pn, &key, tuple, opener);
	path = pep_path_lookup(pn, &key);
	if (!path)
		return pep_path_new(pn, &key);
	pep_path_touch(pn, path);
	return path;
}

/**
 * pep_path_claim() - change the bytes that a leg has in flight or may send at once
 * @path: path
 * @claim: the leg's claim; updated
 * @bytes: bytes that it has now
 * @more: the leg has more to send
 *
 * Context: softirq, or a process, with the leg's socket locked; BH may be on.
 */
void pep_path_claim(struct pep_path *path, struct pep_path_claim *claim,
		    u32 bytes, bool more)
{
	if (bytes != claim->bytes)
		atomic_add((int)(bytes - claim->bytes), &path->claimed);
	if (!bytes != !claim->bytes)
		atomic_add(bytes ? 1 : -1, &path->legs);
	if (more != claim->more)
		atomic_add(more ? 1 : -1, &path->busy);
	claim->bytes = bytes;
	claim->more = more;
}

/**
 * pep_path_others() - sum up the claims of a subscriber's other legs
 * @path: path
 * @claim: claim of the leg itself
 *
 * Context: any.
 * Return: bytes.
 */
u32 pep_path_others(const struct pep_path *path,
		    const struct pep_path_claim *claim)
{
	return max(atomic_read(&path->claimed) - (int)claim->bytes, 0);
}

/**
 * pep_path_end() - note a leg that has ended
 * @path: path
 * @segs: segments with payload that it has sent
 * @again: those of them that repeated others
 *
 * Context: BH off.
 */
void pep_path_end(struct pep_path *path, u32 segs, u32 again)
{
	spin_lock(&path->lock);
	path->segs += segs;
	path->again += again;
	path->flows++;
	spin_unlock(&path->lock);
}

/* Forget the subscribers that a walk of the table meets: it may miss some of a chain from
 * which others were removed.
 */
static unsigned int pep_path_flush_walk(struct pep_net *pn,
					pep_path_match *match,
					const void *filter)
{
	struct rhashtable_iter iter;
	unsigned int seen = 0, n = 0;
	struct pep_path *path;

	rhashtable_walk_enter(&pn->paths, &iter);
	rhashtable_walk_start(&iter);
	while ((path = rhashtable_walk_next(&iter))) {
		/* Begins anew when the table is resized. */
		if (!IS_ERR(path)) {
			spin_lock_bh(&pn->paths_lock);
			if (match(path, filter))
				n += pep_path_remove(pn, path);
			spin_unlock_bh(&pn->paths_lock);
		}
		if (++seen % PEP_PATH_BATCH)
			continue;
		rhashtable_walk_stop(&iter);
		cond_resched();
		pep_compat_walk_resume(&iter);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return n;
}

/**
 * pep_path_flush() - forget subscribers
 * @pn: started instance
 * @match: selects subscribers; called with pn->paths_lock held
 * @filter: argument of @match
 *
 * Connections and flows keep their entries, which no lookup finds any more.
 *
 * Context: may sleep, pn->lock held.
 * Return: number of subscribers.
 */
unsigned int pep_path_flush(struct pep_net *pn, pep_path_match *match,
			    const void *filter)
{
	int tries = PEP_PATH_WALKS;
	unsigned int more, n = 0;

	do {
		more = pep_path_flush_walk(pn, match, filter);
		n += more;
	} while (more && --tries);
	return n;
}

/**
 * pep_path_start() - make an instance's table
 * @pn: instance
 *
 * Context: may sleep, pn->lock held.
 * Return: 0 or a negative error.
 */
int pep_path_start(struct pep_net *pn)
{
	u64 room = div_u64((u64)totalram_pages() << PAGE_SHIFT, PEP_PATH_SHARE);

	spin_lock_init(&pn->paths_lock);
	INIT_LIST_HEAD(&pn->paths_lru);
	pn->npaths = 0;
	pn->max_paths = div_u64(room, kmem_cache_size(pep_path_cache));
	return rhashtable_init(&pn->paths, &pep_path_params);
}

/**
 * pep_path_stop() - free an instance's table
 * @pn: instance without flows and without connections in its table
 *
 * Context: may sleep.
 */
void pep_path_stop(struct pep_net *pn)
{
	struct pep_path *path;

	spin_lock_bh(&pn->paths_lock);
	while ((path = list_first_entry_or_null(&pn->paths_lru,
						struct pep_path, lru))) {
		pep_path_remove(pn, path);
		spin_unlock_bh(&pn->paths_lock);
		cond_resched();
		spin_lock_bh(&pn->paths_lock);
	}
	spin_unlock_bh(&pn->paths_lock);
	rhashtable_destroy(&pn->paths);
}

/**
 * pep_path_init() - prepare for paths
 *
 * Context: may sleep; once, at load.
 * Return: 0 or -ENOMEM.
 */
int pep_path_init(void)
{
	pep_path_cache = KMEM_CACHE(pep_path, 0);
	return pep_path_cache ? 0 : -ENOMEM;
}

/**
 * pep_path_exit() - undo pep_path_init()
 *
 * Context: may sleep; once, at unload.
 */
void pep_path_exit(void)
{
	/* Paths are freed after a grace period. */
	rcu_barrier();
	kmem_cache_destroy(pep_path_cache);
}
