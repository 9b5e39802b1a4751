// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of legs on their way to routing. They never leave by a device of the other side,
 * and those that the firewall drops are counted.
 *
 * While the route to an end is lost, as with the device that leads to subscribers, another
 * one stands for it, mostly the default route, to the other side. Forwarded packets that go
 * there, and that the router there sends back, do no harm but to circle until their TTL is
 * used up. A leg's have the addresses, ports and numbers of the end that it speaks for: the
 * other leg takes them for that end's, and their acknowledgments for payload that has
 * arrived, which then is lost. So TCP hands its packets over by a function of this file,
 * which drops them as if there were no route; TCP repeats them until there is one.
 *
 * The devices of a side are those by which legs have sent while their ends' packets came by
 * them. A device that both sides have, as a one-armed gateway's, forbids nothing, nor does
 * one that was not used lately enough to be among the last few.
 */

#include "xmit.h"

#include <linux/net.h>
#include <net/inet6_connection_sock.h>
#include <net/inet_connection_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "flow.h"
#include "net.h"
#include "route.h"
#include "stat.h"

/* TCP's operations for IPv4 and IPv6, with the function below. Constant after load. */
static struct inet_connection_sock_af_ops pep_xmit_ops4, pep_xmit_ops6;

/* Is a device among those of a side? */
static bool pep_xmit_known(const struct pep_net *pn, enum pep_side side, int ifindex)
{
	unsigned int i;

	for (i = 0; i < PEP_NET_FACES; i++)
		if (READ_ONCE(pn->faces[side][i]) == ifindex)
			return true;
	return false;
}

/* Add a device to those of a side, in place of the oldest; CPUs that add at the same time
 * may overwrite each other's.
 */
static void pep_xmit_learn(struct pep_net *pn, enum pep_side side, int ifindex)
{
	unsigned int place;

	if (pep_xmit_known(pn, side, ifindex))
		return;
	place = atomic_inc_return(&pn->faces_next[side]);
	WRITE_ONCE(pn->faces[side][place % PEP_NET_FACES], ifindex);
}

/* May a leg's packet leave by its route? One of which no packet has left by the device that
 * its end's come by may take any.
 */
static bool pep_xmit_admits(struct pep_flow *flow, struct sock *sk,
			    const struct dst_entry *dst)
{
	enum pep_side side = pep_flow_side(flow, sk);
	struct pep_leg *leg = &flow->leg[side];
	int ifindex = dst->dev->ifindex;

	if (likely(leg->face == ifindex))
		return true;
	if (pep_route_uses(flow->pn->net, dst, pep_leg_device(leg, sk))) {
		leg->face = ifindex;
		pep_xmit_learn(flow->pn, side, ifindex);
		return true;
	}
	return !leg->face || !pep_xmit_known(flow->pn, !side, ifindex) ||
	       pep_xmit_known(flow->pn, side, ifindex);
}

/* Find the route of a leg's packet. Return: 0, or a negative error when there is none that
 * the packet may take.
 */
static int pep_xmit_route(struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct pep_flow *flow = rcu_dereference_sk_user_data(sk);
	u32 cookie = sk->sk_family == AF_INET6 ? inet6_sk(sk)->dst_cookie : 0;
	const struct dst_entry *dst = __sk_dst_check(sk, cookie);
	int err;

	if (!dst) {
		err = icsk->icsk_af_ops->rebuild_header(sk);
		if (err)
			return err;
		dst = __sk_dst_get(sk);
	}
	if (!flow || pep_xmit_admits(flow, sk, dst))
		return 0;
	pep_stat_inc(flow->pn, PEP_STAT_MISROUTED);
	return -EHOSTUNREACH;
}

/* Send a packet of TCP's, or drop it. Called with the socket locked, BH off or on. */
static int pep_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	int err;

	rcu_read_lock();
	err = pep_xmit_route(sk);
	rcu_read_unlock();
	if (unlikely(err)) {
		kfree_skb_reason(skb, SKB_DROP_REASON_IP_OUTNOROUTES);
		return err;
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		err = inet6_csk_xmit(sk, skb, fl);
	else
#endif
		err = ip_queue_xmit(sk, skb, fl);
	/* The error of nf_hook_slow() for a packet that a rule drops or rejects. */
	if (unlikely(err == -EPERM))
		pep_stat_inc(pep_net(sock_net(sk)), PEP_STAT_OUTPUT_DROPPED);
	return err;
}

/**
 * pep_xmit_attach() - have a leg's packets checked
 * @sk: locked leg whose user data is its flow
 *
 * Context: any.
 */
void pep_xmit_attach(struct sock *sk)
{
	inet_csk(sk)->icsk_af_ops = sk->sk_family == AF_INET6 ? &pep_xmit_ops6 :
								&pep_xmit_ops4;
}

/* Take over TCP's operations for a family, which are not exported. */
static int __init pep_xmit_copy(int family, struct inet_connection_sock_af_ops *ops)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(&init_net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return err;
	*ops = *inet_csk(sock->sk)->icsk_af_ops;
	ops->queue_xmit = pep_xmit;
	sock_release(sock);
	return 0;
}

/**
 * pep_xmit_init() - prepare the operations of legs
 *
 * Context: once, at load; may sleep.
 * Return: 0 or a negative error.
 */
int __init pep_xmit_init(void)
{
	int err = pep_xmit_copy(AF_INET, &pep_xmit_ops4);

	if (!err && ipv6_mod_enabled())
		err = pep_xmit_copy(AF_INET6, &pep_xmit_ops6);
	return err;
}
