// SPDX-License-Identifier: GPL-2.0
/* Connection tuples and the kernel's table of established sockets. */

#include "tuple.h"

#include <linux/string.h>
#include <net/inet_sock.h>
#include <net/l3mdev.h>
#include <net/sock.h>

#include "compat.h"

/**
 * pep_tuple_reverse() - the same connection, seen in its other direction
 * @to: result, not @from
 * @from: tuple
 */
void pep_tuple_reverse(struct pep_tuple *to, const struct pep_tuple *from)
{
	to->src = from->dst;
	to->dst = from->src;
	to->sport = from->dport;
	to->dport = from->sport;
	to->family = from->family;
}

/**
 * pep_tuple_of_peer() - the tuple of the packets that a socket receives
 * @tuple: result
 * @sk: full TCP socket
 */
void pep_tuple_of_peer(struct pep_tuple *tuple, const struct sock *sk)
{
	memset(tuple, 0, sizeof(*tuple));
	tuple->family = sk->sk_family;
	if (sk->sk_family == AF_INET6) {
		tuple->src.v6 = sk->sk_v6_daddr;
		tuple->dst.v6 = sk->sk_v6_rcv_saddr;
	} else {
		tuple->src.v4 = sk->sk_daddr;
		tuple->dst.v4 = sk->sk_rcv_saddr;
	}
	tuple->sport = sk->sk_dport;
	tuple->dport = htons(sk->sk_num);
}

static struct sock *pep_tuple_find(struct net *net,
				   const struct pep_tuple *tuple, int ifindex,
				   int sdif)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (tuple->family == AF_INET6)
		return pep_compat_lookup6(net, &tuple->src.v6, tuple->sport,
					  &tuple->dst.v6, ntohs(tuple->dport),
					  ifindex, sdif);
#endif
	return pep_compat_lookup4(net, tuple->src.v4, tuple->sport,
				  tuple->dst.v4, ntohs(tuple->dport),
				  ifindex, sdif);
}

/**
 * pep_tuple_lookup() - find a socket by the packets that it receives
 * @net: namespace
 * @tuple: tuple of these packets
 * @bound: device that the socket may be bound to, 0 for none
 *
 * Finds established and connecting sockets, connection requests and
 * TIME_WAIT sockets alike, listeners never.
 *
 * Context: RCU read side.
 * Return: a socket with a reference, for sock_gen_put(), or NULL.
 */
struct sock *pep_tuple_lookup(struct net *net, const struct pep_tuple *tuple,
			      int bound)
{
	return pep_tuple_find(net, tuple, bound, 0);
}

/**
 * pep_tuple_lookup_dev() - find the socket that a packet is for
 * @net: namespace
 * @tuple: tuple of the packet
 * @dev: device that the packet came by
 *
 * As pep_tuple_lookup(). The socket may be bound to the device or to its VRF,
 * by which the packet is received as far as sockets are concerned.
 *
 * Context: RCU read side.
 * Return: a socket with a reference, for sock_gen_put(), or NULL.
 */
struct sock *pep_tuple_lookup_dev(struct net *net,
				  const struct pep_tuple *tuple,
				  const struct net_device *dev)
{
	int master = l3mdev_master_ifindex_rcu(dev);

	if (master)
		return pep_tuple_find(net, tuple, master, dev->ifindex);
	return pep_tuple_find(net, tuple, dev->ifindex, 0);
}
