// SPDX-License-Identifier: GPL-2.0
/*
 * Routes of packets that are sent from here for an end, without asking a socket.
 */

#include "route.h"

#include <linux/if_macvlan.h>
#include <linux/netdevice.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
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
	struct flowi6 fl6 = {
		.flowi6_oif = sk->sk_bound_dev_if,
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
	struct dst_entry *dst;

	/* Most routes have one next hop: look nothing up for them. */
	from = used ? rcu_dereference(dst_rt6_info(used)->from) : NULL;
	if (from && !from->nh && !READ_ONCE(from->fib6_nsiblings))
		return 0;
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

static struct dst_entry *pep_route_out6(struct net *net,
					const struct pep_tuple *tuple, int oif,
					u32 mark, u8 dsfield)
{
	return NULL;
}
#endif

/**
 * pep_route_uses() - does a route use the device that receives from its target?
 * @net: namespace
 * @dst: route, or NULL
 * @ifindex: the device
 *
 * A port has the bridge above it, and the route leads to the bridge. The packets that
 * are sent to a virtual router come by a macvlan device, and the route leads to the one
 * below it.
 *
 * Context: RCU read side.
 * Return: true when it does.
 */
bool pep_route_uses(struct net *net, const struct dst_entry *dst, int ifindex)
{
	struct net_device *dev = dev_get_by_index_rcu(net, ifindex);

	if (!dev || !dst)
		return false;
	return dst->dev == dev || netdev_has_upper_dev_all_rcu(dev, dst->dev) ||
	       (netif_is_macvlan(dev) && macvlan_dev_real_dev(dev) == dst->dev);
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
