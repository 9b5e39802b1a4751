// SPDX-License-Identifier: GPL-2.0
/*
 * Times of the events of a flow. A clock is read for an event that occurs once
 * in a flow's life, never for a packet.
 */

#include "stamp.h"

#include <net/tcp.h>

#include "flow.h"
#include "leg.h"

/**
 * pep_stamp() - note the time of a flow's event when it first occurs
 * @flow: flow, locked; see pep_flow.at
 * @time: event, enum pep_flow_time, with a side where it has one
 *
 * Context: any.
 */
void pep_stamp(struct pep_flow *flow, unsigned int time)
{
	if (!flow->at[time])
		flow->at[time] = ktime_get_ns();
}

/* Has the end reset? An ICMP error is not a segment from that end. */
static bool pep_stamp_was_reset(const struct sock *sk)
{
	return sk->sk_state == TCP_CLOSE && pep_leg_was_reset(sk) &&
	       (!pep_leg_refused(sk) || tcp_sk(sk)->segs_in);
}

/**
 * pep_stamp_leg() - note a FIN or a reset of an end
 * @flow: flow that the leg belongs to
 * @sk: locked leg whose state or error may have changed
 *
 * SOCK_DONE is set when a FIN has been received in order. The changes of a dead
 * flow's legs are this host's doing.
 *
 * Context: softirq, or a process that owns the socket.
 */
void pep_stamp_leg(struct pep_flow *flow, const struct sock *sk)
{
	enum pep_side side = pep_flow_side(flow, sk);

	if (READ_ONCE(flow->state) == PEP_FLOW_STATE_DEAD)
		return;
	if (sock_flag(sk, SOCK_DONE))
		pep_stamp(flow, pep_flow_time_on(PEP_FLOW_TIME_FIN_FROM, side));
	if (pep_stamp_was_reset(sk))
		pep_stamp(flow, pep_flow_time_on(PEP_FLOW_TIME_RST_FROM, side));
}
