// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of legs on their way to routing: those that the firewall drops are counted, and
 * those that leave by a device of the other side acknowledge only what the other end has.
 *
 * While the route to an end is lost, as with the device that leads to subscribers, another
 * one stands for it, mostly the default route, to the other side. It may be right, and lead
 * to the end by another gateway. But where the router there sends packets back, a leg's have
 * the addresses, ports and numbers of the end that it speaks for: the other leg takes them
 * for that end's, and acknowledgments of payload that has not got there yet would have it
 * freed. So TCP hands a leg's packets over by a function of this file, which lowers such
 * acknowledgments.
 */

#include "xmit.h"

#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/net.h>
#include <net/inet6_connection_sock.h>
#include <net/inet_connection_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "face.h"
#include "flow.h"
#include "net.h"
#include "route.h"
#include "stat.h"

/* TCP's operations for IPv4 and IPv6, with the function below. */
static struct inet_connection_sock_af_ops pep_xmit_ops4 __ro_after_init;
static struct inet_connection_sock_af_ops pep_xmit_ops6 __ro_after_init;

/* Does a leg's route lead to the other side, and not to where its end's packets come from?
 * That is noted where it does the latter; a leg of which it never did has a route of its own
 * kind. With the socket locked, under RCU.
 */
static bool pep_xmit_astray(struct pep_flow *flow, struct sock *sk,
			    const struct dst_entry *dst)
{
	enum pep_side side = pep_flow_side(flow, sk);
	struct pep_leg *leg = &flow->leg[side];
	int ifindex = dst->dev->ifindex;

	if (likely(leg->face == ifindex))
		return false;
	if (pep_route_uses(flow->pn->net, dst, pep_leg_device(leg, sk))) {
		WRITE_ONCE(leg->face, ifindex);
		pep_face_learn(flow->pn, side, ifindex);
		return false;
	}
	return leg->face && (READ_ONCE(flow->leg[!side].face) == ifindex ||
			     pep_face_other(flow->pn, side, ifindex));
}

/* Take the SACK blocks out of a packet: with a lower acknowledgment a DSACK would report
 * payload that has not arrived.
 */
VISIBLE_IF_KUNIT
void pep_xmit_unsack(struct tcphdr *th)
{
	u8 *at = (u8 *)(th + 1), *end = (u8 *)th + __tcp_hdrlen(th);

	while (at < end && *at != TCPOPT_EOL) {
		if (*at == TCPOPT_NOP) {
			at++;
			continue;
		}
		if (end - at < 2 || at[1] < 2 || at[1] > end - at)
			return;
		if (*at == TCPOPT_SACK) {
			memset(at, TCPOPT_NOP, at[1]);
			return;
		}
		at += at[1];
	}
}
EXPORT_SYMBOL_IF_KUNIT(pep_xmit_unsack);

/* Acknowledge no more than the other end has. The checksum is yet to be computed. In a flow
 * that was answered early the opener's leg has numbers of its own, so the other leg refuses
 * its packets.
 */
static void pep_xmit_lower(const struct pep_flow *flow, const struct sock *sk,
			   struct sk_buff *skb)
{
	const struct sock *other = flow->leg[!pep_flow_side(flow, sk)].sk;
	struct tcphdr *th = tcp_hdr(skb);
	u32 acked;

	if (flow->mode != PEP_CONNECT_MODE_FOLLOW || !th->ack)
		return;
	acked = READ_ONCE(tcp_sk(other)->snd_una);
	if (!after(ntohl(th->ack_seq), acked))
		return;
	th->ack_seq = htonl(acked);
	pep_xmit_unsack(th);
}

/* Look at the route that a leg's packet is going to take, which is looked up as TCP does when
 * it repeats a packet, where it is not known; count and lower a packet that goes astray.
 * Return: the route, or NULL when there is none.
 */
static struct dst_entry *pep_xmit_check(struct sock *sk, struct sk_buff *skb)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct pep_flow *flow = rcu_dereference_sk_user_data(sk);
	u32 cookie = sk->sk_family == AF_INET6 ? inet6_sk(sk)->dst_cookie : 0;
	struct dst_entry *dst = __sk_dst_check(sk, cookie);

	if (unlikely(!dst) && !icsk->icsk_af_ops->rebuild_header(sk))
		dst = __sk_dst_get(sk);
	if (unlikely(flow && dst && pep_xmit_astray(flow, sk, dst))) {
		pep_stat_inc(flow->pn, PEP_STAT_MISROUTED);
		pep_xmit_lower(flow, sk, skb);
	}
	return dst;
}

/* Hand a packet to routing, with the route that was found for it, if any. IPv4 asks for none
 * again then. Under RCU.
 */
static int pep_xmit_route(struct sock *sk, struct sk_buff *skb, struct flowi *fl,
			  struct dst_entry *dst)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return inet6_csk_xmit(sk, skb, fl);
#endif
	if (likely(dst))
		skb_dst_set_noref(skb, dst);
	return ip_queue_xmit(sk, skb, fl);
}

/* Send a packet of TCP's. Called with the socket locked, BH off or on. */
static int pep_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	int err;

	rcu_read_lock();
	err = pep_xmit_route(sk, skb, fl, pep_xmit_check(sk, skb));
	rcu_read_unlock();
	/* The error of nf_hook_slow() for a packet that a rule drops or rejects, and of a
	 * program of BPF for a cgroup's. A VRF reports none.
	 */
	if (unlikely(err == -EPERM))
		pep_stat_inc(pep_net(sock_net(sk)), PEP_STAT_OUTPUT_DROPPED);
	return err;
}

/**
 * pep_xmit_attach() - have a leg's packets checked
 * @sk: leg whose user data is its flow; one of IPv6 has no address of IPv4
 *
 * Context: any, with the socket locked.
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
	/* What sock_alloc() and inet_create() return when they have no memory. */
	if (err == -ENFILE || err == -ENOBUFS)
		err = -ENOMEM;
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
