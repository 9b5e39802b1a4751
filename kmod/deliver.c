// SPDX-License-Identifier: GPL-2.0
/*
 * Packets on their way to one of our sockets, and held packets that go on.
 *
 * A packet is handed to ip_local_deliver() or ip6_input() right from the
 * classifier. Attaching a local route and letting the packet go on would be
 * less work, but with list receive ip_route_use_hint() lends that route to
 * the next packet for the same address, ours or not. pep_packet_parse()
 * therefore makes the checks of ip_rcv_core() and ip6_rcv_core(), and this
 * file does the rest of their work.
 */

#include "deliver.h"

#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <net/sock.h>

#include "gather.h"
#include "packet.h"
#include "scope.h"
#include "stat.h"
#include "untrack.h"

/* The largest packet that is copied into slab memory, bytes. */
#define PEP_DELIVER_COMPACT	8192

#if IS_ENABLED(CONFIG_IPV6)
static int pep_deliver_start6(struct pep_net *pn)
{
	struct net_device *lo = pn->net->loopback_dev;
	struct inet6_dev *idev;
	struct rt6_info *rt;

	/* No IPv6 on this host: no IPv6 sockets either. */
	if (!ipv6_mod_enabled())
		return 0;
	idev = in6_dev_get(lo);
	if (!idev)
		return 0;
	rt = ip6_dst_alloc(pn->net, lo, 0);
	if (!rt) {
		in6_dev_put(idev);
		return -ENOMEM;
	}
	rt->dst.input = ip6_input;
	rt->rt6i_idev = idev;
	/* ipv6_unicast_destination() checks these for a SYN. */
	rt->rt6i_flags = RTF_UP | RTF_NONEXTHOP | RTF_LOCAL;
	pn->rt6 = rt;
	return 0;
}

/* See pep_deliver_route(). */
static struct dst_entry *pep_deliver_route6(const struct pep_net *pn)
{
	struct rt6_info *rt = READ_ONCE(pn->rt6);
	int now = rt_genid_ipv6(pn->net);

	if (!rt)
		return NULL;
	if (READ_ONCE(rt->sernum) != now)
		WRITE_ONCE(rt->sernum, now);
	return &rt->dst;
}

static void pep_deliver_stop6(struct pep_net *pn)
{
	if (!pn->rt6)
		return;
	dst_dev_put(&pn->rt6->dst);
	dst_release(&pn->rt6->dst);
	pn->rt6 = NULL;
}
#else
static int pep_deliver_start6(struct pep_net *pn)
{
	return 0;
}

static struct dst_entry *pep_deliver_route6(const struct pep_net *pn)
{
	return NULL;
}

static void pep_deliver_stop6(struct pep_net *pn)
{
}
#endif

/**
 * pep_deliver_route() - the route of packets that are delivered locally
 * @pn: instance
 * @v4: IPv4, else IPv6
 *
 * A leg keeps the route of its last packet, and for each packet TCP checks that it is
 * still valid: ipv4_dst_check() and ip6_dst_check() compare its generation with the
 * namespace's, which any change of routes advances. Our route never changes, so its
 * generation follows; otherwise TCP would drop and take a reference for each packet, on
 * one cache line for all CPUs.
 *
 * Context: RCU read side or BH off.
 * Return: the route, valid, without a reference, or NULL when there is none.
 */
VISIBLE_IF_KUNIT
struct dst_entry *pep_deliver_route(const struct pep_net *pn, bool v4)
{
	struct rtable *rt;
	int now;

	if (!v4)
		return pep_deliver_route6(pn);
	rt = READ_ONCE(pn->rt4);
	if (!rt)
		return NULL;
	now = rt_genid_ipv4(pn->net);
	if (READ_ONCE(rt->rt_genid) != now)
		WRITE_ONCE(rt->rt_genid, now);
	return &rt->dst;
}
EXPORT_SYMBOL_IF_KUNIT(pep_deliver_route);

/**
 * pep_deliver_start() - make the routes of locally delivered packets
 * @pn: instance; its namespace has a loopback device
 *
 * The routes are on the namespace's loopback device, because
 * __inet_lookup_skb() takes the namespace from there.
 *
 * Context: may sleep, pn->lock held.
 * Return: 0 or -ENOMEM.
 */
int pep_deliver_start(struct pep_net *pn)
{
	int err;

	pn->rt4 = rt_dst_alloc(pn->net->loopback_dev, RTCF_LOCAL, RTN_LOCAL,
			       true);
	if (!pn->rt4)
		return -ENOMEM;
	err = pep_deliver_start6(pn);
	if (err)
		pep_deliver_stop(pn);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(pep_deliver_start);

/**
 * pep_deliver_stop() - release the routes
 * @pn: instance; no packet is being delivered any more
 *
 * sk_rx_dst of sockets may keep a route for long: it must not keep the
 * loopback device with it, or the namespace would never go away.
 *
 * Context: may sleep.
 */
void pep_deliver_stop(struct pep_net *pn)
{
	if (pn->rt4) {
		dst_dev_put(&pn->rt4->dst);
		dst_release(&pn->rt4->dst);
		pn->rt4 = NULL;
	}
	pep_deliver_stop6(pn);
}
EXPORT_SYMBOL_IF_KUNIT(pep_deliver_stop);

/* Prepare an IPv4 packet as ip_rcv_core() does. Return: its length, bytes. */
static u32 pep_deliver_prepare4(struct sk_buff *skb)
{
	const struct iphdr *iph = ip_hdr(skb);

	skb->transport_header = skb->network_header + iph->ihl * 4;
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	IPCB(skb)->iif = skb->skb_iif;
	return iph_totlen(skb, iph);
}

#if IS_ENABLED(CONFIG_IPV6)
/*
 * Prepare an IPv6 packet as ip6_rcv_core() does. Its extension headers were
 * checked and mean nothing to a leg: TCP begins behind them, as it does behind
 * hop-by-hop options that ip6_rcv_core() has parsed.
 */
static u32 pep_deliver_prepare6(struct sk_buff *skb)
{
	struct pep_headers6 h;

	if (pep_packet_headers6(skb, &h) != PEP_PACKET_TCP)
		return U32_MAX;
	skb->transport_header = skb->network_header + h.thoff;
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	IP6CB(skb)->iif = skb->dev->ifindex;
	IP6CB(skb)->nhoff = h.nhoff;
	return pep_packet_len6(skb, ipv6_hdr(skb));
}
#else
static u32 pep_deliver_prepare6(struct sk_buff *skb)
{
	return U32_MAX;
}
#endif

/* A VRF receives the packets of its devices; as vrf_ip_rcv(). */
static void pep_deliver_vrf(struct sk_buff *skb)
{
	struct net_device *vrf = l3mdev_master_dev_rcu(skb->dev);

	if (!vrf)
		return;
	skb->dev = vrf;
	skb->skb_iif = vrf->ifindex;
	if (skb->protocol == htons(ETH_P_IP))
		IPCB(skb)->flags |= IPSKB_L3SLAVE;
	else
		IP6CB(skb)->flags |= IP6SKB_L3SLAVE;
}

/**
 * pep_deliver_prepare() - do the network layer's work on receipt
 * @skb: packet that pep_packet_parse() has found sane, not shared
 * @dst: route to attach
 *
 * Return: whether the packet may be delivered.
 */
static bool pep_deliver_prepare(struct sk_buff *skb, struct dst_entry *dst)
{
	u32 len;

	len = skb->protocol == htons(ETH_P_IP) ? pep_deliver_prepare4(skb) :
						 pep_deliver_prepare6(skb);
	/* GRO has verified each packet of a list; the sum is the first one's. */
	if (skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST &&
	    skb->ip_summed == CHECKSUM_COMPLETE) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		skb->csum_level = 0;
	}
	if (skb->len < len || pskb_trim_rcsum(skb, len))
		return false;
	/* A local sender's zero-copy pages would be reported as done when
	 * this skb is freed, while the other leg still sends from them.
	 */
	if (pep_gather_lent(skb) ? skb_linearize(skb) :
				   skb_orphan_frags_rx(skb, GFP_ATOMIC))
		return false;
	pep_deliver_vrf(skb);
	skb_dst_drop(skb);
	skb_dst_set_noref(skb, dst);
	return true;
}

/*
 * Note the device that a leg receives from, see pep_filter_device(). TCP would
 * do it, but newer kernels' tcp_v4_do_rcv() and tcp_v6_do_rcv() ignore the
 * device of a packet with the route of the last one, and here all packets have
 * the same route.
 */
static void pep_deliver_note(struct sock *sk, const struct sk_buff *skb)
{
	if (sk_fullsock(sk) && sk->sk_state != TCP_LISTEN &&
	    READ_ONCE(sk->sk_rx_dst_ifindex) != skb->skb_iif)
		WRITE_ONCE(sk->sk_rx_dst_ifindex, skb->skb_iif);
}

/**
 * pep_deliver_compact() - reduce a packet's memory to the size that it needs
 * @skb: packet at ingress
 *
 * Drivers cut packets out of pages of up to 32 KiB. Each packet keeps its page, but
 * TCP charges its part only. Slab memory is the packet's own.
 *
 * Context: softirq.
 * Return: a copy in place of @skb, which is consumed; or @skb, where it is in slab
 * memory or a list of packets, is too large to be copied, or no memory is left.
 */
struct sk_buff *pep_deliver_compact(struct sk_buff *skb)
{
	struct sk_buff *copy;
	int headroom = 0;

	/* Drivers of modems leave the offset of the link's header unset. */
	if (skb_mac_header_was_set(skb))
		headroom = skb->data - skb_mac_header(skb);
	if ((!skb_is_nonlinear(skb) && !skb->head_frag) ||
	    skb->len > PEP_DELIVER_COMPACT ||
	    skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST)
		return skb;
	copy = skb_copy_expand(skb, headroom, 0, GFP_ATOMIC | __GFP_NOWARN);
	if (!copy)
		return skb;
	consume_skb(skb);
	return copy;
}
EXPORT_SYMBOL_IF_KUNIT(pep_deliver_compact);

/**
 * pep_deliver_local() - hand a packet to the local stack
 * @pn: instance
 * @skb: parsed packet at ingress; consumed
 * @sk: its socket with a reference, which is consumed; a listener without a
 *	reference; or NULL to leave the lookup to the protocol (ICMP)
 *
 * The packet passes the INPUT hooks untracked, and the immediate answers of
 * the stack pass the OUTPUT hooks untracked, too. NF_HOOK() returns an error
 * where a hook has dropped the packet, and 0 where the stack or a queue to user
 * space has it.
 *
 * Context: BH off, RCU read side, no socket locked.
 */
void pep_deliver_local(struct pep_net *pn, struct sk_buff *skb,
		       struct sock *sk)
{
	bool v4 = skb->protocol == htons(ETH_P_IP);
	struct pep_scope scope;
	struct dst_entry *dst;
	int err;

	/* The routes are freed a grace period after the last socket has gone. */
	dst = pep_deliver_route(pn, v4);
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb || !dst || !pep_deliver_prepare(skb, dst)) {
		pep_stat_inc(pn, PEP_STAT_DROPPED);
		kfree_skb(skb);
		if (sk && sk_is_refcounted(sk))
			sock_gen_put(sk);
		return;
	}
	skb_orphan(skb);
	if (sk) {
		pep_deliver_note(sk, skb);
		skb->sk = sk;
		skb->destructor = sock_pfree;
	}
	pep_untrack_skb(skb);
	pep_stat_inc(pn, PEP_STAT_DELIVERED);
	pep_scope_enter(&scope, pn->net);
	err = v4 ? ip_local_deliver(skb) : ip6_input(skb);
	pep_scope_leave(&scope);
	if (err < 0)
		pep_stat_inc(pn, PEP_STAT_INPUT_DROPPED);
}

/**
 * pep_deliver_hold() - prepare a packet for being held
 * @skb: packet at ingress; consumed when it cannot be kept
 *
 * Drops the references of the packet: the sender's socket, which veth leaves
 * attached, a route and the device.
 *
 * Context: BH off.
 * Return: the packet to keep, or NULL for lack of memory.
 */
struct sk_buff *pep_deliver_hold(struct sk_buff *skb)
{
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_orphan(skb);
	skb_dst_drop(skb);
	PEP_HELD_CB(skb)->ifindex = skb->dev->ifindex;
	skb->dev = NULL;
	return skb;
}

/**
 * pep_deliver_unhold() - prepare a held packet to go on
 * @pn: instance
 * @skb: packet from pep_deliver_hold(); consumed when its device is gone
 *
 * Context: RCU read side, for as long as the packet is used.
 * Return: whether there still is a packet.
 */
bool pep_deliver_unhold(struct pep_net *pn, struct sk_buff *skb)
{
	skb->dev = dev_get_by_index_rcu(pn->net, PEP_HELD_CB(skb)->ifindex);
	if (skb->dev)
		return true;
	pep_stat_inc(pn, PEP_STAT_DROPPED);
	kfree_skb(skb);
	return false;
}

/**
 * pep_deliver_pass() - let a held packet go on unsplit
 * @skb: packet after pep_deliver_unhold(); consumed
 *
 * The packet goes on behind the classifier: tc_skip_classify keeps it from coming
 * here again. Packet taps have seen it already; a netdev ingress chain does
 * not see it; a program of generic XDP, which comes first, sees it twice.
 *
 * Context: BH off, RCU read side, no socket locked.
 */
void pep_deliver_pass(struct sk_buff *skb)
{
	skb->tc_skip_classify = 1;
	netif_receive_skb_core(skb);
}
