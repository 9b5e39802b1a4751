// SPDX-License-Identifier: GPL-2.0
/*
 * ICMP and ICMPv6 errors about packets of our legs. They are addressed to
 * the end that a leg speaks for and would be forwarded there; the leg needs
 * them, path MTU discovery above all. TCP's error handler checks the quoted
 * sequence number, but the ends know that: legs have their numbers. And the kernel
 * notes the MTU for all that it sends to the address, so an error has to come from
 * the side of the end that the packet was for.
 */

#include "icmp.h"

#include <linux/icmp.h>
#include <net/tcp.h>

#include "callback.h"
#include "deliver.h"
#include "flow.h"
#include "stat.h"

/* TIME_WAIT sockets have no use for errors. */
static bool pep_icmp_is_ours(const struct sock *sk)
{
	return sk->sk_state != TCP_TIME_WAIT && pep_callback_owns(sk);
}

/* Does an error go to the source of the packet that it quotes, as it has to? */
static bool pep_icmp_addressed(const struct sk_buff *skb, const struct pep_packet *pkt)
{
	const struct pep_tuple *answer = &pkt->tuple;

	if (answer->family == AF_INET)
		return ip_hdr(skb)->daddr == answer->dst.v4;
	return ipv6_addr_equal(&ipv6_hdr(skb)->daddr, &answer->dst.v6);
}

/* Does an error report an MTU that the kernel would also go by for what it forwards, as it
 * is below net.ipv4.route.min_pmtu?
 */
static bool pep_icmp_locks(const struct net *net, const struct sk_buff *skb,
			   const struct pep_packet *pkt)
{
	const struct icmphdr *icmp;
	struct icmphdr _icmp;

	if (pkt->tuple.family != AF_INET)
		return false;
	icmp = skb_header_pointer(skb, pkt->thoff, sizeof(_icmp), &_icmp);
	return icmp && icmp->type == ICMP_DEST_UNREACH && icmp->code == ICMP_FRAG_NEEDED &&
	       ntohs(icmp->un.frag.mtu) < READ_ONCE(net->ipv4.ip_rt_min_pmtu);
}

/* Does an error come from elsewhere than the side of the end that a leg faces? Where the
 * other end is behind the device, too, or on the same side, the side does not show that: an
 * error by the leg's device will do, but may not reach packets that are forwarded.
 */
static bool pep_icmp_aside(const struct sock *sk, const struct sk_buff *skb,
			   const struct pep_packet *pkt, unsigned long sides)
{
	const struct dst_entry *dst;
	const struct pep_flow *flow;
	const struct sock *other;
	enum pep_side side;

	if (sk->sk_state == TCP_NEW_SYN_RECV || sk->sk_state == TCP_LISTEN)
		return false;
	flow = rcu_dereference_sk_user_data(sk);
	if (!flow)
		return true;
	side = pep_flow_side(flow, sk);
	/* Pairs with pep_flow_set_leg(). */
	other = smp_load_acquire(&flow->leg[!side].sk);
	if (sides & BIT(side) &&
	    !(other && pep_leg_device(&flow->leg[!side], other) == skb->dev->ifindex))
		return false;
	dst = rcu_dereference(sk->sk_dst_cache);
	if (pep_leg_device(&flow->leg[side], sk) != skb->dev->ifindex &&
	    !(dst && dst->dev == skb->dev))
		return true;
	return pep_icmp_locks(sock_net(sk), skb, pkt);
}

/**
 * pep_icmp_error() - steer an ICMP error
 * @pn: instance
 * @skb: packet
 * @pkt: parsed @skb, PEP_PACKET_ICMP
 * @sides: sides that its device is known to belong to, a mask of BIT(side), enum pep_side
 *
 * Context: softirq, RCU read side.
 * Return: PEP_STAT_NONE when the packet was consumed, else the counter of the reason
 * why it passes, which has been incremented.
 */
enum pep_stat pep_icmp_error(struct pep_net *pn, struct sk_buff *skb,
			     const struct pep_packet *pkt, unsigned long sides)
{
	enum pep_stat reason = PEP_STAT_NONE;
	struct sock *sk;

	sk = pep_tuple_lookup_dev(pn->net, &pkt->tuple, skb->dev);
	if (!sk)
		reason = PEP_STAT_PASS_ICMP;
	else if (!pep_icmp_is_ours(sk))
		reason = PEP_STAT_PASS_FOREIGN;
	else if (!pep_icmp_addressed(skb, pkt) || pep_icmp_aside(sk, skb, pkt, sides))
		reason = PEP_STAT_PASS_ICMP;
	if (sk)
		sock_gen_put(sk);
	if (reason) {
		pep_stat_inc(pn, reason);
		return reason;
	}
	pep_stat_inc(pn, PEP_STAT_ICMP_DELIVERED);
	pep_deliver_local(pn, skb, NULL);
	return PEP_STAT_NONE;
}
