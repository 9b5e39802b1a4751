// SPDX-License-Identifier: GPL-2.0
/*
 * Idle flows.
 *
 * The flow's timer checks four times within the time that a profile sets, so that
 * nothing has to be noted while packets flow. A flow with idle-timeout ends after
 * that time. A flow with release-idle is handed back to its ends, once, when the
 * other end has acknowledged all that the flow has received; when that is
 * impossible, the flow stays until it has been active again. Where its sockets are in
 * use just then it is tried again a second later, where the subscriber has to show its
 * clock first, about five seconds later, and where an end's clock seems to be behind, which a
 * packet that was under way for long does too, after the profile's time.
 */

#include "idle.h"

#include <net/tcp.h>

#include "flow.h"
#include "track.h"

/* Number of checks of a flow within the shortest of its times. */
#define PEP_IDLE_LOOKS	4

/* Payload that both ends have sent, and acknowledged, bytes. */
static u64 pep_idle_progress(const struct pep_flow *flow)
{
	u64 sum = 0;
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		const struct tcp_sock *tp = tcp_sk(flow->leg[side].sk);

		sum += tp->bytes_received + tp->bytes_acked;
	}
	return sum;
}

/* Has each end acknowledged all that the other has sent? The legs of a connection
 * that was taken over have the same numbers.
 */
static bool pep_idle_drained(const struct pep_flow *flow)
{
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		const struct tcp_sock *in = tcp_sk(flow->leg[side].sk);
		const struct tcp_sock *out = tcp_sk(flow->leg[!side].sk);

		if (out->snd_una != in->rcv_nxt ||
		    out->write_seq != in->rcv_nxt ||
		    !RB_EMPTY_ROOT(&in->out_of_order_queue))
			return false;
	}
	return true;
}

/* Idle time after which the flow is to be handed back, jiffies; 0: never. */
static unsigned long pep_idle_release(const struct pep_flow *flow)
{
	if (flow->mode == PEP_CONNECT_MODE_EARLY || flow->idle_due ||
	    flow->state != PEP_FLOW_STATE_ESTABLISHED)
		return 0;
	return flow->release_idle * HZ;
}

/**
 * pep_idle_time() - find out how long a flow has been idle
 * @flow: flow that is up, locked, with its legs locked
 *
 * Context: BH off.
 * Return: time since a check last found progress, jiffies.
 */
unsigned long pep_idle_time(struct pep_flow *flow)
{
	u64 progress = pep_idle_progress(flow);

	if (progress != flow->progress) {
		flow->progress = progress;
		flow->active = jiffies;
		flow->idle_due = false;
	}
	return jiffies - flow->active;
}

/**
 * pep_idle_over() - check whether a flow has been idle for too long
 * @flow: flow that is up, locked, with its legs locked
 *
 * Schedules its release by pep_release_idle() when that is due.
 *
 * Context: softirq, RCU read side.
 * Return: true when its idle-timeout is over.
 */
bool pep_idle_over(struct pep_flow *flow)
{
	unsigned long over = flow->idle_timeout * HZ;
	unsigned long release = pep_idle_release(flow);
	unsigned long idle;

	if (timer_pending(&flow->timer) ||
	    !(over || release || flow->idle_due))
		return false;
	idle = pep_idle_time(flow);
	release = pep_idle_release(flow);
	if (over && idle >= over)
		return true;
	if (release && idle >= release && pep_idle_drained(flow)) {
		flow->idle_due = true;
		release = 0;
		pep_track_schedule(flow->conn);
	}
	if (over || release)
		pep_flow_wake_in(flow, min_not_zero(over, release) /
				       PEP_IDLE_LOOKS);
	return false;
}

/**
 * pep_idle_again() - find out when to look again at a flow that was not handed back
 * @flow: flow that is up, locked
 * @wait: time after which it may be possible, jiffies, not 0
 *
 * Context: any.
 * Return: @wait, or less where idle-timeout needs a look, jiffies.
 */
unsigned long pep_idle_again(const struct pep_flow *flow, unsigned long wait)
{
	unsigned long look = flow->idle_timeout * HZ / PEP_IDLE_LOOKS;

	return min_not_zero(wait, look);
}

/**
 * pep_idle_lasts() - has a flow been idle since its release was scheduled?
 * @flow: flow that is up, locked, with its legs locked
 *
 * Context: softirq.
 * Return: true while the flow is to be handed back.
 */
bool pep_idle_lasts(const struct pep_flow *flow)
{
	return flow->idle_due &&
	       flow->progress == pep_idle_progress(flow) &&
	       pep_idle_drained(flow);
}
