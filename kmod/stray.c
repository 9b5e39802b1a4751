// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of split connections that come by a device to which pep is not attached.
 *
 * A device that is made anew, as ppp devices are, and VLANs by "ifreload", comes without
 * filters; routing may move a connection to a backup that nobody has attached. Early demux
 * finds the legs of split connections there, and ip_forward() drops a packet that has a
 * socket. Therefore a hook on PREROUTING hands such packets to the legs. Each forwarded
 * packet pays for it, so it is there only while there is a device that could bring them:
 * one that is up, that has no filter with the action, and by which no action has had a packet
 * since a device was detached, as one of a shared block has.
 */

#include "stray.h"

#include <linux/if_vlan.h>
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
#include "source.h"
#include "stat.h"
#include "steer.h"
#include "track.h"

#if IS_ENABLED(CONFIG_NETFILTER) && IS_ENABLED(CONFIG_NET_XGRESS)

/* When to look after a device is detached, and how often otherwise, jiffies. */
#define PEP_STRAY_FIRST		(HZ / 20)
#define PEP_STRAY_PERIOD	(4 * HZ)

/* A device may have lost its filters, those of a shared block, while the actions stay. */
static bool pep_stray_attached(struct pep_net *pn, const struct net_device *dev)
{
	return rcu_access_pointer(dev->tcx_ingress) &&
	       xa_load(&pn->attached, dev->ifindex);
}

static int pep_stray_lower(struct net_device *dev, struct netdev_nested_priv *priv)
{
	return pep_stray_attached(priv->data, dev);
}

/* Has an action had the packet, by a device below the one that it comes by now? Below a VLAN
 * it had a tag, with which the action lets packets pass.
 */
static bool pep_stray_seen(struct pep_net *pn, struct net_device *dev)
{
	struct netdev_nested_priv priv = { .data = pn };

	return !is_vlan_dev(dev) &&
	       netdev_walk_all_lower_dev_rcu(dev, pep_stray_lower, &priv);
}

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

/* Would routing drop the packet since its source cannot be behind its device? */
static bool pep_stray_forged(struct pep_net *pn, struct sk_buff *skb,
			     const struct pep_packet *pkt)
{
	return pkt->tuple.family == AF_INET && pep_source_check(pn->net, skb, pkt);
}

/* Handle a packet that no action has had. Fragments of a split connection pass.
 * Return: true when it was consumed.
 */
static bool pep_stray_packet(struct pep_net *pn, struct sk_buff *skb)
{
	struct pep_packet pkt __uninitialized;
	enum pep_packet_kind kind;
	struct sock *sk;
	bool ours;

	if (skb->pkt_type != PACKET_HOST || pep_stray_bridged(skb))
		return false;
	kind = pep_packet_parse(skb, &pkt);
	if (kind != PEP_PACKET_TCP && kind != PEP_PACKET_ICMP)
		return false;
	sk = pep_tuple_lookup_dev(pn->net, &pkt.tuple, skb->dev);
	if (!sk)
		return kind == PEP_PACKET_TCP && !pep_stray_seen(pn, skb->dev) &&
		       pep_stray_lost(pn, skb, &pkt);
	ours = pep_callback_owns(sk);
	if (ours && kind == PEP_PACKET_TCP && !pep_stray_forged(pn, skb, &pkt)) {
		if (pep_steer_socket(pn, sk, skb, &pkt))
			return false;
		pep_stat_inc(pn, PEP_STAT_STRAY);
		return true;
	}
	sock_gen_put(sk);
	/* Others are none of pep's, and are not counted. */
	return ours && kind == PEP_PACKET_ICMP && !pep_icmp_error(pn, skb, &pkt);
}

static unsigned int pep_stray_in(void *priv, struct sk_buff *skb,
				 const struct nf_hook_state *state)
{
	struct pep_net *pn = pep_net(state->net);
	bool taken;

	/* Packets come to a VRF from another device, by which they have been here. */
	if (likely(pep_stray_attached(pn, skb->dev)) || netif_is_l3_master(skb->dev))
		return NF_ACCEPT;
	/* A packet may come here from a queue of nfnetlink. */
	local_bh_disable();
	taken = pep_stray_packet(pn, skb);
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

/* May a device bring packets that no action has had? */
static bool pep_stray_device(struct pep_net *pn, const struct net_device *dev)
{
	return (dev->flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP &&
	       !netif_is_bridge_port(dev) && !netif_is_lag_port(dev) &&
	       !netif_is_l3_master(dev) && !pep_stray_attached(pn, dev);
}

static bool pep_stray_devices(struct pep_net *pn)
{
	struct net_device *dev;
	bool found = false;

	rcu_read_lock();
	for_each_netdev_rcu(pn->net, dev) {
		found = pep_stray_device(pn, dev);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

/* Is a leg bound to a device that is no more? It will hear nothing, nor be heard. */
static bool pep_stray_orphan(const struct pep_flow *flow, const void *unused)
{
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		const struct sock *sk = READ_ONCE(flow->leg[side].sk);
		int bound = sk ? READ_ONCE(sk->sk_bound_dev_if) : 0;

		if (bound && inet_sk_state_load(sk) != TCP_CLOSE &&
		    !dev_get_by_index_rcu(flow->pn->net, bound))
			return true;
	}
	return false;
}

/* Take the hook away, and sockets of connections that have ended meanwhile. */
static void pep_stray_finish(struct pep_net *pn)
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
	bool wanted;

	if (xchg(&pn->stray_orphans, false))
		pep_flow_kill(pn, pep_stray_orphan, NULL);
	wanted = (pn->strays || atomic_read(&pn->nflows)) && pep_stray_devices(pn);
	/* Without memory it is tried again. */
	if (wanted && !pn->strays)
		pn->strays = !nf_register_net_hooks(pn->net, pep_stray_ops,
						    ARRAY_SIZE(pep_stray_ops));
	else if (!wanted && pn->strays)
		pep_stray_finish(pn);
	schedule_delayed_work(&pn->stray, PEP_STRAY_PERIOD);
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
	xa_init_flags(&pn->attached, XA_FLAGS_LOCK_BH);
}

/**
 * pep_stray_start() - begin to look for devices that are not attached
 * @pn: instance that starts
 *
 * Context: may sleep.
 */
void pep_stray_start(struct pep_net *pn)
{
	schedule_delayed_work(&pn->stray, PEP_STRAY_PERIOD);
}

/**
 * pep_stray_note() - note a device whose packet an action has
 * @pn: started instance
 * @ifindex: the device
 *
 * Without memory the device counts as one that is not attached, which costs instructions.
 *
 * Context: softirq, RCU read side.
 * Return: true when it was not noted before.
 */
bool pep_stray_note(struct pep_net *pn, int ifindex)
{
	return !READ_ONCE(pn->stopping) && !xa_load(&pn->attached, ifindex) &&
	       !xa_insert_bh(&pn->attached, ifindex, xa_mk_value(0), GFP_ATOMIC);
}

/**
 * pep_stray_attach() - note a device that has one more filter with an action
 * @pn: started instance
 * @ifindex: the device
 *
 * Without memory the device counts as one that is not attached until it has a packet.
 *
 * Context: any but hard interrupt.
 * Return: true when it is noted, for pep_stray_detach().
 */
bool pep_stray_attach(struct pep_net *pn, int ifindex)
{
	unsigned long filters;
	void *entry;

	xa_lock_bh(&pn->attached);
	entry = xa_load(&pn->attached, ifindex);
	filters = entry ? xa_to_value(entry) : 0;
	entry = __xa_store(&pn->attached, ifindex, xa_mk_value(filters + 1), GFP_ATOMIC);
	xa_unlock_bh(&pn->attached);
	return !xa_is_err(entry);
}

/**
 * pep_stray_detach() - look for flows that end with a device
 * @pn: instance of which a tc action has gone
 * @ifindex: device of the action's filter, noted; 0 where it is not known
 *
 * Devices without a filter that is known are noted again with their next packets. Flows
 * with a leg that was bound to the device end with resets.
 *
 * Context: any but hard interrupt.
 */
void pep_stray_detach(struct pep_net *pn, int ifindex)
{
	unsigned long index;
	void *entry;

	xa_lock_bh(&pn->attached);
	xa_for_each(&pn->attached, index, entry) {
		unsigned long filters = xa_to_value(entry);
		bool own = index == ifindex;

		if (filters <= own)
			__xa_erase(&pn->attached, index);
		else if (own)
			__xa_store(&pn->attached, index, xa_mk_value(filters - 1), 0);
	}
	xa_unlock_bh(&pn->attached);
	/* Full barrier: who sees the new number finds the device forgotten. */
	atomic_inc_return(&pn->detached);
	WRITE_ONCE(pn->stray_orphans, true);
	/* Does nothing after pep_stray_stop(). */
	mod_delayed_work(system_wq, &pn->stray, PEP_STRAY_FIRST);
}

/**
 * pep_stray_stop() - take the hook away for good
 * @pn: instance that goes; the caller awaits a grace period afterwards
 *
 * A grace period has passed since pep_net.stopping was set.
 *
 * Context: may sleep.
 */
void pep_stray_stop(struct pep_net *pn)
{
	disable_delayed_work_sync(&pn->stray);
	if (pn->strays)
		pep_stray_finish(pn);
	xa_destroy(&pn->attached);
}

#else

void pep_stray_init(struct pep_net *pn)
{
}

void pep_stray_start(struct pep_net *pn)
{
}

bool pep_stray_note(struct pep_net *pn, int ifindex)
{
	return true;
}

bool pep_stray_attach(struct pep_net *pn, int ifindex)
{
	return false;
}

/* Where a side has no device left, the ends of its flows would talk past each other. */
void pep_stray_detach(struct pep_net *pn, int ifindex)
{
	if (!atomic_read(&pn->devices[PEP_SIDE_WIRELESS]) ||
	    !atomic_read(&pn->devices[PEP_SIDE_SERVER]))
		pep_flow_kill(pn, NULL, NULL);
}

void pep_stray_stop(struct pep_net *pn)
{
}

#endif
