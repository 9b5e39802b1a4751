/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_FLOW_H
#define _PEP_FLOW_H

#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <uapi/linux/pep.h>

#include "leg.h"
#include "link.h"
#include "net.h"
#include "queue.h"
#include "resume.h"
#include "stat-gen.h"

struct pep_conn;
struct pep_flow;
struct pep_gen;
struct pep_values;

/**
 * struct pep_flow_ops - callbacks of a flow to the files above it
 * @mode: how it is opened, enum pep_connect_mode
 * @run: runs it, as its job: softirq, RCU read side, with a reference that the
 *	call drops
 * @ended: called when a flow with a connection has ended, with its locks held; the
 *	cause is that of pep_flow_end()
 */
struct pep_flow_ops {
	u8 mode;
	unsigned int (*run)(struct pep_job *job, struct pep_queue *queue);
	void (*ended)(struct pep_flow *flow, enum pep_stat cause);
};

/**
 * enum pep_flow_event - event that changes the state of a flow
 * @PEP_FLOW_UP: both legs are there
 * @PEP_FLOW_FIN: the end of one direction has been passed on
 * @PEP_FLOW_END: both legs are closed
 */
enum pep_flow_event {
	PEP_FLOW_UP,
	PEP_FLOW_FIN,
	PEP_FLOW_END,
};

/**
 * enum pep_flow_time - events of a flow whose time is kept
 * @PEP_FLOW_TIME_SYN_OUT: the first SYN was sent to the target
 * @PEP_FLOW_TIME_ANSWERED: the target has answered the SYN
 * @PEP_FLOW_TIME_ACCEPTED: the opener has completed its handshake
 * @PEP_FLOW_TIME_UP: both legs are up
 * @PEP_FLOW_TIME_FIRST: the first payload was relayed to the leg of a side,
 *	whose number is added
 * @PEP_FLOW_TIME_FIN: the end of a direction was passed on to the leg of a
 *	side, whose number is added
 * @PEP_FLOW_TIME_FIN_FROM: the leg of a side, whose number is added, has
 *	received its end's FIN, and all before it
 * @PEP_FLOW_TIME_RST_FROM: the end on a side, whose number is added, has reset
 * @PEP_FLOW_TIMES: number of these times
 */
enum pep_flow_time {
	PEP_FLOW_TIME_SYN_OUT,
	PEP_FLOW_TIME_ANSWERED,
	PEP_FLOW_TIME_ACCEPTED,
	PEP_FLOW_TIME_UP,
	PEP_FLOW_TIME_FIRST,
	PEP_FLOW_TIME_FIN = PEP_FLOW_TIME_FIRST + 2,
	PEP_FLOW_TIME_FIN_FROM = PEP_FLOW_TIME_FIN + 2,
	PEP_FLOW_TIME_RST_FROM = PEP_FLOW_TIME_FIN_FROM + 2,
	PEP_FLOW_TIMES = PEP_FLOW_TIME_RST_FROM + 2,
};

/**
 * pep_flow_time_on() - find the number of an event on a side
 * @event: enum pep_flow_time, to which the number of the side is to be added
 * @side: the side
 *
 * Return: the number.
 */
static inline unsigned int pep_flow_time_on(unsigned int event, enum pep_side side)
{
	return event + side;
}

/**
 * struct pep_flow - one split connection
 * @job: runs the flow; holds a reference while queued
 * @lock: guards all below unless stated otherwise; taken before the locks of
 *	the legs, BH off
 * @state: enum pep_flow_state; only flow.c writes it; read locklessly
 * @opener: side that sent the SYN, enum pep_side; constant
 * @mode: enum pep_connect_mode; constant
 * @idle_due: its connection is to be handed back, as it has been idle; until
 *	it makes progress, or some time later where an end or a socket was not ready
 * @detour: its connection is to be handed back, as packets of it take another way, see
 *	detour.c; set and cleared under @lock, read without
 * @killed: this host wants the flow to end; set once, without @lock
 * @pinned: a work item uses the legs' sockets: they are not released
 * @sending: a locked leg is taking payload; its write-space callback does nothing
 *	then
 * @tail: an end has reset, and the other one receives the payload before the reset
 *	until @deadline
 * @evicted: it holds memory, and its subscriber holds too much; set once, under @lock,
 *	read without
 * @cause: counter of the reason why it has to end while its connection is handed back,
 *	enum pep_stat; or PEP_STAT_NONE
 * @ref: one while in the table, one while queued, one while @timer runs, one of
 *	@conn, and those of callers
 * @id: number in pep_net.flows; constant
 * @pn: instance; constant
 * @gen: generation with a reference; constant
 * @share: counter in pep_net.early that counts the flow until it is up, or NULL; set
 *	before it has a leg
 * @ops: operations from pep_flow_create(); constant
 * @conn: the connection that it owns, with a reference until pep_flow_end(), stale
 *	behind it; or NULL
 * @live_seq: number of the generation's settings that the flow has
 * @idle_timeout: time without progress after which it ends, seconds; 0: never
 * @release_idle: time without progress after which its connection is handed back,
 *	seconds; 0: never
 * @ifindex: device that received the SYN; constant
 * @leg: by enum pep_side
 * @path: entry of its subscriber, which counts it, with a reference; or NULL
 * @held: memory of the legs' queues as @path has counted it, bytes
 * @due: by the side that payload leaves by: the leg's tcp_sock.bytes_acked when all
 *	that was held at @due_since has been acknowledged, see relief.c
 * @due_since: by side, when @due was set, jiffies
 * @link: part of the subscriber's link that the wireless leg has; guarded by the lock of
 *	its socket
 * @resume: start of the wireless leg; guarded by the lock of its socket
 * @copied: relayed payload that had to be copied, bytes
 * @born: when the SYN came, ns of ktime_get_ns(); constant
 * @at: by enum pep_flow_time, when it happened first, ns as @born; 0 when it
 *	has not. Those of FIN_FROM and RST_FROM are guarded by the lock of the
 *	leg's socket
 * @tuple: ends, in the direction of the opener's SYN; constant
 * @progress: bytes that both ends had sent and acknowledged at @active
 * @active: when @progress was last found to have grown, jiffies
 * @deadline: when the opener of an early flow must have completed its handshake;
 *	later the deadline of @tail; jiffies
 * @timer: schedules the flow; holds a reference while pending
 * @rcu: frees the memory: lookups use it under RCU without a reference
 */
struct pep_flow {
	struct pep_job job;
	spinlock_t lock; /* state, legs; see above */
	u8 state;
	u8 opener;
	u8 mode;
	bool idle_due;
	bool detour;
	bool killed;
	bool pinned;
	bool sending;
	bool tail;
	bool evicted;
	u16 cause;
	refcount_t ref;
	u32 id;
	struct pep_net *pn;
	struct pep_gen *gen;
	atomic_t *share;
	const struct pep_flow_ops *ops;
	struct pep_conn *conn;
	u32 live_seq;
	u32 idle_timeout;
	u32 release_idle;
	int ifindex;
	struct pep_leg leg[2];
	struct pep_path *path;
	u32 held;
	u64 due[2];
	unsigned long due_since[2];
	struct pep_link link;
	struct pep_resume resume;
	u64 copied;
	u64 born;
	u64 at[PEP_FLOW_TIMES];
	struct pep_tuple tuple;
	u64 progress;
	unsigned long active;
	unsigned long deadline;
	struct timer_list timer;
	struct rcu_head rcu;
};

/**
 * typedef pep_flow_match - does a flow match a filter?
 * @flow: flow
 * @filter: as passed to the caller
 */
typedef bool pep_flow_match(const struct pep_flow *flow, const void *filter);

/**
 * pep_flow_waits() - may an end of a flow wait for its leg to speak?
 * @flow: flow that ends
 * @side: side of the end
 *
 * An end of an early flow that has not completed its handshake repeats its SYN or SYN-ACK,
 * and is answered. A connection that could not be taken over goes on without its legs.
 *
 * Return: true when the end has completed its handshake, and has a leg.
 */
static inline bool pep_flow_waits(const struct pep_flow *flow, enum pep_side side)
{
	bool opener = side == flow->opener;

	return flow->at[PEP_FLOW_TIME_UP] ||
	       (flow->mode == PEP_CONNECT_MODE_EARLY &&
		flow->at[opener ? PEP_FLOW_TIME_ACCEPTED : PEP_FLOW_TIME_ANSWERED]);
}

/**
 * pep_flow_resets() - does an end of a flow have to get the reset of its leg?
 * @flow: flow that ends
 * @side: side of the end
 *
 * Return: true when the reset is repeated.
 */
static inline bool pep_flow_resets(const struct pep_flow *flow, enum pep_side side)
{
	return pep_flow_waits(flow, side) || READ_ONCE(flow->killed);
}

/**
 * pep_flow_opener() - leg towards the end that opened the connection
 * @flow: flow
 *
 * Return: the leg, with or without a socket.
 */
static inline struct pep_leg *pep_flow_opener(struct pep_flow *flow)
{
	return &flow->leg[flow->opener];
}

/**
 * pep_flow_target() - leg towards the end that the opener connects to
 * @flow: flow
 *
 * Return: the leg, with or without a socket.
 */
static inline struct pep_leg *pep_flow_target(struct pep_flow *flow)
{
	return &flow->leg[!flow->opener];
}

/**
 * pep_flow_side() - side of a leg
 * @flow: flow
 * @sk: one of its sockets
 *
 * Return: the side that the socket faces.
 */
static inline enum pep_side pep_flow_side(const struct pep_flow *flow,
					  const struct sock *sk)
{
	return flow->leg[PEP_SIDE_SERVER].sk == sk ? PEP_SIDE_SERVER :
						     PEP_SIDE_WIRELESS;
}

/**
 * pep_flow_round_trips() - get the round trips of both ends
 * @flow: flow with both legs, which are locked
 *
 * Return: their sum, smoothed, jiffies.
 */
static inline u32 pep_flow_round_trips(const struct pep_flow *flow)
{
	return usecs_to_jiffies((tcp_sk(flow->leg[0].sk)->srtt_us >> 3) +
				(tcp_sk(flow->leg[1].sk)->srtt_us >> 3));
}

/**
 * pep_flow_released() - was a flow's connection handed back?
 * @cause: counter of the cause for which the flow has ended
 *
 * Return: true when it was, and goes on.
 */
static inline bool pep_flow_released(enum pep_stat cause)
{
	return cause == PEP_STAT_FLOW_RELEASED ||
	       cause == PEP_STAT_FLOW_RELEASED_IDLE;
}

/**
 * pep_flow_walk_resched() - let others run amidst a walk of a namespace's flows
 *
 * There may be a hundred thousand. cond_resched_rcu() does nothing where RCU may be
 * preempted, even when the kernel was booted with preempt=voluntary.
 *
 * Context: may sleep, but for the RCU read side, which it leaves for a moment.
 */
static inline void pep_flow_walk_resched(void)
{
	if (need_resched()) {
		rcu_read_unlock();
		cond_resched();
		rcu_read_lock();
	}
}

int pep_flow_next(unsigned int state, enum pep_flow_event event);
struct pep_flow *pep_flow_create(struct pep_gen *gen,
				 const struct pep_flow_ops *ops,
				 enum pep_side opener,
				 const struct pep_tuple *tuple, int ifindex,
				 u64 born);
void pep_flow_put(struct pep_flow *flow);
void pep_flow_schedule(struct pep_flow *flow);
void pep_flow_wake_in(struct pep_flow *flow, unsigned long delay);
void pep_flow_wake_within(struct pep_flow *flow, unsigned long delay);
void pep_flow_set_leg(struct pep_flow *flow, enum pep_side side,
		      struct sock *sk, struct pep_sock *ps);
void pep_flow_lock_legs(struct pep_flow *flow);
void pep_flow_unlock_legs(struct pep_flow *flow);
bool pep_flow_legs_owned(const struct pep_flow *flow);
void pep_flow_advance(struct pep_flow *flow, enum pep_flow_event event);
bool pep_flow_pin(struct pep_flow *flow);
void pep_flow_unpin(struct pep_flow *flow, u32 seq,
		    const struct pep_values *values);
void pep_flow_remember(struct pep_flow *flow);
void pep_flow_end(struct pep_flow *flow, enum pep_stat cause);
unsigned int pep_flow_each(struct pep_net *pn, pep_flow_match *match,
			   const void *filter,
			   bool (*act)(struct pep_flow *flow));
bool pep_flow_kill_one(struct pep_flow *flow);
unsigned int pep_flow_kill(struct pep_net *pn, pep_flow_match *match,
			   const void *filter);
int pep_flow_init(void);
void pep_flow_exit(void);

#endif
