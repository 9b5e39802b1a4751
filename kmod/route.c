// SPDX-License-Identifier: GPL-2.0
/*
 * Routes of packets that are sent from here for an end, without asking a socket, of packets
 * that are forwarded, and of legs, to compare.
 */

#include "route.h"

#include <linux/if_macvlan.h>
#include <linux/netdevice.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/nexthop.h>
#include <net/route.h>

static struct dst_entry *pep_route_out4(struct net *net,
					const struct pep_tuple *tuple, int oif,
					u32 mark, u8 dsfield)
{
	struct flowi4 fl4;
	struct rtable *rt;

	flowi4_init_output(&fl4, oif, mark, dsfield & INET_DSCP_MASK,
			   RT_SCOPE_UNIVERSE, IPPROTO_TCP, FLOWI_FLAG_ANYSRC,
			   tuple->dst.v4, tuple->src.v4, tuple->dport,
			   tuple->sport, sock_net_uid(net, NULL));
	rt = ip_route_output_flow(net, &fl4, NULL);
	return IS_ERR(rt) ? NULL : &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
/* Describe a leg's packets to routing. */
static void pep_route_flow6(struct flowi6 *fl6, const struct sock *sk)
{
	*fl6 = (struct flowi6){
		.flowi6_oif = sk->sk_bound_dev_if,
		.flowi6_iif = LOOPBACK_IFINDEX,
		.flowi6_mark = sk->sk_mark,
		.flowi6_proto = IPPROTO_TCP,
		.flowi6_flags = FLOWI_FLAG_ANYSRC,
		.flowlabel = ip6_make_flowinfo(inet6_sk(sk)->tclass,
					       inet6_sk(sk)->flow_label),
		.flowi6_uid = sock_net_uid(sock_net(sk), sk),
		.daddr = sk->sk_v6_daddr,
		.saddr = inet6_sk(sk)->saddr,
		.fl6_dport = inet_sk(sk)->inet_dport,
		.fl6_sport = inet_sk(sk)->inet_sport,
	};
}

/* Look up the route of a leg's packets, or, with @dev, of packets that are forwarded with
 * another traffic class.
 */
static struct dst_entry *pep_route_lookup6(const struct sock *sk, struct net_device *dev,
					   u8 dsfield)
{
	struct net *net = sock_net(sk);
	struct flowi6 fl6;

	pep_route_flow6(&fl6, sk);
	if (dev) {
		fl6.flowi6_oif = 0;
		fl6.flowi6_iif = dev->ifindex;
		fl6.flowi6_uid = sock_net_uid(net, NULL);
		fl6.flowlabel = ip6_make_flowinfo(dsfield, inet6_sk(sk)->flow_label);
	}
	return ip6_route_input_lookup(net, dev ?: net->loopback_dev, &fl6, NULL,
				      RT6_LOOKUP_F_HAS_SADDR);
}

static bool pep_route_aside6(const struct sock *sk, struct net_device *dev, u8 dsfield)
{
	struct dst_entry *own, *forwarded;
	bool aside;

	if (!fib6_has_custom_rules(sock_net(sk)))
		return false;
	own = pep_route_lookup6(sk, NULL, 0);
	forwarded = pep_route_lookup6(sk, l3mdev_master_dev_rcu(dev) ?: dev, dsfield);
	aside = !own->error && !forwarded->error && !netif_is_l3_master(forwarded->dev) &&
		(own->dev != forwarded->dev ||
		 !ipv6_addr_equal(&dst_rt6_info(own)->rt6i_gateway,
				  &dst_rt6_info(forwarded)->rt6i_gateway));
	dst_release(own);
	dst_release(forwarded);
	return aside;
}

static struct dst_entry *pep_route_out6(struct net *net,
					const struct pep_tuple *tuple, int oif,
					u32 mark, u8 dsfield)
{
	struct flowi6 fl6 = {
		.flowi6_oif = oif,
		.flowi6_mark = mark,
		.flowi6_proto = IPPROTO_TCP,
		.flowi6_flags = FLOWI_FLAG_ANYSRC,
		.flowlabel = ip6_make_flowinfo(dsfield, 0),
		.flowi6_uid = sock_net_uid(net, NULL),
		.daddr = tuple->dst.v6,
		.saddr = tuple->src.v6,
		.fl6_dport = tuple->dport,
		.fl6_sport = tuple->sport,
	};
	struct dst_entry *dst = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);

	return IS_ERR(dst) ? NULL : dst;
}

/**
 * pep_route_hash6() - hash by which an IPv6 route chooses among next hops
 * @sk: connected socket
 *
 * Forwarded packets with its addresses, ports and flow label choose by it.
 *
 * Context: BH off, RCU read side, with the socket locked.
 * Return: the hash; 0 where there is but one next hop, or no route.
 */
u32 pep_route_hash6(const struct sock *sk)
{
	const struct dst_entry *used = __sk_dst_get(sk);
	const struct fib6_info *from;
	struct dst_entry *dst;
	struct flowi6 fl6;

	/* Most routes have one next hop: look nothing up for them. */
	from = used ? rcu_dereference(dst_rt6_info(used)->from) : NULL;
	if (from && !from->nh && !READ_ONCE(from->fib6_nsiblings))
		return 0;
	pep_route_flow6(&fl6, sk);
	dst = ip6_dst_lookup_flow(sock_net(sk), NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return 0;
	dst_release(dst);
	return fl6.mp_hash;
}
#else
u32 pep_route_hash6(const struct sock *sk)
{
	return 0;
}

static bool pep_route_aside6(const struct sock *sk, struct net_device *dev, u8 dsfield)
{
	return false;
}

static struct dst_entry *pep_route_out6(struct net *net,
					const struct pep_tuple *tuple, int oif,
					u32 mark, u8 dsfield)
{
	return NULL;
}
#endif

/* Look up the route of a leg's packets, or, with @dev, of packets that are forwarded with
 * another TOS. Return: its next hops, NULL without any.
 */
static struct fib_info *pep_route_lookup4(const struct sock *sk,
					  const struct net_device *dev, u8 dsfield)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct net *net = sock_net(sk);
	struct fib_result res;
	struct flowi4 fl4;

	flowi4_init_output(&fl4, dev ? 0 : sk->sk_bound_dev_if, sk->sk_mark,
			   (dev ? dsfield : inet->tos) & INET_DSCP_MASK, RT_SCOPE_UNIVERSE,
			   IPPROTO_TCP, 0, inet->inet_daddr, inet->inet_saddr,
			   inet->inet_dport, inet->inet_sport,
			   sock_net_uid(net, NULL));
	if (dev)
		fl4.flowi4_iif = dev->ifindex;
	if (fib_lookup(net, &fl4, &res, FIB_LOOKUP_NOREF) || res.type != RTN_UNICAST)
		return NULL;
	return res.fi;
}

/* Is a next hop among those of a route, or may it be in another VRF? A group of next hops
 * may lose one at any time, and fib_info_nhc() finds none then.
 */
static bool pep_route_has4(struct fib_info *fi, const struct fib_nh_common *hop)
{
	unsigned int n, hops = fib_info_num_path(fi);
	const struct fib_nh_common *nhc;

	for (n = 0; n < hops; n++) {
		nhc = fib_info_nhc(fi, n);
		if (!nhc)
			return false;
		/* An address is followed by zeros, and so is none. */
		if (netif_is_l3_master(nhc->nhc_dev) ||
		    (nhc->nhc_dev == hop->nhc_dev &&
		     nhc->nhc_gw_family == hop->nhc_gw_family &&
		     ipv6_addr_equal(&nhc->nhc_gw.ipv6, &hop->nhc_gw.ipv6)))
			return true;
	}
	return false;
}

static bool pep_route_aside4(const struct sock *sk, const struct net_device *dev,
			     u8 dsfield)
{
	const struct fib_nh_common *hop;
	struct fib_info *own, *forwarded;
	unsigned int n, hops;

	if (!fib4_has_custom_rules(sock_net(sk)))
		return false;
	own = pep_route_lookup4(sk, NULL, 0);
	forwarded = pep_route_lookup4(sk, dev, dsfield);
	if (!own || !forwarded || own == forwarded)
		return false;
	hops = fib_info_num_path(own);
	for (n = 0; n < hops; n++) {
		hop = fib_info_nhc(own, n);
		if (!hop || !pep_route_has4(forwarded, hop))
			return true;
	}
	return false;
}

/**
 * pep_route_receiver() - find the device that routing sees packets arrive on
 * @dev: device that they come by
 *
 * A bridge receives the packets of its ports, and a bond those of its links; a VLAN device
 * above them is not looked for. Over IPv6 a VRF receives those of its devices, but routing
 * over IPv4 looks at the device, see ip_rcv_finish().
 *
 * Context: RCU read side.
 * Return: the device, or the bridge or bond above it.
 */
struct net_device *pep_route_receiver(struct net_device *dev)
{
	struct net_device *upper;

	while (netif_is_bridge_port(dev) || netif_is_lag_port(dev)) {
		upper = netdev_master_upper_dev_get_rcu(dev);
		if (!upper)
			break;
		dev = upper;
	}
	return dev;
}

/**
 * pep_route_aside() - do a leg's packets go to another next hop than forwarded ones?
 * @sk: leg, connected
 * @ifindex: device by which the packets arrive that would be forwarded without the leg
 * @dsfield: their TOS or traffic class
 *
 * Rules for packets that come by a device, ``ip rule add iif``, are not for a leg's. Rules
 * for a DSCP go by the leg's, which is another one than the end's where the profile has a
 * fixed ``dscp``. The packets have the leg's mark here, since the one that PREROUTING would give
 * them is not known. Routes that lead into another VRF are not compared.
 *
 * Context: BH off, RCU read side, with the socket locked.
 * Return: true when a next hop of the leg's is none of theirs.
 */
bool pep_route_aside(const struct sock *sk, int ifindex, u8 dsfield)
{
	struct net_device *dev = dev_get_by_index_rcu(sock_net(sk), ifindex);

	if (!dev)
		return false;
	dev = pep_route_receiver(dev);
	return sk->sk_family == AF_INET6 ? pep_route_aside6(sk, dev, dsfield) :
					   pep_route_aside4(sk, dev, dsfield);
}

/**
 * pep_route_uses() - does a route use the device that receives from its target?
 * @net: namespace
 * @dst: route, or NULL
 * @ifindex: the device
 *
 * A port has the bridge, bond or VRF above it, and the route leads to that. The packets
 * that are sent to a virtual router come by a macvlan device, and the route leads to the
 * one below it. A VLAN device above is another link.
 *
 * Context: RCU read side.
 * Return: true when it does.
 */
bool pep_route_uses(struct net *net, const struct dst_entry *dst, int ifindex)
{
	struct net_device *dev = dev_get_by_index_rcu(net, ifindex);

	if (!dev || !dst)
		return false;
	if (netif_is_macvlan(dev) && macvlan_dev_real_dev(dev) == dst->dev)
		return true;
	while (dev && dev != dst->dev)
		dev = netdev_master_upper_dev_get_rcu(dev);
	return dev;
}

/**
 * pep_route_out() - look up the route of a TCP packet from here
 * @net: namespace
 * @tuple: its addresses and ports; a source of zero is chosen by routing
 * @oif: device that it has to leave by, 0 for any
 * @mark: its mark
 * @dsfield: its TOS or traffic class
 *
 * Context: any.
 * Return: the route with a reference, or NULL when there is none.
 */
struct dst_entry *pep_route_out(struct net *net, const struct pep_tuple *tuple,
				int oif, u32 mark, u8 dsfield)
{
	return tuple->family == AF_INET6 ?
	       pep_route_out6(net, tuple, oif, mark, dsfield) :
	       pep_route_out4(net, tuple, oif, mark, dsfield);
}
