// SPDX-License-Identifier: GPL-2.0
/*
 * Flows of devices that are no more, while their side has others.
 *
 * A device that is made anew, as ppp devices are, and VLANs by "ifreload", comes without
 * filters. Until it is attached the kernel drops the packets of split connections there:
 * early demux finds the legs, and ip_forward() drops a packet that has a socket. A packet
 * by any device that is attached ends the danger. An end that is silent is asked by a
 * keepalive probe; then its connection is handed back, and one for which that is
 * impossible ends with resets.
 *
 * A leg in a VRF has the VRF for its device, and is not found.
 */

#include "vanish.h"

#include <linux/netdevice.h>
#include <net/tcp.h>

#include "clock.h"
#include "flow.h"
#include "net.h"
#include "release.h"

/* When to look first, and how often then, jiffies. The rule of udev that attaches a device
 * needs about a second.
 */
#define PEP_VANISH_FIRST	(3 * HZ)
#define PEP_VANISH_PERIOD	(4 * HZ)

/* What is done from the n-th look on that finds an end silent, beside asking it: the
 * connection is handed back, the flow is killed.
 */
#define PEP_VANISH_RELEASE	2
#define PEP_VANISH_KILL		4

/* Has the end on a side last been heard by a device that is no more? */
static bool pep_vanish_silent(const struct pep_flow *flow, enum pep_side side)
{
	const struct sock *sk = flow->leg[side].sk;
	int ifindex;

	if (inet_sk_state_load(sk) == TCP_CLOSE)
		return false;
	ifindex = READ_ONCE(sk->sk_rx_dst_ifindex);
	return ifindex && !dev_get_by_index_rcu(flow->pn->net, ifindex);
}

/* Is one of the ends of a flow silent that way? */
static bool pep_vanish_match(const struct pep_flow *flow)
{
	unsigned int state = READ_ONCE(flow->state);

	/* A flow that is being opened has time limits of its own. */
	if (state != PEP_FLOW_STATE_ESTABLISHED && state != PEP_FLOW_STATE_CLOSING)
		return false;
	return pep_vanish_silent(flow, PEP_SIDE_WIRELESS) ||
	       pep_vanish_silent(flow, PEP_SIDE_SERVER);
}

/* Ask the silent ends of a flow. */
static void pep_vanish_ask(struct pep_flow *flow)
{
	enum pep_side side;

	spin_lock_bh(&flow->lock);
	if (pep_vanish_match(flow)) {
		pep_flow_lock_legs(flow);
		for (side = 0; side < 2; side++)
			if (pep_vanish_silent(flow, side) &&
			    !sock_owned_by_user(flow->leg[side].sk))
				pep_clock_probe(flow->leg[side].sk);
		pep_flow_unlock_legs(flow);
	}
	spin_unlock_bh(&flow->lock);
}

/* Has an end to acknowledge or to repeat payload? Without locks: it has for seconds. */
static bool pep_vanish_busy(const struct pep_flow *flow)
{
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		const struct tcp_sock *tp = tcp_sk(flow->leg[side].sk);

		if (READ_ONCE(tp->snd_una) != READ_ONCE(tp->write_seq) ||
		    !RB_EMPTY_ROOT(&tp->out_of_order_queue))
			return true;
	}
	return false;
}

/* Look after a flow. Return: true when it waits for an end. */
static bool pep_vanish_look(struct pep_flow *flow)
{
	bool way;

	if (likely(!pep_vanish_match(flow))) {
		if (unlikely(flow->vanished))
			flow->vanished = 0;
		return false;
	}
	if (flow->vanished < PEP_VANISH_KILL)
		flow->vanished++;
	pep_vanish_ask(flow);
	if (flow->vanished < PEP_VANISH_RELEASE)
		return true;
	way = pep_release_flow(flow);
	/* A phone may sleep for long, whose clock the release waits for. */
	if (flow->vanished == PEP_VANISH_KILL && (!way || pep_vanish_busy(flow)))
		pep_flow_kill_one(flow);
	return true;
}

static void pep_vanish_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, vanish);

	if (pep_flow_each(pn, NULL, NULL, pep_vanish_look))
		schedule_delayed_work(&pn->vanish, PEP_VANISH_PERIOD);
}

/**
 * pep_vanish_init() - prepare an instance
 * @pn: new instance
 *
 * Context: any.
 */
void pep_vanish_init(struct pep_net *pn)
{
	INIT_DELAYED_WORK(&pn->vanish, pep_vanish_work);
}

/**
 * pep_vanish_schedule() - look after flows soon, until no end is silent any more
 * @pn: instance; a device of it has been detached, or is no more
 *
 * Context: any.
 */
void pep_vanish_schedule(struct pep_net *pn)
{
	/* Does nothing after pep_vanish_stop(). */
	schedule_delayed_work(&pn->vanish, PEP_VANISH_FIRST);
}

/**
 * pep_vanish_stop() - look after flows no more
 * @pn: instance that goes
 *
 * Context: may sleep.
 */
void pep_vanish_stop(struct pep_net *pn)
{
	disable_delayed_work_sync(&pn->vanish);
}
