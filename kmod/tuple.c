// SPDX-License-Identifier: GPL-2.0
/* Connection tuples and the kernel's table of established sockets. */

#include "tuple.h"

#include <linux/string.h>
#include <net/inet_sock.h>
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

/* What sockets of all kinds have: all but the port of this end. */
static void pep_tuple_of_common(struct pep_tuple *tuple, const struct sock *sk)
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
}

/**
 * pep_tuple_of_peer() - the tuple of the packets that a socket receives
 * @tuple: result
 * @sk: full TCP socket
 *
 * Context: any.
 */
void pep_tuple_of_peer(struct pep_tuple *tuple, const struct sock *sk)
{
	pep_tuple_of_common(tuple, sk);
	/* A closed socket has no sk_num any more. */
	tuple->dport = inet_sk(sk)->inet_sport;
}

/**
 * pep_tuple_of_request() - the tuple of the packets that a connection request receives
 * @tuple: result
 * @sk: request, as a socket
 *
 * Context: any.
 */
void pep_tuple_of_request(struct pep_tuple *tuple, const struct sock *sk)
{
	pep_tuple_of_common(tuple, sk);
	tuple->dport = htons(sk->sk_num);
}

/**
 * pep_tuple_find() - find a socket by the packets that it receives
 * @net: namespace
 * @tuple: tuple of these packets
 * @ifindex: device that they are received by, 0 for none
 * @sdif: device of a VRF that they came by, when @ifindex is the VRF; else 0
 *
 * Context: RCU read side.
 * Return: a socket with a reference, for sock_gen_put(), or NULL.
 */
struct sock *pep_tuple_find(struct net *net, const struct pep_tuple *tuple,
			    int ifindex, int sdif)
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
