/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_TUPLE_H
#define _PEP_TUPLE_H

#include <linux/in6.h>
#include <linux/types.h>

struct net;
struct net_device;
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

void pep_tuple_reverse(struct pep_tuple *to, const struct pep_tuple *from);
void pep_tuple_of_peer(struct pep_tuple *tuple, const struct sock *sk);
struct sock *pep_tuple_lookup(struct net *net, const struct pep_tuple *tuple,
			      int bound);
struct sock *pep_tuple_lookup_dev(struct net *net,
				  const struct pep_tuple *tuple,
				  const struct net_device *dev);

#endif
