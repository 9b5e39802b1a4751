/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_TUPLE_H
#define _PEP_TUPLE_H

#include <linux/in6.h>
#include <linux/netdevice.h>
#include <linux/types.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>

struct sock;

/**
 * union pep_addr - an address of either family
 * @v4: IPv4 address; the rest of the union is then zero
 * @v6: IPv6 address
 */
union pep_addr {
	__be32 v4;
	struct in6_addr v6;
};

/**
 * struct pep_tuple - both ends of a connection, as in a packet
 * @src: source address
 * @dst: destination address
 * @sport: source port
 * @dport: destination port
 * @family: AF_INET or AF_INET6
 *
 * Has no padding and unused bytes are zero: it can be hashed as it is.
 */
struct pep_tuple {
	union pep_addr src;
	union pep_addr dst;
	__be16 sport;
	__be16 dport;
	u32 family;
};

/**
 * pep_addr_equal() - is it the same address?
 * @a: address
 * @b: another one of the same family
 *
 * Return: true when it is.
 */
static inline bool pep_addr_equal(const union pep_addr *a,
				  const union pep_addr *b)
{
	return ipv6_addr_equal(&a->v6, &b->v6);
}

/**
 * pep_addr_scope6() - can it be an IPv6 address of an end behind a router?
 * @addr: address
 *
 * Return: true for unicast addresses of more than a link.
 */
static inline bool pep_addr_scope6(const struct in6_addr *addr)
{
	int type = ipv6_addr_type(addr);

	return (type & IPV6_ADDR_UNICAST) &&
	       !(type & (IPV6_ADDR_LINKLOCAL | IPV6_ADDR_LOOPBACK |
			 IPV6_ADDR_MAPPED));
}

/**
 * pep_tuple_equal() - is it the same connection, in the same direction?
 * @a: tuple
 * @b: another one
 *
 * Return: true when it is.
 */
static inline bool pep_tuple_equal(const struct pep_tuple *a,
				   const struct pep_tuple *b)
{
	return a->sport == b->sport && a->dport == b->dport &&
	       a->family == b->family && pep_addr_equal(&a->src, &b->src) &&
	       pep_addr_equal(&a->dst, &b->dst);
}

/**
 * pep_tuple_answers() - is it the same connection, in the other direction?
 * @a: tuple
 * @b: another one
 *
 * Return: true when it is.
 */
static inline bool pep_tuple_answers(const struct pep_tuple *a,
				     const struct pep_tuple *b)
{
	return a->sport == b->dport && a->dport == b->sport &&
	       a->family == b->family && pep_addr_equal(&a->src, &b->dst) &&
	       pep_addr_equal(&a->dst, &b->src);
}

void pep_tuple_reverse(struct pep_tuple *to, const struct pep_tuple *from);
void pep_tuple_of_peer(struct pep_tuple *tuple, const struct sock *sk);
void pep_tuple_of_request(struct pep_tuple *tuple, const struct sock *sk);
struct sock *pep_tuple_find(struct net *net, const struct pep_tuple *tuple,
			    int ifindex, int sdif);

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
static inline struct sock *pep_tuple_lookup(struct net *net,
					    const struct pep_tuple *tuple,
					    int bound)
{
	return pep_tuple_find(net, tuple, bound, 0);
}

/**
 * pep_tuple_vrf() - find the VRF that a device is in
 * @dev: device
 *
 * Context: RCU read side.
 * Return: index of the VRF's device, 0 for none.
 */
static inline int pep_tuple_vrf(const struct net_device *dev)
{
	if (unlikely(netif_is_l3_slave(dev) || netif_is_l3_master(dev)))
		return l3mdev_master_ifindex_rcu(dev);
	return 0;
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
static inline struct sock *
pep_tuple_lookup_dev(struct net *net, const struct pep_tuple *tuple,
		     const struct net_device *dev)
{
	int ifindex = dev->ifindex;
	int master = pep_tuple_vrf(dev);

	return pep_tuple_find(net, tuple, master ?: ifindex,
			      master ? ifindex : 0);
}

#endif
