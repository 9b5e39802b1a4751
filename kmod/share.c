// SPDX-License-Identifier: GPL-2.0
/*
 * A subscriber's share of the gateway: connections in the table, new ones per second,
 * flows and memory.
 *
 * They are counted in the subscriber's entry of pep_net.paths, which exists from the
 * first complete handshake on: SYNs with spoofed sources make no entry. Connections of
 * a subscriber without an entry are bounded by the table of connections, where the
 * oldest whose handshake is incomplete makes room.
 *
 * Beyond a share a new connection is forwarded unsplit, or not even followed. Existing
 * ones stay as they are, but beyond that of memory the windows of flows open no further,
 * see window.c, and flows that hold memory and make no progress end, see relief.c. No
 * other subscriber is affected.
 */

#include "share.h"

#include <linux/workqueue.h>
#include <net/tcp.h>

#include "compat.h"
#include "limit.h"
#include "path.h"

/* The smallest change of a flow's holding that is noted, bytes. */
#define PEP_SHARE_STEP		16384

/* That of the copies of a connection: a subscriber may have thousands of these, and messages
 * are smaller.
 */
#define PEP_SHARE_COPY_STEP	1024

/* How soon flows are checked when a subscriber seems to hold too much, and how often while
 * one does, and while TCP is short of memory.
 */
#define PEP_SHARE_RELIEF	(HZ / 10)
#define PEP_SHARE_PERIOD	(5 * HZ)
#define PEP_SHARE_PRESSED	(HZ / 2)

/* How much of its rate a subscriber may use at once, ns. */
#define PEP_SHARE_BURST		(2 * NSEC_PER_SEC)

/* Count, in the subscriber's entry, a connection or a flow that is refused. */
static enum pep_stat pep_share_refuse(struct pep_net *pn, struct pep_path *path,
				      enum pep_stat counter)
{
	atomic_inc(&path->refused);
	pep_limit_refused(pn, counter, path);
	return counter;
}

/*
 * May the subscriber open another connection now? A token bucket, kept as the time at
 * which all tokens that were taken are back (GCRA, ITU-T I.371).
 */
static bool pep_share_token(const struct pep_net *pn, struct pep_path *path,
			    u64 now)
{
	u32 rate = READ_ONCE(pn->limits.subscriber_rate);
	bool ok;

	spin_lock(&path->lock);
	ok = path->tokens_at <= now + PEP_SHARE_BURST - NSEC_PER_SEC / rate;
	if (ok)
		path->tokens_at = max(path->tokens_at, now) +
				  NSEC_PER_SEC / rate;
	spin_unlock(&path->lock);
	return ok;
}

/**
 * pep_share_relieve() - schedule a check of the flows that hold memory
 * @pn: started instance
 *
 * One that is scheduled already comes no sooner, unless TCP has become short of memory.
 *
 * Context: any.
 */
void pep_share_relieve(struct pep_net *pn)
{
	if (READ_ONCE(tcp_memory_pressure) && READ_ONCE(pn->relief_late) &&
	    xchg(&pn->relief_late, false))
		mod_delayed_work(system_percpu_wq, &pn->relief, PEP_SHARE_RELIEF);
	else
		queue_delayed_work(system_percpu_wq, &pn->relief, PEP_SHARE_RELIEF);
}

/**
 * pep_share_relieve_again() - schedule the next of these checks, at the end of one
 * @pn: instance
 * @pressed: TCP was short of memory at this one
 *
 * Those that flows have asked for by growing meanwhile are put off, unless TCP has become
 * short of memory.
 *
 * Context: the work item.
 */
void pep_share_relieve_again(struct pep_net *pn, bool pressed)
{
	pressed = pressed || READ_ONCE(tcp_memory_pressure);
	mod_delayed_work(system_percpu_wq, &pn->relief,
			 pressed ? PEP_SHARE_PRESSED : PEP_SHARE_PERIOD);
	WRITE_ONCE(pn->relief_late, !pressed);
}

/**
 * pep_share_copied() - get the memory that copies of a subscriber's payload hold
 * @path: entry of the subscriber
 *
 * Context: any.
 * Return: memory, bytes, exact to PEP_SHARE_COPY_STEP for each connection.
 */
s64 pep_share_copied(const struct pep_path *path)
{
	return atomic64_read(&path->copied);
}

/**
 * pep_share_held() - get the memory that a subscriber holds
 * @path: entry of the subscriber
 *
 * Context: any.
 * Return: memory, bytes, exact to PEP_SHARE_STEP for each flow, and to
 * PEP_SHARE_COPY_STEP for each connection.
 */
u64 pep_share_held(const struct pep_path *path)
{
	return max(atomic64_read(&path->held) + pep_share_copied(path), 0LL);
}

/**
 * pep_share_queued() - get the memory that the queues of a subscriber's flows hold
 * @path: entry of the subscriber
 *
 * Context: any.
 * Return: memory of TCP, bytes, exact to PEP_SHARE_STEP for each flow.
 */
u64 pep_share_queued(const struct pep_path *path)
{
	return max(atomic64_read(&path->held), 0LL);
}

/**
 * pep_share_over() - does a subscriber hold more than a share of memory?
 * @pn: instance
 * @path: entry of the subscriber, or NULL
 *
 * Context: any.
 * Return: true when it is so.
 */
bool pep_share_over(const struct pep_net *pn, const struct pep_path *path)
{
	return path && pep_share_held(path) >
		       READ_ONCE(pn->limits.subscriber_memory);
}

/**
 * pep_share_renew() - note an amount of memory exactly
 * @sum: pep_path.held or .copied of the subscriber
 * @noted: amount of it that was noted last, bytes; updated
 * @bytes: memory
 *
 * Many flows with a little less than was noted may seem to be a share. This schedules no
 * check.
 *
 * Context: any; calls for one @noted are serialised.
 */
void pep_share_renew(atomic64_t *sum, u32 *noted, u32 bytes)
{
	if (bytes == *noted)
		return;
	atomic64_add((s64)bytes - *noted, sum);
	*noted = bytes;
}

/* Note an amount in a sum of the entry. Changes of less than @step bytes are left out, so
 * that most packets do not write to the entry, which all connections of the subscriber
 * share.
 */
static void pep_share_note(struct pep_net *pn, struct pep_path *path,
			   atomic64_t *sum, u32 *noted, u32 bytes, u32 step)
{
	s64 more = (s64)bytes - *noted;

	if (bytes && abs(more) < step)
		return;
	pep_share_renew(sum, noted, bytes);
	if (more > 0 && pep_share_over(pn, path))
		pep_share_relieve(pn);
}

/**
 * pep_share_hold() - note the memory of a flow
 * @pn: instance
 * @path: entry of the subscriber
 * @noted: amount that was noted last, bytes; updated
 * @bytes: memory
 *
 * Context: any; calls for one @noted are serialised.
 */
void pep_share_hold(struct pep_net *pn, struct pep_path *path, u32 *noted,
		    u32 bytes)
{
	pep_share_note(pn, path, &path->held, noted, bytes, PEP_SHARE_STEP);
}

/**
 * pep_share_copy() - note the memory of the copies of a connection's payload
 * @pn: instance
 * @path: entry of the subscriber
 * @noted: amount that was noted last, bytes; updated
 * @bytes: memory
 *
 * Context: any; calls for one @noted are serialised.
 */
void pep_share_copy(struct pep_net *pn, struct pep_path *path, u32 *noted,
		    u32 bytes)
{
	pep_share_note(pn, path, &path->copied, noted, bytes,
		       PEP_SHARE_COPY_STEP);
}

/**
 * pep_share_open() - let a subscriber have another connection in the table
 * @pn: started instance
 * @path: entry of the subscriber
 * @now: when the SYN came, ns of ktime_get_ns()
 *
 * The bound is not exact: CPUs that ask at the same time may exceed it by one each.
 *
 * Context: BH off, RCU read side; takes pep_path.lock.
 * Return: PEP_STAT_NONE with the connection counted, until pep_share_leave(); or the
 * counter of the reason against it, for the caller to count; listeners are notified.
 */
enum pep_stat pep_share_open(struct pep_net *pn, struct pep_path *path, u64 now)
{
	if (atomic_read(&path->connections) >=
	    READ_ONCE(pn->limits.subscriber_connections))
		return pep_share_refuse(pn, path,
					PEP_STAT_FOLLOW_SUBSCRIBER);
	if (!pep_share_token(pn, path, now))
		return pep_share_refuse(pn, path, PEP_STAT_FOLLOW_RATE);
	pep_share_enter(path);
	return PEP_STAT_NONE;
}

/**
 * pep_share_return() - give back the token of a connection that has come to nothing
 * @pn: started instance
 * @path: entry of its subscriber, under RCU
 *
 * Context: BH off; takes pep_path.lock.
 */
void pep_share_return(struct pep_net *pn, struct pep_path *path)
{
	u32 rate = READ_ONCE(pn->limits.subscriber_rate);

	spin_lock(&path->lock);
	path->tokens_at -= NSEC_PER_SEC / rate;
	spin_unlock(&path->lock);
}

/**
 * pep_share_enter() - count a connection that is in the table
 * @path: entry of its subscriber
 *
 * Context: any.
 */
void pep_share_enter(struct pep_path *path)
{
	atomic_inc(&path->connections);
}

/**
 * pep_share_join() - count a connection whose subscriber was unknown until now
 * @pn: started instance
 * @path: entry of its subscriber
 *
 * Context: BH off, RCU read side.
 * Return: PEP_STAT_NONE, or the counter of the reason why the connection has to leave
 * the table again, for the caller to count; listeners are notified.
 */
enum pep_stat pep_share_join(struct pep_net *pn, struct pep_path *path)
{
	pep_share_enter(path);
	if (atomic_read(&path->connections) <=
	    READ_ONCE(pn->limits.subscriber_connections))
		return PEP_STAT_NONE;
	return pep_share_refuse(pn, path, PEP_STAT_FOLLOW_SUBSCRIBER);
}

/**
 * pep_share_leave() - undo pep_share_enter(), or pep_share_open() but for its token
 * @path: entry of the subscriber, whose reference goes
 *
 * Context: any.
 */
void pep_share_leave(struct pep_path *path)
{
	atomic_dec(&path->connections);
	pep_path_put(path);
}

/**
 * pep_share_full() - is a share of a subscriber used up?
 * @pn: instance
 * @path: entry of the subscriber
 *
 * Nothing is counted.
 *
 * Context: any.
 * Return: PEP_STAT_NONE, or the counter of the share for which the subscriber may not
 * have another connection or flow.
 */
enum pep_stat pep_share_full(const struct pep_net *pn,
			     const struct pep_path *path)
{
	const struct pep_limits *limits = &pn->limits;

	if (atomic_read(&path->connections) >=
	    READ_ONCE(limits->subscriber_connections))
		return PEP_STAT_FOLLOW_SUBSCRIBER;
	if (atomic_read(&path->flows_up) >= READ_ONCE(limits->subscriber_flows))
		return PEP_STAT_SPLIT_PASS_SUBSCRIBER;
	return pep_share_over(pn, path) ? PEP_STAT_SPLIT_PASS_MEMORY :
					  PEP_STAT_NONE;
}

/**
 * pep_share_room() - may a subscriber hold more memory?
 * @pn: started instance
 * @path: entry of the subscriber, or NULL
 *
 * A refusal counts in @path, listeners are notified of it, and relief.c looks at the
 * flows.
 *
 * Context: BH off, RCU read side.
 * Return: PEP_STAT_NONE, or the counter of the reason against it.
 */
enum pep_stat pep_share_room(struct pep_net *pn, struct pep_path *path)
{
	if (!pep_share_over(pn, path))
		return PEP_STAT_NONE;
	/* Flows may have become idle since their memory was noted. */
	pep_share_relieve(pn);
	return pep_share_refuse(pn, path, PEP_STAT_SPLIT_PASS_MEMORY);
}

/**
 * pep_share_check() - may a subscriber have another flow, and hold more memory for it?
 * @pn: started instance
 * @path: entry of the subscriber, or NULL
 *
 * The bound is not exact: CPUs that ask at the same time may exceed it by one each. A
 * refusal counts in @path, listeners are notified of it, and when it is one of memory
 * relief.c looks at the flows, as by pep_share_room().
 *
 * Context: BH off, RCU read side.
 * Return: PEP_STAT_NONE, or the counter of the reason against it.
 */
enum pep_stat pep_share_check(struct pep_net *pn, struct pep_path *path)
{
	if (path && atomic_read(&path->flows_up) >=
		    READ_ONCE(pn->limits.subscriber_flows))
		return pep_share_refuse(pn, path,
					PEP_STAT_SPLIT_PASS_SUBSCRIBER);
	return pep_share_room(pn, path);
}

/**
 * pep_share_split() - count a flow
 * @path: entry of its subscriber, or NULL
 *
 * Context: any.
 * Return: @path with a reference, for pep_share_end().
 */
struct pep_path *pep_share_split(struct pep_path *path)
{
	if (path) {
		refcount_inc(&path->ref);
		atomic_inc(&path->flows_up);
	}
	return path;
}

/**
 * pep_share_end() - undo pep_share_split()
 * @path: entry that pep_share_split() has returned
 *
 * Context: any.
 */
void pep_share_end(struct pep_path *path)
{
	atomic_dec(&path->flows_up);
	pep_path_put(path);
}
