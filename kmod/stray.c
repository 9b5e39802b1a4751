// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of split connections that come by a device to which pep is not attached.
 *
 * A device that is made anew, as ppp devices are, and VLANs by "ifreload", comes without
 * filters; routing may move a connection to a backup that nobody has attached. Early demux
 * finds the legs of split connections there, and ip_forward() drops a packet that has a
 * socket. Therefore a hook on PREROUTING hands such packets to the legs, and does what the
 * action would with others of connections that are split or being handed back. Each forwarded
 * packet pays for it, so it is there only while there is a device that could bring them:
 * one that is up, from which routing forwards, and that is not attached.
 *
 * A device is attached while it has a filter of its own with an action at ingress. An action
 * that several filters have, or a block of several devices, is not that of one device: it
 * notes the devices of its packets. A note holds until an action has gone, or for a period,
 * so that a device that has lost its filter is forgotten.
 */

#include "stray.h"

#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/netfilter_bridge.h>
#include <linux/netfilter_ipv4.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/tcp.h>

#include "callback.h"
#include "compat.h"
#include "find.h"
#include "flow.h"
#include "follow.h"
#include "hand.h"
#include "icmp.h"
#include "net.h"
#include "packet.h"
#include "remains.h"
#include "source.h"
#include "stat.h"
#include "track.h"

#if IS_ENABLED(CONFIG_NETFILTER) && IS_ENABLED(CONFIG_NET_XGRESS)

/* When to look after a device is detached, and how often otherwise, jiffies. */
#define PEP_STRAY_FIRST		(HZ / 20)
#define PEP_STRAY_PERIOD	(4 * HZ)

/* Looks in sequence that have to find no device before the hook goes. */
#define PEP_STRAY_LOOKS		5

/* Bits of an epoch in an entry; a value has at least 31 bits. */
#define PEP_STRAY_EPOCH		GENMASK(27, 0)

/*
 * An entry of pep_net.attached has twice the number of a device's own filters, or, where
 * there is none, the epoch in which an action has noted the device, with the lowest bit set.
 */
static void *pep_stray_counted(unsigned long filters)
{
	return xa_mk_value(filters << 1);
}

static void *pep_stray_noted(u32 epoch)
{
	return xa_mk_value((epoch & PEP_STRAY_EPOCH) << 1 | 1);
}

static bool pep_stray_is_note(const void *entry)
{
	return entry && xa_to_value(entry) & 1;
}

/* Number of a device's own filters. */
static unsigned long pep_stray_filters(const void *entry)
{
	return !entry || pep_stray_is_note(entry) ? 0 : xa_to_value(entry) >> 1;
}

/* A device may have lost its filters, those of a shared block, while the actions stay. */
static bool pep_stray_attached(struct pep_net *pn, const struct net_device *dev)
{
	u64 *recent = &pn->recent[(u32)dev->ifindex % ARRAY_SIZE(pn->recent)];
	u64 number = pep_stray_number(pn, dev->ifindex);
	u64 kept = READ_ONCE(*recent);
	const void *entry;

	if (!rcu_access_pointer(dev->tcx_ingress))
		return false;
	if (likely(kept == number))
		return true;
	/* Pairs with pep_stray_detach(): in the new epoch the filter is not found. */
	smp_rmb();
	entry = xa_load(&pn->attached, dev->ifindex);
	if (!pep_stray_filters(entry) && entry != pep_stray_noted(number >> 32))
		return false;
	/* The first of the devices that share a slot keeps it for the epoch. */
	if (!kept || kept >> 32 != number >> 32)
		WRITE_ONCE(*recent, number);
	return true;
}

/* Does a bridge forward the frame, with br_netfilter, to another host? One to the bridge
 * itself comes to no hook of PREROUTING a second time, see ip_sabotage_in().
 */
static bool pep_stray_bridged(const struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_BRIDGE_NETFILTER)
	const struct nf_bridge_info *bridge = nf_bridge_info_get(skb);

	return bridge && bridge->pkt_otherhost;
#else
	return false;
#endif
}

/* Would routing drop the packet since its source cannot be behind its device? */
static bool pep_stray_forged(struct pep_net *pn, struct sk_buff *skb,
			     const struct pep_packet *pkt)
{
	return pkt->tuple.family == AF_INET && pep_source_check(pn->net, skb, pkt);
}

/* A packet for a socket of pep's, whose reference is consumed. */
static bool pep_stray_leg(struct pep_net *pn, struct sock *sk, struct sk_buff *skb,
			  struct pep_packet *pkt)
{
	if (pep_hand_socket(pn, sk, skb, pkt))
		return false;
	pep_stat_inc(pn, PEP_STAT_STRAY);
	return true;
}

/* A packet for which there is no socket, by a device without filters. An action may have had
 * it at an attached port of a bridge: then a leg that is released gets it twice.
 */
static bool pep_stray_lost(struct pep_net *pn, struct sk_buff *skb,
			   struct pep_packet *pkt)
{
	enum pep_follow_verdict verdict;
	const struct pep_conn *conn;
	enum pep_track_stage stage;
	struct sock *leg;

	if (pep_packet_is_syn(pkt->th))
		return false;
	conn = pep_track_find(pn, &pkt->tuple, pep_tuple_vrf(skb->dev));
	if (!conn)
		return false;
	stage = READ_ONCE(conn->stage);
	if ((stage != PEP_TRACK_SPLIT && stage != PEP_TRACK_RELEASING) ||
	    pep_stray_forged(pn, skb, pkt))
		return false;
	verdict = pep_follow_packet(pn, NULL, skb, pkt, &leg);
	if (leg)
		return pep_stray_leg(pn, leg, skb, pkt);
	if (verdict == PEP_FOLLOW_SPLIT && pep_find_over(pn, skb, pkt)) {
		pep_hand_over(pn, skb, pkt);
		return true;
	}
	return verdict == PEP_FOLLOW_CONSUMED;
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
		return kind == PEP_PACKET_TCP && pep_stray_lost(pn, skb, &pkt);
	ours = pep_callback_owns(sk);
	if (ours && kind == PEP_PACKET_TCP && !pep_stray_forged(pn, skb, &pkt))
		return pep_stray_leg(pn, sk, skb, &pkt);
	sock_gen_put(sk);
	/* Others are none of pep's, and are not counted. */
	return ours && kind == PEP_PACKET_ICMP && !pep_icmp_error(pn, skb, &pkt, 0);
}

static unsigned int pep_stray_in(void *priv, struct sk_buff *skb,
				 const struct nf_hook_state *state)
{
	struct pep_net *pn = priv;
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
static const struct nf_hook_ops pep_stray_ops = {
	.hook = pep_stray_in,
	.pf = NFPROTO_INET,
	.hooknum = NF_INET_PRE_ROUTING,
	.priority = NF_IP_PRI_RAW_BEFORE_DEFRAG,
};

/* Does routing forward what a device brings? Over IPv4 each device has its own setting,
 * over IPv6 that of the namespace is for all, see ip6_forward().
 */
static bool pep_stray_forwards(const struct net *net, const struct net_device *dev)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);

	if (in_dev && IN_DEV_FORWARD(in_dev))
		return true;
#if IS_ENABLED(CONFIG_IPV6)
	if (ipv6_mod_enabled()) {
		const struct inet6_dev *idev = __in6_dev_get(dev);

		return idev && !READ_ONCE(idev->cnf.disable_ipv6) &&
		       (READ_ONCE(net->ipv6.devconf_all->forwarding) ||
			pep_compat_force_forwarding(idev));
	}
#endif
	return false;
}

/* May a device bring packets that no action has had? */
static bool pep_stray_device(struct pep_net *pn, const struct net_device *dev)
{
	return (dev->flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP &&
	       !netif_is_bridge_port(dev) && !netif_is_lag_port(dev) &&
	       !netif_is_l3_master(dev) && !pep_stray_attached(pn, dev) &&
	       pep_stray_forwards(pn->net, dev);
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

/* Is a leg bound to a device that no longer exists? It will hear nothing, nor be heard. */
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
	nf_unregister_net_hook(pn->net, &pn->stray_ops);
	pn->strays = false;
	pep_remains_schedule(pn);
}

/* Have the hook while it is wanted, and for some looks longer, but for early ones. */
static void pep_stray_decide(struct pep_net *pn, bool wanted, bool early)
{
	pn->stray_idle = wanted ? 0 : pn->stray_idle + !early;
	/* Without memory it is tried again. */
	if (wanted && !pn->strays)
		pn->strays = !nf_register_net_hook(pn->net, &pn->stray_ops);
	else if (pn->strays && pn->stray_idle >= PEP_STRAY_LOOKS)
		pep_stray_finish(pn);
}

/* End flows of devices that have gone since the last time. */
static void pep_stray_orphans(struct pep_net *pn)
{
	unsigned int seq = READ_ONCE(pn->net->dev_base_seq);

	if (pn->stray_seq == seq)
		return;
	pn->stray_seq = seq;
	pep_flow_kill(pn, pep_stray_orphan, NULL);
}

/* Is an entry a note of an epoch before the last one? */
static bool pep_stray_is_old(const struct pep_net *pn, const void *entry)
{
	u32 epoch;

	if (!pep_stray_is_note(entry))
		return false;
	/* Pairs with pep_stray_detach(): the epoch is that of the note, or a later one. */
	smp_rmb();
	epoch = atomic_read(&pn->epoch) - (xa_to_value(entry) >> 1);
	return (epoch & PEP_STRAY_EPOCH) > 1;
}

/* Begin an epoch: devices are noted again with their next packets. */
static void pep_stray_forget(struct pep_net *pn)
{
	unsigned long index;
	void *entry;

	atomic_inc(&pn->epoch);
	xa_for_each(&pn->attached, index, entry)
		if (pep_stray_is_old(pn, entry))
			xa_cmpxchg_bh(&pn->attached, index, entry, NULL, GFP_KERNEL);
}

/* Look once more, if not earlier. On two queues the work item could run twice at once. */
static void pep_stray_later(struct pep_net *pn)
{
	queue_delayed_work(system_percpu_wq, &pn->stray, PEP_STRAY_PERIOD);
}

static void pep_stray_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, stray);
	/* Full barrier: a device whose action had gone before is not found attached. */
	bool soon = xchg(&pn->stray_soon, false);

	pep_stray_orphans(pn);
	pep_stray_decide(pn, atomic_read(&pn->nflows) && pep_stray_devices(pn), soon);
	if (!soon)
		pep_stray_forget(pn);
	pep_stray_later(pn);
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
	pn->stray_ops = pep_stray_ops;
	pn->stray_ops.priv = pn;
}

/**
 * pep_stray_start() - begin to look for devices that are not attached
 * @pn: instance that starts
 *
 * Context: may sleep.
 */
void pep_stray_start(struct pep_net *pn)
{
	pep_stray_later(pn);
}

/* Count a device's own filter no more; after the last one the device has the entry @none. */
static void pep_stray_uncount(struct pep_net *pn, int ifindex, void *none)
{
	unsigned long filters;

	xa_lock_bh(&pn->attached);
	filters = pep_stray_filters(xa_load(&pn->attached, ifindex));
	/* There is no entry after pep_stray_stop(). */
	if (filters)
		__xa_store(&pn->attached, ifindex,
			   filters > 1 ? pep_stray_counted(filters - 1) : none,
			   GFP_ATOMIC);
	xa_unlock_bh(&pn->attached);
}

/**
 * pep_stray_note() - note a device whose packet an action has
 * @pn: started instance
 * @number: number of the device, read before
 *
 * Without memory the device counts as one that is not attached, which costs instructions.
 *
 * Context: softirq, RCU read side.
 * Return: true when it was not noted before.
 */
bool pep_stray_note(struct pep_net *pn, u64 number)
{
	void *old, *note = pep_stray_noted(number >> 32);
	u32 ifindex = number;
	bool noted = false;

	old = xa_load(&pn->attached, ifindex);
	if (READ_ONCE(pn->stopping) || pep_stray_filters(old) || old == note)
		return false;
	xa_lock_bh(&pn->attached);
	old = xa_load(&pn->attached, ifindex);
	if (!pep_stray_filters(old))
		noted = !xa_is_err(__xa_store(&pn->attached, ifindex, note, GFP_ATOMIC));
	xa_unlock_bh(&pn->attached);
	return noted;
}

/**
 * pep_stray_attach() - count a filter that a device has of its own
 * @pn: started instance
 * @ifindex: the device
 *
 * Without memory the device counts as one that is not attached until it has a packet.
 *
 * Context: any but hard interrupt.
 * Return: true when it is counted, for pep_stray_share() or pep_stray_detach().
 */
bool pep_stray_attach(struct pep_net *pn, int ifindex)
{
	unsigned long filters;
	void *entry;

	xa_lock_bh(&pn->attached);
	filters = pep_stray_filters(xa_load(&pn->attached, ifindex));
	entry = __xa_store(&pn->attached, ifindex, pep_stray_counted(filters + 1),
			   GFP_ATOMIC);
	xa_unlock_bh(&pn->attached);
	return !xa_is_err(entry);
}

/**
 * pep_stray_share() - a counted filter's action gets a second filter
 * @pn: started instance
 * @ifindex: device of the counted filter
 *
 * The action may outlive the filter, so it notes the devices of its packets from now on.
 *
 * Context: any but hard interrupt.
 */
void pep_stray_share(struct pep_net *pn, int ifindex)
{
	pep_stray_uncount(pn, ifindex, pep_stray_noted(atomic_read(&pn->epoch)));
}

/**
 * pep_stray_detach() - a tc action has gone, or has another side
 * @pn: instance of the action
 * @ifindex: device of the action's counted filter; 0 for none
 *
 * Context: any but hard interrupt.
 */
void pep_stray_detach(struct pep_net *pn, int ifindex)
{
	if (ifindex)
		pep_stray_uncount(pn, ifindex, NULL);
	/* Full barrier, see pep_stray_attached(). */
	atomic_inc_return(&pn->epoch);
	/* A look that comes soon is not put off. None comes after pep_stray_stop(). */
	if (!xchg(&pn->stray_soon, true))
		mod_delayed_work(system_percpu_wq, &pn->stray, PEP_STRAY_FIRST);
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

bool pep_stray_note(struct pep_net *pn, u64 number)
{
	return true;
}

bool pep_stray_attach(struct pep_net *pn, int ifindex)
{
	return false;
}

void pep_stray_share(struct pep_net *pn, int ifindex)
{
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
