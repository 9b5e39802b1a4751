// SPDX-License-Identifier: GPL-2.0
/*
 * The callbacks of a flow's sockets, which also identify the sockets as ours.
 *
 * TCP calls them in softirq, or in a process that releases the socket.
 */

#include "callback.h"

#include <net/inet_timewait_sock.h>
#include <net/request_sock.h>
#include <net/tcp.h>

#include "flow.h"
#include "listener.h"
#include "stamp.h"
#include "window.h"
#include "xmit.h"

/*
 * The callbacks run with the socket locked and schedule the flow. They take the
 * RCU read lock themselves: tcp_tsq_handler() calls down to sk_write_space()
 * without it.
 */
static void pep_callback_data_ready(struct sock *sk)
{
	struct pep_flow *flow;

	rcu_read_lock();
	flow = rcu_dereference_sk_user_data(sk);
	if (flow) {
		pep_window_hold(&flow->leg[pep_flow_side(flow, sk)]);
		pep_flow_schedule(flow);
	}
	rcu_read_unlock();
}

static void pep_callback_state_change(struct sock *sk)
{
	struct pep_flow *flow;

	rcu_read_lock();
	flow = rcu_dereference_sk_user_data(sk);
	if (flow) {
		pep_stamp_leg(flow, sk);
		pep_flow_schedule(flow);
	}
	rcu_read_unlock();
}

/* Is it the leg of a subscriber, behind BBR's startup, or without one? One whose link
 * link.c does not look at counts as such from its beginning.
 */
static bool pep_callback_patient(const struct pep_flow *flow,
				 const struct sock *sk)
{
	return flow->leg[PEP_SIDE_WIRELESS].sk == sk &&
	       (!READ_ONCE(flow->link.path) || flow->link.grown);
}

/*
 * Follows sk_stream_write_space(), with the flow for the sleeping writer. Where a
 * subscriber's leg is behind its startup half of the payload that it may hold unsent has to be
 * sent before: a relay that fills the room of one segment each time pushes every segment,
 * and the end acknowledges each, which an uplink may not carry. In BBR's startup that saves
 * the delayed acknowledgment that each flight would end with. When there is no memory
 * tcp_sendmsg_locked() reports space on its way out: the relay ignores that and tries again
 * later.
 */
static void pep_callback_write_space(struct sock *sk)
{
	struct socket *sock = sk->sk_socket;
	struct pep_flow *flow;

	if (!sock || !sk_stream_is_writeable(sk))
		return;
	rcu_read_lock();
	flow = rcu_dereference_sk_user_data(sk);
	if (flow && !flow->sending &&
	    __sk_stream_is_writeable(sk, pep_callback_patient(flow, sk))) {
		clear_bit(SOCK_NOSPACE, &sock->flags);
		pep_flow_schedule(flow);
	}
	rcu_read_unlock();
}

/**
 * pep_callback_owns() - is it a socket of this module?
 * @sk: any TCP socket: full, request or TIME_WAIT
 *
 * A TIME_WAIT socket of another transparent proxy looks like one of ours.
 *
 * Context: any.
 * Return: true for a leg, a listener, and their TIME_WAIT or request sockets.
 */
bool pep_callback_owns(const struct sock *sk)
{
	if (sk->sk_state == TCP_TIME_WAIT)
		return inet_twsk(sk)->tw_transparent;
	if (sk->sk_state == TCP_NEW_SYN_RECV)
		return pep_listener_owns(inet_reqsk(sk)->rsk_listener);
	return READ_ONCE(sk->sk_data_ready) == pep_callback_data_ready ||
	       pep_listener_owns(sk);
}

/**
 * pep_callback_attach() - make a socket report to a flow, and send by xmit.c
 * @flow: flow that outlives the attachment, with the socket as a leg
 * @sk: locked socket with a struct socket
 *
 * A FIN or a reset that the leg has received before is noted as if it came now.
 *
 * Context: BH off, with the flow locked.
 */
void pep_callback_attach(struct pep_flow *flow, struct sock *sk)
{
	sk->sk_state_change = pep_callback_state_change;
	sk->sk_error_report = pep_callback_state_change;
	sk->sk_write_space = pep_callback_write_space;
	rcu_assign_sk_user_data(sk, flow);
	pep_xmit_attach(sk);
	/* Last: steering takes the socket for a leg from here on. */
	WRITE_ONCE(sk->sk_data_ready, pep_callback_data_ready);
	pep_stamp_leg(flow, sk);
}
