// SPDX-License-Identifier: GPL-2.0
/*
 * ICMP and ICMPv6 errors about packets of our legs. They are addressed to
 * the end that a leg speaks for and would be forwarded there; the leg needs
 * them, path MTU discovery above all. TCP's error handler checks the quoted
 * sequence number.
 */

#include "icmp.h"

#include <net/tcp.h>

#include "callback.h"
#include "deliver.h"
#include "stat.h"

/* TIME_WAIT sockets have no use for errors. */
static bool pep_icmp_is_ours(const struct sock *sk)
{
	return sk->sk_state != TCP_TIME_WAIT && pep_callback_owns(sk);
}

/**
 * pep_icmp_error() - steer an ICMP error
 * @pn: instance
 * @skb: packet
 * @pkt: parsed @skb, PEP_PACKET_ICMP
 *
 * Context: softirq, RCU read side.
 * Return: PEP_STAT_NONE when the packet was consumed, else the counter of the reason
 * why it passes, which has been incremented.
 */
enum pep_stat pep_icmp_error(struct pep_net *pn, struct sk_buff *skb,
			     const struct pep_packet *pkt)
{
	enum pep_stat reason = PEP_STAT_NONE;
	struct sock *sk;

	sk = pep_tuple_lookup_dev(pn->net, &pkt->tuple, skb->dev);
	if (!sk)
		reason = PEP_STAT_PASS_ICMP;
	else if (!pep_icmp_is_ours(sk))
		reason = PEP_STAT_PASS_FOREIGN;
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
