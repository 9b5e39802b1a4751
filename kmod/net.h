/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_NET_H
#define _PEP_NET_H

#include <linux/mutex.h>
#include <linux/percpu_counter.h>
#include <linux/rhashtable-types.h>
#include <linux/skbuff.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "memo.h"

struct rtable;
struct rt6_info;

/* Shares of the openers that are answered early, a power of two. */
#define PEP_NET_SHARES		256

/* How often a reset is repeated, see again.c. */
#define PEP_AGAIN_TIMES		2

/* Limits that listeners are notified of when they are reached. */
#define PEP_LIMIT_KINDS		8

/**
 * struct pep_limits - bounds on the state of a namespace, and of each of its subscribers
 * @flows: flows there may be
 * @pending: flows that may be being opened at once
 * @prefix4: bits of an IPv4 address that make a subscriber
 * @prefix6: bits of an IPv6 address that do
 * @subscriber_connections: connections of a subscriber that may be followed
 * @subscriber_flows: flows that a subscriber may have
 * @subscriber_rate: new connections that a subscriber may have, per second
 * @subscriber_memory: memory that a subscriber's flows and copies may hold, bytes
 */
struct pep_limits {
	u32 flows;
	u32 pending;
	u32 prefix4;
	u32 prefix6;
	u32 subscriber_connections;
	u32 subscriber_flows;
	u32 subscriber_rate;
	u32 subscriber_memory;
};

/**
 * struct pep_net - the instance of one network namespace
 * @net: the namespace; lives at least as long as this
 * @stats: counters per CPU; see stat.h
 * @started: the parts that need the loopback device exist; guarded by @lock
 * @stopping: no new flows; written once in pep_instance_stop(), read locklessly
 * @rt4: route of packets delivered to a leg over IPv4, on loopback
 * @rt6: the same over IPv6; NULL where the host has no IPv6
 * @draining: new connections pass unsplit; under @lock, read locklessly
 * @drained: the last flow since then has ended and that was told
 * @overload: when listeners were notified last that a limit is reached, by
 *	pep_limit_kind(), seconds of ktime_get_seconds(), 0 when never; written
 *	by the CPU that notifies them
 * @again: resets that wait to be repeated, by how often they have been; see again.c
 * @again_work: repeats them
 * @limits: bounds on its state; under @lock, read locklessly
 * @reset: connections that were reset lately, by both their tuples
 * @devices: tc actions per side, enum pep_side
 * @flows: flows by id; has its own lock, taken with BH off
 * @next_id: id after which the next flow looks for a free one; under the
 *	lock of @flows
 * @nflows: flows whose memory is still in use
 * @npending: flows that are not yet established
 * @early: how many of these openers have that are answered early, by a hash of the
 *	subscriber's address
 * @early_seed: secret of that hash; constant
 * @track: struct pep_conn, the connections that are followed; see track.c
 * @track_lock: guards @unanswered; taken after the lock of a connection, BH off
 * @unanswered: those that have no SYN-ACK yet, the oldest first
 * @track_vrfs: there has been one whose SYN came by a VRF; read locklessly
 * @sweep: looks for those that have been silent for long; see sweep.c
 * @max_followed: connections that there may be in @track
 * @gaps: how often a side has lost its last device: packets pass unseen then
 * @leaving: device of which connections are handed back, 0 for none; none that
 *	it brings packets of is taken over until @leaving_until, jiffies, or until
 *	a device is attached
 * @leaving_until: see @leaving; both read locklessly
 * @copied: memory that the copies of unacknowledged payload keep, bytes, all
 *	but what CPUs count by themselves; see copy.c
 * @paths: struct pep_path, what is known of subscribers' links; see path.c
 * @paths_lock: guards @paths_lru and @npaths, BH off; no other lock of ours is
 *	taken with it
 * @paths_lru: all of @paths, the one that was seen least lately about first
 * @npaths: how many there are
 * @max_paths: how many there may be; constant
 * @synacks: copies of SYN-ACKs that wait for their openers; see synack.c
 * @relief: frees memory of subscribers who hold too much; see relief.c
 * @idle: woken when @nflows or @synacks get to zero
 * @timewait: removes TIME_WAIT sockets of legs; see timewait.c
 * @timewait_late: removes those of flows that were still to end then
 * @live: brings changed settings to flows; see live.c
 * @lock: guards @started, @profiles, @gens and the profiles' settings
 * @profiles: struct pep_profile, the default one first
 * @profiles_seq: how often @profiles has changed; guarded by @lock
 * @gens: struct pep_gen that are not yet freed
 */
struct pep_net {
	struct net *net;
	u64 __percpu *stats;
	bool started;
	bool stopping;
	struct rtable *rt4;
	struct rt6_info *rt6;
	bool draining;
	bool drained;
	u32 overload[PEP_LIMIT_KINDS];
	struct sk_buff_head again[PEP_AGAIN_TIMES];
	struct delayed_work again_work;
	struct pep_limits limits;
	struct pep_memo reset;
	atomic_t devices[2];
	struct xarray flows;
	u32 next_id;
	atomic_t nflows;
	atomic_t npending;
	atomic_t early[PEP_NET_SHARES];
	u32 early_seed;
	struct rhashtable track;
	spinlock_t track_lock; /* unanswered */
	struct list_head unanswered;
	bool track_vrfs;
	struct delayed_work sweep;
	u32 max_followed;
	atomic_t gaps;
	int leaving;
	unsigned long leaving_until;
	struct percpu_counter copied;
	struct rhashtable paths;
	spinlock_t paths_lock; /* paths_lru, npaths */
	struct list_head paths_lru;
	u32 npaths;
	u32 max_paths;
	atomic_t synacks;
	struct delayed_work relief;
	wait_queue_head_t idle;
	struct work_struct timewait;
	struct delayed_work timewait_late;
	struct work_struct live;
	struct mutex lock; /* profiles and generations; see above */
	struct list_head profiles;
	unsigned int profiles_seq;
	struct list_head gens;
};

extern unsigned int pep_net_id;

struct pep_net *pep_net(const struct net *net);

#endif
