// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of split connections that come by a device to which pep is not attached, while
 * their side has others.
 *
 * A device that is made anew, as ppp devices are, and VLANs by "ifreload", comes without
 * filters. Early demux finds the legs of split connections there, and ip_forward() drops a
 * packet that has a socket. While a flow has last heard an end by a device that is no more,
 * or is without filters, a hook on PREROUTING hands such packets to the legs. It is not
 * there otherwise, since it looks at each packet. Where the new device has filters of
 * somebody else, the route that a leg has noted with the first packet leads early demux to
 * it from then on.
 */

#include "stray.h"

#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <net/l3mdev.h>
#include <net/tcp.h>

#include "callback.h"
#include "flow.h"
#include "follow.h"
#include "icmp.h"
#include "net.h"
#include "packet.h"
#include "remains.h"
#include "steer.h"
#include "track.h"

#if IS_ENABLED(CONFIG_NETFILTER) && IS_ENABLED(CONFIG_NET_XGRESS)

/* When to look after a device is detached, and how often then, jiffies. */
#define PEP_STRAY_FIRST		(HZ / 20)
#define PEP_STRAY_PERIOD	(4 * HZ)

/* Does a bridge forward the frame, with br_netfilter? It may be for another host. */
static bool pep_stray_bridged(const struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_BRIDGE_NETFILTER)
	return skb_ext_exist(skb, SKB_EXT_BRIDGE_NF);
#else
	return false;
#endif
}

/* A packet for which there is no socket, by a device without filters. */
static bool pep_stray_lost(struct pep_net *pn, struct sk_buff *skb,
			   const struct pep_packet *pkt)
{
	enum pep_follow_verdict verdict;
	const struct pep_conn *conn;
	unsigned int stage;
	struct sock *leg;

	conn = pep_track_find(pn, &pkt->tuple, pep_tuple_vrf(skb->dev));
	stage = conn ? READ_ONCE(conn->stage) : PEP_TRACK_GONE;
	if (stage == PEP_TRACK_SPLIT && pkt->th->rst)
		return !pep_steer_over(pn, skb);
	if (stage != PEP_TRACK_RELEASING || pep_packet_is_syn(pkt->th))
		return false;
	verdict = pep_follow_packet(pn, NULL, skb, pkt, &leg);
	if (leg)
		sock_put(leg);
	return verdict == PEP_FOLLOW_CONSUMED;
}

/* Handle a packet, which pep_steer() may have let pass. Fragments of a split connection pass.
 * Return: true when it was consumed.
 */
static bool pep_stray_packet(struct pep_net *pn, struct sk_buff *skb)
{
	struct pep_packet pkt __uninitialized;
	enum pep_packet_kind kind;
	bool bare, ours;
	struct sock *sk;

	if (skb->pkt_type != PACKET_HOST || pep_stray_bridged(skb))
		return false;
	kind = pep_packet_parse(skb, &pkt);
	/* A VRF and a bridge have it from a device that may have filters. */
	bare = !rcu_access_pointer(skb->dev->tcx_ingress) &&
	       !netif_is_l3_master(skb->dev) && !netif_is_bridge_master(skb->dev);
	if (kind != PEP_PACKET_TCP && kind != PEP_PACKET_ICMP)
		return false;
	sk = pep_tuple_lookup_dev(pn->net, &pkt.tuple, skb->dev);
	if (!sk)
		return bare && kind == PEP_PACKET_TCP && pep_stray_lost(pn, skb, &pkt);
	ours = pep_callback_owns(sk);
	if (ours && kind == PEP_PACKET_TCP)
		return !pep_steer_socket(pn, sk, skb, &pkt);
	sock_gen_put(sk);
	/* Others are none of pep's, and are not counted. */
	return ours && bare && !pep_icmp_error(pn, skb, &pkt);
}

static unsigned int pep_stray_in(void *priv, struct sk_buff *skb,
				 const struct nf_hook_state *state)
{
	bool taken;

	/* A packet may come here from a queue of nfnetlink. */
	local_bh_disable();
	taken = pep_stray_packet(pep_net(state->net), skb);
	local_bh_enable();
	return taken ? NF_STOLEN : NF_ACCEPT;
}

/* Before defragmentation and conntrack, which does not know split connections. */
static const struct nf_hook_ops pep_stray_ops[] = {
	{
		.hook = pep_stray_in,
		.pf = NFPROTO_INET,
		.hooknum = NF_INET_PRE_ROUTING,
		.priority = NF_IP_PRI_RAW_BEFORE_DEFRAG,
	},
};

/* Is a device no more, or has it no filters any more? */
static bool pep_stray_bare(const struct pep_net *pn, int ifindex)
{
	const struct net_device *dev = dev_get_by_index_rcu(pn->net, ifindex);

	return !dev || !rcu_access_pointer(dev->tcx_ingress);
}

/* The device that an end was last heard by; for a leg in a VRF the one before it was made;
 * while nothing has been heard that of its route; 0 for none.
 */
static int pep_stray_device(const struct pep_flow *flow, enum pep_side side,
			    const struct sock *sk)
{
	int ifindex = READ_ONCE(sk->sk_rx_dst_ifindex);
	const struct pep_conn *conn = READ_ONCE(flow->conn);
	const struct dst_entry *dst;

	if (!ifindex) {
		dst = rcu_dereference(sk->sk_dst_cache);
		return dst ? dst->dev->ifindex : 0;
	}
	if (conn && netif_index_is_l3_master(flow->pn->net, ifindex))
		return READ_ONCE(conn->end[side].ifindex);
	return ifindex;
}

/* May packets of a flow come by a device to which pep is not attached? */
static bool pep_stray_possible(struct pep_flow *flow)
{
	enum pep_side side;

	if (READ_ONCE(flow->state) == PEP_FLOW_STATE_CONNECTING &&
	    pep_stray_bare(flow->pn, flow->ifindex))
		return true;
	for (side = 0; side < 2; side++) {
		/* Pairs with pep_flow_set_leg(). */
		const struct sock *sk = smp_load_acquire(&flow->leg[side].sk);
		int ifindex;

		if (!sk || inet_sk_state_load(sk) == TCP_CLOSE)
			continue;
		ifindex = pep_stray_device(flow, side, sk);
		if (ifindex && pep_stray_bare(flow->pn, ifindex))
			return true;
	}
	return false;
}

/* Take the hook away, and sockets of connections that have ended meanwhile. */
static void pep_stray_end(struct pep_net *pn)
{
	nf_unregister_net_hooks(pn->net, pep_stray_ops,
				ARRAY_SIZE(pep_stray_ops));
	pn->strays = false;
	pep_remains_schedule(pn);
}

static void pep_stray_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, stray);

	if (pep_flow_each(pn, NULL, NULL, pep_stray_possible)) {
		/* Without memory it is tried again. */
		if (!pn->strays)
			pn->strays = !nf_register_net_hooks(pn->net, pep_stray_ops,
							    ARRAY_SIZE(pep_stray_ops));
		schedule_delayed_work(&pn->stray, PEP_STRAY_PERIOD);
	} else if (pn->strays) {
		pep_stray_end(pn);
	} else if (xchg(&pn->stray_again, false)) {
		schedule_delayed_work(&pn->stray, PEP_STRAY_PERIOD);
	}
}

/**
 * pep_stray_init() - prepare an instance
 * @pn: new instance
 *
 * Context: any.
 */
void pep_stray_init(struct pep_net *pn)
{
	INIT_DELAYED_WORK(&pn->stray, pep_stray_work);
}

/**
 * pep_stray_schedule() - look for flows whose packets may come by another device
 * @pn: instance that a device has been detached from
 *
 * At least twice: a connection may be taken over soon after its last packet by the device.
 *
 * Context: any.
 */
void pep_stray_schedule(struct pep_net *pn)
{
	WRITE_ONCE(pn->stray_again, true);
	/* Does nothing after pep_stray_stop(). */
	mod_delayed_work(system_wq, &pn->stray, PEP_STRAY_FIRST);
}

/**
 * pep_stray_stop() - take the hook away for good
 * @pn: instance that goes; the caller awaits a grace period afterwards
 *
 * Context: may sleep.
 */
void pep_stray_stop(struct pep_net *pn)
{
	disable_delayed_work_sync(&pn->stray);
	if (pn->strays)
		pep_stray_end(pn);
}

#else

void pep_stray_init(struct pep_net *pn)
{
}

void pep_stray_schedule(struct pep_net *pn)
{
}

void pep_stray_stop(struct pep_net *pn)
{
}

#endif
