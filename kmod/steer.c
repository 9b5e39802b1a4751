// SPDX-License-Identifier: GPL-2.0
/*
 * Decide on packets: those of our sockets are delivered to them, a SYN makes an
 * entry in the table of connections and passes or is answered, everything else passes
 * with the reason counted. Connections that existed before stay as they are.
 */

#include "steer.h"

#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/tcp.h>

#include "accept.h"
#include "callback.h"
#include "deliver.h"
#include "early.h"
#include "find.h"
#include "follow.h"
#include "fragment.h"
#include "gen.h"
#include "group.h"
#include "hand.h"
#include "handshake.h"
#include "icmp.h"
#include "ipsec.h"
#include "leg.h"
#include "option.h"
#include "packet.h"
#include "profile.h"
#include "reopen.h"
#include "stat.h"
#include "trace.h"
#include "track.h"

/* A verdict is the counter of the reason for which a packet passes, counted
 * already, or PEP_STAT_NONE for a packet that was consumed.
 */
static enum pep_stat pep_steer_pass(const struct pep_net *pn,
				    enum pep_stat reason)
{
	pep_stat_inc(pn, reason);
	return reason;
}

/* Counter of a reason against the ends of a connection, or PEP_STAT_NONE. */
static enum pep_stat pep_steer_check4(struct net *net, const struct sk_buff *skb,
				      const struct pep_tuple *tuple)
{
	__be32 src = tuple->src.v4;

	if (ipv4_is_multicast(src) || ipv4_is_lbcast(src) ||
	    ipv4_is_zeronet(src) || ipv4_is_loopback(src) ||
	    ipv4_is_zeronet(tuple->dst.v4) || ipv4_is_loopback(tuple->dst.v4))
		return PEP_STAT_SYN_PASS_SCOPE;
	switch (inet_addr_type_dev_table(net, skb->dev, tuple->dst.v4)) {
	case RTN_UNICAST:
		return PEP_STAT_NONE;
	case RTN_LOCAL:
		return PEP_STAT_SYN_PASS_LOCAL;
	default:
		return PEP_STAT_SYN_PASS_SCOPE;
	}
}

#if IS_ENABLED(CONFIG_IPV6)
static enum pep_stat pep_steer_check6(struct net *net, const struct sk_buff *skb,
				      const struct pep_tuple *tuple)
{
	/* When IPv6 is disabled at boot there is no list of addresses, either. */
	if (!ipv6_mod_enabled())
		return PEP_STAT_SYN_PASS_NO_LISTENER;
	if (!pep_addr_scope6(&tuple->src.v6) ||
	    !pep_addr_scope6(&tuple->dst.v6))
		return PEP_STAT_SYN_PASS_SCOPE;
	/* On any device of the same VRF, or outside of VRFs. */
	if (ipv6_chk_addr(net, &tuple->dst.v6, skb->dev, 0))
		return PEP_STAT_SYN_PASS_LOCAL;
	return PEP_STAT_NONE;
}
#else
static enum pep_stat pep_steer_check6(struct net *net, const struct sk_buff *skb,
				      const struct pep_tuple *tuple)
{
	return PEP_STAT_SYN_PASS_NO_LISTENER;
}
#endif

static enum pep_stat pep_steer_check_options(const struct pep_gen *gen,
					     struct sk_buff *skb,
					     struct pep_packet *pkt)
{
	static const enum pep_stat reason[] = {
		[PEP_OPTION_PLAIN] = PEP_STAT_NONE,
		[PEP_OPTION_MD5] = PEP_STAT_SYN_PASS_MD5,
		[PEP_OPTION_AO] = PEP_STAT_SYN_PASS_AO,
		[PEP_OPTION_MPTCP] = PEP_STAT_SYN_PASS_MPTCP,
		[PEP_OPTION_MPTCP_JOIN] = PEP_STAT_SYN_PASS_MPTCP,
		[PEP_OPTION_FASTOPEN] = PEP_STAT_SYN_PASS_FASTOPEN,
		[PEP_OPTION_UNKNOWN] = PEP_STAT_SYN_PASS_OPTION,
	};
	struct pep_options options;

	pep_option_scan((const u8 *)(pkt->th + 1), pkt->options, &options);
	if (options.kind == PEP_OPTION_MPTCP &&
	    gen->values.mptcp == PEP_MPTCP_MODE_SPLIT &&
	    pep_packet_strip(skb, pkt))
		return PEP_STAT_NONE;
	return reason[options.kind];
}

/* Counter of the reason for which a SYN is not split, or PEP_STAT_NONE. The caller counts it,
 * but for a repeated SYN of a connection that is followed.
 */
static enum pep_stat pep_steer_check_syn(struct pep_net *pn,
					 const struct pep_gen *gen,
					 struct sk_buff *skb,
					 struct pep_packet *pkt)
{
	enum pep_stat reason;

	if (!gen || READ_ONCE(pn->stopping))
		return PEP_STAT_SYN_PASS_STOPPING;
	/* Routing answers it, as for a traceroute. */
	if (pkt->last_hop)
		return PEP_STAT_SYN_PASS_HOPS;
	/* A leg cannot be bound to port 0, which means any port. */
	if (!pkt->tuple.sport || !pkt->tuple.dport)
		return PEP_STAT_SYN_PASS_SCOPE;
	reason = pkt->tuple.family == AF_INET6 ?
		 pep_steer_check6(pn->net, skb, &pkt->tuple) :
		 pep_steer_check4(pn->net, skb, &pkt->tuple);
	if (reason)
		return reason;
	/* From here on its connection is followed where a share and the table allow it. */
	if (pkt->ip_options)
		return PEP_STAT_SYN_PASS_IP_OPTION;
	if (pkt->payload)
		return PEP_STAT_SYN_PASS_DATA;
	if (!pep_ipsec_admits(skb))
		return PEP_STAT_SYN_PASS_IPSEC;
	/* Last: it may change the SYN. */
	return pep_steer_check_options(gen, skb, pkt);
}

/* Does a reason of pep_steer_check_syn() leave the connection to be followed? */
static bool pep_steer_follows(enum pep_stat reason)
{
	switch (reason) {
	case PEP_STAT_NONE:
	case PEP_STAT_SYN_PASS_IP_OPTION:
	case PEP_STAT_SYN_PASS_DATA:
	case PEP_STAT_SYN_PASS_MD5:
	case PEP_STAT_SYN_PASS_AO:
	case PEP_STAT_SYN_PASS_MPTCP:
	case PEP_STAT_SYN_PASS_FASTOPEN:
	case PEP_STAT_SYN_PASS_OPTION:
	case PEP_STAT_SYN_PASS_IPSEC:
		return true;
	default:
		return false;
	}
}

/* A SYN that opens a connection, with the counter of the reason against splitting it,
 * or PEP_STAT_NONE; true when it was consumed.
 */
static bool pep_steer_open(struct pep_net *pn, struct pep_gen *gen,
			   enum pep_side side, struct sk_buff *skb,
			   const struct pep_packet *pkt, enum pep_stat reason)
{
	enum pep_stat unsplit = reason ? PEP_STAT_SPLIT_PASS_OPTION :
					 PEP_STAT_NONE;
	enum pep_follow_verdict verdict = PEP_FOLLOW_UNKNOWN;
	struct pep_tuple reverse;

	pep_tuple_reverse(&reverse, &pkt->tuple);
	pep_leg_clear_timewait(pn, &reverse,
			       pep_gen_bound(gen, !side, skb->dev->ifindex));
	if (!reason && gen->values.mode == PEP_CONNECT_MODE_EARLY &&
	    !pep_packet_gtsm(skb) && !pep_group_held_back(gen, &pkt->tuple, side))
		verdict = pep_early_open(gen, side, skb, pkt, &unsplit);
	if (reason)
		pep_stat_syn(pn, side, &pkt->tuple, reason);
	if (verdict == PEP_FOLLOW_UNKNOWN)
		pep_handshake_syn(gen, side, skb, pkt, unsplit);
	return verdict == PEP_FOLLOW_CONSUMED;
}

/* Out of line, with its variables on the stack: few packets are SYNs. */
static noinline_for_stack enum pep_stat
pep_steer_syn(struct pep_net *pn, struct pep_profile *profile,
	      enum pep_side side, struct sk_buff *skb, struct pep_packet *pkt)
{
	struct pep_gen *gen = rcu_dereference(profile->gen);
	struct pep_tuple reverse;
	enum pep_stat reason;

	/* Split or not, this is a connection of its own. */
	pep_tuple_reverse(&reverse, &pkt->tuple);
	pep_memo_forget(&pn->reset, &pkt->tuple);
	pep_memo_forget(&pn->reset, &reverse);

	reason = pep_steer_check_syn(pn, gen, skb, pkt);
	if (!pep_steer_follows(reason)) {
		pep_stat_syn(pn, side, &pkt->tuple, reason);
		return pep_steer_pass(pn, PEP_STAT_PASS_SYN);
	}
	switch (pep_reopen(pn, skb, pkt)) {
	case PEP_FOLLOW_UNKNOWN:
		if (pep_steer_open(pn, gen, side, skb, pkt, reason))
			return PEP_STAT_NONE;
		break;
	case PEP_FOLLOW_SPLIT:
		if (pep_accept_repeat(pn, skb, pkt))
			return PEP_STAT_NONE;
		break;
	case PEP_FOLLOW_CONSUMED:
		return PEP_STAT_NONE;
	case PEP_FOLLOW_PASS:
		break;
	}
	return pep_steer_pass(pn, PEP_STAT_PASS_SYN);
}

#if IS_ENABLED(CONFIG_SYN_COOKIES)
/* Does an ACK without a request complete a handshake by SYN cookie? */
static bool pep_steer_cookie(const struct sock *listener,
			     const struct sk_buff *skb,
			     const struct pep_packet *pkt)
{
	if (tcp_synq_no_recent_overflow(listener))
		return false;
#if IS_ENABLED(CONFIG_IPV6)
	if (pkt->tuple.family == AF_INET6)
		return __cookie_v6_check(ipv6_hdr(skb), pkt->th) > 0;
#endif
	return __cookie_v4_check(ip_hdr(skb), pkt->th) > 0;
}
#else
static bool pep_steer_cookie(const struct sock *listener,
			     const struct sk_buff *skb,
			     const struct pep_packet *pkt)
{
	return false;
}
#endif

/* A TCP packet for which there is no socket, of a connection that is @split or not. */
static enum pep_stat pep_steer_unknown(struct pep_net *pn,
				       struct pep_profile *profile,
				       enum pep_side side, struct sk_buff *skb,
				       struct pep_packet *pkt, bool split)
{
	const struct tcphdr *th = pkt->th;
	struct sock *listener = NULL;
	struct pep_gen *gen;

	if (pep_packet_is_syn(th))
		return pep_steer_syn(pn, profile, side, skb, pkt);
	gen = rcu_dereference(profile->gen);
	if (gen && th->ack && !th->syn && !th->rst)
		listener = rcu_dereference(pep_gen_listener(gen,
							    pkt->tuple.family,
							    side)->sk);
	if (listener && pep_steer_cookie(listener, skb, pkt) &&
	    pep_accept_awaits(pn, skb, pkt)) {
		pep_stat_inc(pn, PEP_STAT_SYN_COOKIE);
	} else if (listener && pep_memo_find(&pn->reset, &pkt->tuple)) {
		/* The listener has no such connection and resets it with
		 * the exact number that the packet acknowledges.
		 */
		pep_stat_inc(pn, PEP_STAT_RESET_LATE);
	} else if (split && pep_find_over(pn, skb, pkt)) {
		pep_hand_over(pn, skb, pkt);
		return PEP_STAT_NONE;
	} else {
		return pep_steer_pass(pn, PEP_STAT_PASS_NO_FLOW);
	}
	pep_deliver_local(pn, skb, listener);
	return PEP_STAT_NONE;
}

static enum pep_stat pep_steer_tcp(struct pep_net *pn,
				   struct pep_profile *profile,
				   enum pep_side side, struct sk_buff *skb,
				   struct pep_packet *pkt)
{
	enum pep_follow_verdict verdict = PEP_FOLLOW_UNKNOWN;
	struct sock *sk = NULL;
	enum pep_stat reason;
	bool again = false;

retry:
	if (pep_track_active(pn) && !pep_packet_is_syn(pkt->th)) {
		verdict = pep_follow_packet(pn, rcu_dereference(profile->gen),
					    skb, pkt, &sk);
		if (verdict == PEP_FOLLOW_PASS)
			return pep_steer_pass(pn, PEP_STAT_PASS_FOLLOWED);
		if (verdict == PEP_FOLLOW_CONSUMED)
			return PEP_STAT_NONE;
	}
	if (sk) {
		if (likely(pep_hand_leg(pn, sk, skb, pkt)))
			return PEP_STAT_NONE;
		sk = NULL;
		goto retry;
	}
	sk = pep_tuple_lookup_dev(pn->net, &pkt->tuple, skb->dev);
	/* Another CPU may have handed the connection back meanwhile. */
	if (unlikely(!sk && verdict == PEP_FOLLOW_SPLIT && !again)) {
		again = true;
		goto retry;
	}
	if (!sk)
		return pep_steer_unknown(pn, profile, side, skb, pkt,
					 verdict == PEP_FOLLOW_SPLIT);
	if (!pep_callback_owns(sk)) {
		sock_gen_put(sk);
		return pep_steer_pass(pn, PEP_STAT_PASS_FOREIGN);
	}
	reason = pep_hand_socket(pn, sk, skb, pkt);
	if (reason == PEP_STAT_PASS_SYN)
		return pep_steer_syn(pn, profile, side, skb, pkt);
	if (likely(!reason))
		return PEP_STAT_NONE;
	/* The connection is followed now, and has to hear the reset. */
	if (!again) {
		again = true;
		sk = NULL;
		goto retry;
	}
	return pep_steer_pass(pn, reason);
}

/* Verdict on a packet that is not TCP, or is a fragment that cannot be gathered: its counter,
 * or none for an ICMP error about a leg's packet, which is consumed.
 */
static enum pep_stat pep_steer_other(struct pep_net *pn, enum pep_side side,
				     struct sk_buff *skb,
				     const struct pep_packet *pkt,
				     enum pep_packet_kind kind)
{
	switch (kind) {
	case PEP_PACKET_ICMP:
		return pep_icmp_error(pn, skb, pkt, BIT(side));
	case PEP_PACKET_ICMP_OTHER:
		return pep_steer_pass(pn, PEP_STAT_PASS_ICMP);
	case PEP_PACKET_MALFORMED:
		return pep_steer_pass(pn, PEP_STAT_PASS_MALFORMED);
	case PEP_PACKET_FRAGMENT:
	case PEP_PACKET_FRAGMENT_OTHER:
		return pep_steer_pass(pn, PEP_STAT_PASS_FRAGMENT);
	case PEP_PACKET_EXTHDR:
		return pep_steer_pass(pn, PEP_STAT_PASS_EXTHDR);
	case PEP_PACKET_QUIC:
		return pep_steer_pass(pn, PEP_STAT_PASS_QUIC);
	case PEP_PACKET_TCP:
	case PEP_PACKET_OTHER:
		break;
	}
	return pep_steer_pass(pn, PEP_STAT_PASS_OTHER);
}

static enum pep_stat pep_steer_verdict(struct pep_net *pn,
				       struct pep_profile *profile,
				       enum pep_side side, struct sk_buff *skb)
{
	struct pep_packet pkt __uninitialized;
	enum pep_packet_kind kind;

	if (unlikely(skb->pkt_type != PACKET_HOST))
		return pep_steer_pass(pn, PEP_STAT_PASS_NOT_HOST);
	kind = pep_packet_parse(skb, &pkt);
	if (unlikely(kind == PEP_PACKET_FRAGMENT)) {
		if (pep_fragment_gather(pn, skb))
			return PEP_STAT_NONE;
		kind = pep_packet_parse(skb, &pkt);
	}
	if (unlikely(kind != PEP_PACKET_TCP))
		return pep_steer_other(pn, side, skb, &pkt, kind);
	return pep_steer_tcp(pn, profile, side, skb, &pkt);
}

/**
 * pep_steer() - decide on a packet
 * @skb: packet at clsact ingress
 * @profile: profile of the device it came by
 * @side: side of that device, enum pep_side
 *
 * Context: softirq, RCU read side.
 * Return: true when the packet was consumed, false when it has to pass.
 */
bool pep_steer(struct sk_buff *skb, struct pep_profile *profile,
	       enum pep_side side)
{
	unsigned int len = 0;
	enum pep_stat reason;
	int ifindex = 0;

	if (trace_pep_steer_enabled()) {
		ifindex = skb->dev->ifindex;
		len = skb->len;
	}
	reason = pep_steer_verdict(profile->pn, profile, side, skb);
	if (ifindex)
		trace_pep_steer(profile->pn, ifindex, len, side, reason);
	return !reason;
}
