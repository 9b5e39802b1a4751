/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_FLOW_H
#define _PEP_FLOW_H

#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#include "leg.h"
#include "net.h"
#include "queue.h"

struct pep_gen;

/**
 * enum pep_flow_event - what makes a flow change its state
 * @PEP_FLOW_ANSWER: the target's SYN-ACK has come and is held
 * @PEP_FLOW_UP: both legs are there
 * @PEP_FLOW_FIN: the end of one direction has been passed on
 * @PEP_FLOW_END: both legs are closed
 */
enum pep_flow_event {
	PEP_FLOW_ANSWER,
	PEP_FLOW_UP,
	PEP_FLOW_FIN,
	PEP_FLOW_END,
};

/**
 * struct pep_flow - one split connection
 * @job: runs the flow; holds a reference while queued
 * @lock: guards all below unless said otherwise; taken before the locks of
 *	the legs, BH off
 * @state: enum pep_flow_state; only flow.c writes it; read locklessly
 * @opener: side that sent the SYN, enum pep_side; constant
 * @mode: enum pep_connect_mode; constant
 * @killed: this host wants the flow to end; set once, without @lock
 * @mirrored: a refusal of the target is being passed on to the opener
 * @sending: payload is being handed to a leg, which is locked; its write-space
 *	callback has no news then
 * @ref: one while in the table, one while queued, one while @timer runs
 * @id: number in pep_net.flows; constant
 * @pn: instance; constant
 * @gen: generation with a reference; constant
 * @leg: by enum pep_side
 * @copied: relayed payload that had to be copied, bytes
 * @born: when the SYN was taken, ns of ktime_get_ns(); constant
 * @tuple: ends, in the direction of the opener's SYN; constant
 * @isn: initial sequence number of that SYN; of a truthful flow, constant
 * @syn: the opener's SYN while held
 * @syns: SYNs that the opener has sent, the first included; of a truthful
 *	flow that is connecting
 * @synack: the target's SYN-ACK while held
 * @held_at: when @synack came, ns of ktime_get_ns()
 * @progress: what both ends had sent and acknowledged at @active, bytes
 * @active: when that was seen to have grown last, jiffies
 * @deadline: when the target has to have answered, or the opener to be done
 *	with its handshake, jiffies
 * @timer: schedules the flow; holds a reference while pending
 * @rcu: frees the memory: lookups use it under RCU without a reference
 */
struct pep_flow {
	struct pep_job job;
	spinlock_t lock; /* state, legs, held packets; see above */
	u8 state;
	u8 opener;
	u8 mode;
	bool killed;
	bool mirrored;
	bool sending;
	refcount_t ref;
	u32 id;
	struct pep_net *pn;
	struct pep_gen *gen;
	struct pep_leg leg[2];
	u64 copied;
	u64 born;
	struct pep_tuple tuple;
	u32 isn;
	struct sk_buff *syn;
	u8 syns;
	struct sk_buff *synack;
	u64 held_at;
	u64 progress;
	unsigned long active;
	unsigned long deadline;
	struct timer_list timer;
	struct rcu_head rcu;
};

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
 * pep_flow_target() - leg towards the end that was connected to
 * @flow: flow
 *
 * Return: the leg, with or without a socket.
 */
static inline struct pep_leg *pep_flow_target(struct pep_flow *flow)
{
	return &flow->leg[!flow->opener];
}

int pep_flow_next(unsigned int state, enum pep_flow_event event);
struct pep_flow *pep_flow_create(struct pep_gen *gen, unsigned int opener,
				 const struct pep_tuple *tuple);
void pep_flow_put(struct pep_flow *flow);
void pep_flow_schedule(struct pep_flow *flow);
void pep_flow_wake_in(struct pep_flow *flow, unsigned long delay);
void pep_flow_set_leg(struct pep_flow *flow, unsigned int side,
		      struct sock *sk, struct pep_sock *ps);
void pep_flow_lock_legs(struct pep_flow *flow);
void pep_flow_unlock_legs(struct pep_flow *flow);
bool pep_flow_legs_owned(const struct pep_flow *flow);
void pep_flow_advance(struct pep_flow *flow, enum pep_flow_event event);
void pep_flow_end(struct pep_flow *flow, unsigned int cause);
unsigned int pep_flow_kill(struct pep_net *pn, int ifindex);
int pep_flow_init(void);
void pep_flow_exit(void);

#endif
