/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_NET_H
#define _PEP_NET_H

#include <linux/mutex.h>
#include <linux/netfilter.h>
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

/* Number of repetitions of a reset, see again.c. */
#define PEP_AGAIN_TIMES		3

/* Devices of a side that are known, see face.c. */
#define PEP_NET_FACES		8

/* Number of limits that listeners are notified of. */
#define PEP_LIMIT_KINDS		8

/**
 * struct pep_limits - bounds on the state of a namespace, and of each of its subscribers
 * @flows: number of flows
 * @pending: flows that may be opening at the same time
 * @connections: number of connections in the table
 * @prefix4: bits of an IPv4 address that make a subscriber
 * @prefix6: bits of an IPv6 address that make a subscriber
 * @subscriber_connections: connections of a subscriber that may be followed
 * @subscriber_flows: flows that a subscriber may have
 * @subscriber_rate: new connections that a subscriber may have, per second
 * @subscriber_memory: memory that a subscriber's flows and copies may hold, bytes
 */
struct pep_limits {
	u32 flows;
	u32 pending;
	u32 connections;
	u32 prefix4;
	u32 prefix6;
	u32 subscriber_connections;
	u32 subscriber_flows;
	u32 subscriber_rate;
	u32 subscriber_memory;
};

/**
 * struct pep_net_face - a device that faces a side; written and read locklessly
 * @ifindex: the device, 0 for none
 * @seen: when a leg has last begun to use it, seconds of ktime_get_seconds()
 */
struct pep_net_face {
	int ifindex;
	u32 seen;
};

/**
 * struct pep_net - the instance of one network namespace
 * @net: the namespace; lives at least as long as this
 * @stats: counters per CPU; see stat.h
 * @started: the parts that need the loopback device exist; guarded by @lock
 * @stopping: no new flows; written once in pep_instance_stop(), read locklessly
 * @rt4: route of packets delivered to a leg over IPv4, on loopback
 * @rt6: the same over IPv6; NULL where the host has no IPv6
 * @draining: no connection is split, nor answered; under @lock, read locklessly
 * @drained: the last flow since then has ended and listeners were notified
 * @overload: time when listeners were last notified that a limit is reached, by
 *	pep_limit_kind(), seconds of ktime_get_seconds(), 0 when never; written
 *	by the CPU that notifies them
 * @again: struct pep_again, resets that wait to be repeated, by number of repetitions;
 *	see again.c
 * @again_lock: guards @again and @nagain, BH off; no other lock of ours is taken within it
 * @nagain: number of resets in @again
 * @again_work: repeats them
 * @untrack_work: keeps conntrack's entries of split connections; see untrack.c
 * @unsent: resets that wait for a route; see unsent.c
 * @unsent_work: looks for routes, and sends them
 * @limits: bounds on its state; under @lock, read locklessly
 * @reset: connections that were reset lately, by both their tuples
 * @devices: tc actions per side, enum pep_side
 * @flows: flows by id; has its own lock, taken with BH off
 * @next_id: id after which the next flow looks for a free one; under the
 *	lock of @flows
 * @nflows: flows whose memory is still in use
 * @npending: flows that are not yet established
 * @early: number of pending flows whose opener was answered early, by a hash of the
 *	opener's address, IPv6: of its first 64 bits
 * @early_seed: secret of that hash; constant
 * @track: struct pep_conn, the connections that are followed; see track.c
 * @track_lock: guards @incomplete; taken after the lock of a connection, BH off
 * @incomplete: connections whose handshake is not complete, the oldest first
 * @track_vrfs: a SYN of a connection has arrived by a VRF; read locklessly
 * @sweep: looks for connections that have long been silent; see sweep.c
 * @gaps: times that a side has lost its last device: packets pass unseen then
 * @leaving: devices whose connections are handed back: no connection with packets from
 *	one of them is taken over until the second that its value has, of
 *	ktime_get_seconds(), or until a device is attached; see leave.c
 * @leave_until: the latest of these seconds; written with the lock of @leaving, or by the
 *	clearer, read locklessly
 * @leave_grace: grace period after which the latest of @leaving holds, for
 *	cond_synchronize_rcu(); guarded by the lock of @leaving
 * @copied: memory that the copies of unacknowledged payload keep, bytes, except
 *	the amounts that CPUs count by themselves; see copies.c
 * @paths: struct pep_path, the known properties of subscribers' links; see path.c
 * @paths_lock: guards @paths_lru, @npaths, and which entries @paths has, BH off; no
 *	other lock of ours is taken within it
 * @paths_lru: all of @paths, roughly from the least recently used one on
 * @npaths: number of @paths
 * @max_paths: limit of @npaths; constant
 * @synacks: copies of SYN-ACKs that wait for their openers; see synack.c
 * @relief: frees memory of subscribers that hold too much; see relief.c
 * @relief_late: the run of @relief that was scheduled last comes later than is right when TCP
 *	is short of memory; it may have come since; read and written locklessly
 * @idle: woken when @nflows or @synacks get to zero, and when one of @gens goes
 * @remains: removes sockets that connections have left; see remains.c
 * @remains_late: removes those of flows that had not ended then
 * @attached: devices with filters with a tc action, or whose packets an action has; entries
 *	as in stray.c; has its own lock, taken with BH off
 * @epoch: number of the present notes in @attached; another one when a tc action has gone,
 *	and after each period of @stray
 * @recent: devices found in @attached lately, by pep_stray_number(); 0 for none
 * @faces: the last devices by which legs have begun to send, by the side that they face
 * @stray: looks for devices that are not in @attached
 * @stray_soon: the work item @stray is to run soon
 * @stray_seq: dev_base_seq of @net when @stray has last looked for legs that are bound to
 *	a device that no longer exists
 * @stray_idle: how often in sequence @stray has found no such device at the end of a period
 * @stray_ops: a hook for their packets
 * @strays: there is this hook; of the work item @stray
 * @live: brings changed settings to flows; see live.c
 * @lock: guards @started, @profiles, @gens, @limits, @draining and the profiles' settings
 * @profiles: struct pep_profile, the default one first
 * @profiles_seq: number of changes of @profiles; guarded by @lock
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
	struct list_head again[PEP_AGAIN_TIMES];
	spinlock_t again_lock; /* again, nagain */
	unsigned int nagain;
	struct delayed_work again_work;
	struct delayed_work untrack_work;
	struct sk_buff_head unsent;
	struct delayed_work unsent_work;
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
	spinlock_t track_lock; /* incomplete */
	struct list_head incomplete;
	bool track_vrfs;
	struct delayed_work sweep;
	atomic_t gaps;
	struct xarray leaving;
	unsigned long leave_until;
	unsigned long leave_grace;
	struct percpu_counter copied;
	struct rhashtable paths;
	spinlock_t paths_lock; /* paths_lru, npaths */
	struct list_head paths_lru;
	u32 npaths;
	u32 max_paths;
	atomic_t synacks;
	struct delayed_work relief;
	bool relief_late;
	wait_queue_head_t idle;
	struct work_struct remains;
	struct delayed_work remains_late;
	struct xarray attached;
	atomic_t epoch;
	u64 recent[8];
	struct pep_net_face faces[2][PEP_NET_FACES];
	struct delayed_work stray;
	bool stray_soon;
	unsigned int stray_seq;
	unsigned int stray_idle;
	struct nf_hook_ops stray_ops;
	bool strays;
	struct work_struct live;
	struct mutex lock; /* profiles and generations; see above */
	struct list_head profiles;
	unsigned int profiles_seq;
	struct list_head gens;
};

extern unsigned int pep_net_id;

struct pep_net *pep_net(const struct net *net);

#endif
