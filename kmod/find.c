// SPDX-License-Identifier: GPL-2.0
/* The leg of a split connection that a packet is for, by the table of connections. */

#include "find.h"

#include <linux/netdevice.h>
#include <net/tcp.h>

#include "flow.h"
#include "packet.h"
#include "track.h"
#include "tuple.h"

/*
 * Does a leg that is bound hear a packet of its end? ``server-dev`` says by which device a
 * leg sends; packets of its end may come by another one, where the table of sockets would
 * not show the leg. But in another VRF the same addresses are somebody else's, and a leg may
 * have an address of this host.
 */
static bool pep_find_hears(const struct sock *sk, int bound, int vrf,
			   const struct pep_packet *pkt)
{
	const struct net_device *dev = dev_get_by_index_rcu(sock_net(sk), bound);
	struct pep_tuple tuple;

	if (!dev || pep_tuple_vrf(dev) != vrf)
		return false;
	pep_tuple_of_peer(&tuple, sk);
	return pep_tuple_equal(&tuple, &pkt->tuple);
}

/**
 * pep_find_leg() - find the leg that a packet of a split connection is for
 * @conn: connection in PEP_TRACK_SPLIT, or that was until a moment ago
 * @vrf: VRF that the packet is received by, 0 for none
 * @pkt: parsed packet
 *
 * The flow keeps its leg for as long as RCU keeps the flow.
 *
 * Context: BH off, RCU read side.
 * Return: the leg, with a reference, or NULL when the table of sockets must be searched: the
 * leg is not up, or over (a TIME_WAIT socket may stand for it); it is bound, and the packet
 * is of another VRF than its device; or it is not bound, and a VRF has received the packet,
 * or the connection was answered early, so that the leg may have another address.
 */
struct sock *pep_find_leg(const struct pep_conn *conn, int vrf,
			  const struct pep_packet *pkt)
{
	/* Pairs with pep_adopt_own(); NULL when handed back meanwhile. */
	const struct pep_flow *flow = smp_load_acquire(&conn->flow);
	struct sock *sk;
	int bound;

	if (!flow)
		return NULL;
	/* Pairs with pep_flow_set_leg(). */
	sk = smp_load_acquire(&flow->leg[pep_track_side(conn, &pkt->tuple)].sk);
	if (!sk || inet_sk_state_load(sk) == TCP_CLOSE)
		return NULL;
	bound = READ_ONCE(sk->sk_bound_dev_if);
	if (unlikely(bound || vrf || flow->mode != PEP_CONNECT_MODE_FOLLOW) &&
	    !(bound && pep_find_hears(sk, bound, vrf, pkt)))
		return NULL;
	sock_hold(sk);
	return sk;
}

/**
 * pep_find_over() - would a packet change the end of a split connection whose leg is over?
 * @pn: started instance
 * @skb: packet for which there is no socket, no SYN
 * @pkt: parsed @skb
 *
 * A leg in another VRF is not found, and lives. A connection that is handed back loses its
 * sockets first, under its lock. An opener without a leg was answered early, by SYN cookie: the
 * target expects other acknowledgments.
 *
 * Context: BH off, RCU read side.
 * Return: true for a reset, payload or a FIN, when the connection is split and its leg
 * closed, or not there.
 */
bool pep_find_over(struct pep_net *pn, const struct sk_buff *skb,
		   const struct pep_packet *pkt)
{
	const struct pep_flow *flow;
	const struct sock *sk;
	struct pep_conn *conn;
	bool over = false;

	if (!pkt->th->rst && !pkt->payload && !pkt->th->fin)
		return false;
	conn = pep_track_find(pn, &pkt->tuple, pep_tuple_vrf(skb->dev));
	if (!conn)
		return false;
	spin_lock(&conn->lock);
	if (conn->stage == PEP_TRACK_SPLIT) {
		flow = conn->flow;
		/* Pairs with pep_flow_set_leg(). */
		sk = smp_load_acquire(&flow->leg[pep_track_side(conn, &pkt->tuple)].sk);
		over = !sk || inet_sk_state_load(sk) == TCP_CLOSE;
	}
	spin_unlock(&conn->lock);
	return over;
}
