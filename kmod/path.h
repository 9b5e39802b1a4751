/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_PATH_H
#define _PEP_PATH_H

#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <uapi/linux/pep.h>

#include "net.h"
#include "tuple.h"

/**
 * struct pep_path_key - subscriber of a path
 * @addr: the subscriber's address or network, see struct pep_limits
 * @family: AF_INET or AF_INET6
 * @prefix: bits of @addr that count
 *
 * Unused bytes are zero: it can be hashed as it is.
 */
struct pep_path_key {
	union pep_addr addr;
	u16 family;
	u16 prefix;
};

/**
 * struct pep_path - a subscriber: what has been learned of the link, and what they hold
 * @node: in pep_net.paths
 * @key: the subscriber; constant
 * @ref: one while in the table, one per flow, per connection in pep_net.track that
 *	has it and per SYN-ACK that is kept
 * @lru: in pep_net.paths_lru; guarded by pep_net.paths_lock
 * @acked: bytes that the subscriber has acknowledged on all connections
 * @claimed: bytes that legs have in flight or may send at once
 * @legs: legs that have a part in @claimed
 * @busy: legs that have more to send than is in flight
 * @connections: connections in pep_net.track that have it; see share.c
 * @flows_up: flows that have it
 * @held: memory that flows hold, bytes; see share.c
 * @copied: memory that copies of payload hold, bytes
 * @refused: connections and flows refused because of the subscriber's share
 * @tokens_at: time when the subscriber's tokens for new connections are complete
 *	again, ns of ktime_get_ns(); under @lock
 * @synacks: SYN-ACKs to the subscriber that are kept; see synack.c
 * @lock: guards the members below, unless stated otherwise; BH off
 * @round_at: time when the round of a sample began, us of tcp_clock_us(); read locklessly
 * @round_acked: @acked at that time
 * @round_sent: time when the latest packet was sent that had been acknowledged then, us of
 *	tcp_clock_us(); 0 when unknown
 * @flat: rounds since the rate has last grown in which a leg had more to send than it was
 *	allowed to, and the rate was near the highest one, up to PEP_LEARN_FLAT; read
 *	locklessly
 * @full: rounds since the last shift of @rate in which a leg had more to send than
 *	it was allowed to
 * @rate: highest rate of a round, of the present period and the one before, bytes
 *	per second; read locklessly
 * @rtt: smallest round trip, of the present period and the one before, us; 0 when
 *	there is no sample; read locklessly
 * @rtt_latest: the latest sample, us; 0 when there is none; read and written locklessly
 * @rtt_since: time when the present period of @rtt began, seconds of
 *	ktime_get_seconds(); read locklessly
 * @seen: time of the latest rate that was at least half of the highest one, seconds
 *	of ktime_get_seconds(); read locklessly
 * @used: time when the subscriber's latest connection began, seconds of
 *	ktime_get_seconds(); guarded by pep_net.paths_lock, read locklessly
 * @segs: segments with payload that legs sent which have ended since, under
 *	@lock; read locklessly
 * @again: those of them that were sent again; as @segs
 * @flows: flows that have ended, but for those that began with a round trip of less than
 *	5 ms, of which @segs and @again know nothing either; under @lock
 * @rcu: frees the memory
 */
struct pep_path {
	struct rhash_head node;
	struct pep_path_key key;
	refcount_t ref;
	struct list_head lru;
	atomic64_t acked;
	atomic64_t held;
	atomic64_t copied;
	atomic_t claimed;
	atomic_t legs;
	atomic_t busy;
	atomic_t connections;
	atomic_t flows_up;
	atomic_t refused;
	atomic_t synacks;
	spinlock_t lock; /* rounds and rates; see above */
	u64 tokens_at;
	u64 round_at;
	u64 round_acked;
	u64 round_sent;
	u32 flat;
	u32 full;
	u64 rate[2];
	u32 rtt[2];
	u32 rtt_latest;
	u32 rtt_since;
	u32 seen;
	u32 used;
	u64 segs;
	u64 again;
	u32 flows;
	struct rcu_head rcu;
};

/**
 * struct pep_path_claim - a leg's part of its subscriber's link
 * @bytes: bytes that the leg has in flight or may send at once
 * @more: the leg has more to send
 */
struct pep_path_claim {
	u32 bytes;
	bool more;
};

/**
 * typedef pep_path_match - does a filter match a subscriber?
 * @path: entry of the subscriber
 * @filter: argument given to pep_path_flush()
 */
typedef bool pep_path_match(const struct pep_path *path, const void *filter);

void pep_path_key(const struct pep_net *pn, struct pep_path_key *key,
		  const struct pep_tuple *tuple, enum pep_side opener);
struct pep_path *pep_path_get(struct pep_net *pn,
			      const struct pep_tuple *tuple,
			      enum pep_side opener);
struct pep_path *pep_path_find(struct pep_net *pn,
			       const struct pep_tuple *tuple,
			       enum pep_side opener);
void pep_path_touch(struct pep_net *pn, struct pep_path *path);
void pep_path_put(struct pep_path *path);
void pep_path_claim(struct pep_path *path, struct pep_path_claim *claim,
		    u32 bytes, bool more);
u32 pep_path_others(const struct pep_path *path,
		    const struct pep_path_claim *claim);
void pep_path_end(struct pep_path *path, u32 segs, u32 again);
unsigned int pep_path_flush(struct pep_net *pn, pep_path_match *match,
			    const void *filter);
int pep_path_start(struct pep_net *pn);
void pep_path_stop(struct pep_net *pn);
int pep_path_init(void);
void pep_path_exit(void);

#endif
