// SPDX-License-Identifier: GPL-2.0
/*
 * Where an opener's SYN comes from, and where routing would take it.
 *
 * A SYN that passes is routed. Over IPv4 the kernel drops it when its source cannot be
 * behind its device, by rp_filter, and without accept_local when it is an address of this
 * host. A SYN that is answered early is not forwarded, so here routing checks, over IPv4,
 * its source, and, over IPv6, whether its target is this host; the leg towards the target
 * finds its own route. The option "source" of a profile is another matter, see early.c.
 */

#include "source.h"

#include <net/ip6_route.h>
#include <net/route.h>
#include <uapi/linux/pep.h>

#include "compat.h"
#include "route.h"

/* Routing writes to the control block, which belongs to tc, so it gets a clone. */
static enum pep_stat pep_source_check4(struct sk_buff *skb,
				       const struct pep_packet *pkt)
{
	struct sk_buff *clone = skb_clone(skb, GFP_ATOMIC);
	bool valid;

	if (!clone)
		return PEP_STAT_SYN_PASS_NO_MEMORY;
	memset(IPCB(clone), 0, sizeof(*IPCB(clone)));
	skb_dst_drop(clone);
	clone->dev = pep_route_receiver(skb->dev);
	valid = pep_compat_source_valid(clone, pkt->tuple.dst.v4,
					pkt->tuple.src.v4);
	consume_skb(clone);
	return valid ? PEP_STAT_NONE : PEP_STAT_SYN_PASS_SOURCE;
}

#if IS_ENABLED(CONFIG_IPV6)
/* A whole prefix may be local, and its addresses are in no list. */
static enum pep_stat pep_source_check6(struct net *net,
				       const struct sk_buff *skb,
				       const struct pep_packet *pkt)
{
	struct net_device *dev = pep_route_receiver(skb->dev);
	struct flowi6 fl6 = {
		.flowi6_iif = dev->ifindex,
		.flowi6_mark = skb->mark,
		.flowi6_proto = IPPROTO_TCP,
		.saddr = pkt->tuple.src.v6,
		.daddr = pkt->tuple.dst.v6,
	};
	struct dst_entry *dst;
	bool local;

	dst = ip6_route_input_lookup(net, dev, &fl6, skb,
				     RT6_LOOKUP_F_HAS_SADDR);
	local = dst_rt6_info(dst)->rt6i_flags & (RTF_LOCAL | RTF_ANYCAST);
	dst_release(dst);
	return local ? PEP_STAT_SYN_PASS_LOCAL : PEP_STAT_NONE;
}
#else
static enum pep_stat pep_source_check6(struct net *net,
				       const struct sk_buff *skb,
				       const struct pep_packet *pkt)
{
	return PEP_STAT_SYN_PASS_NO_LISTENER;
}
#endif

/**
 * pep_source_check() - would routing forward a SYN that is to be answered early?
 * @net: namespace
 * @skb: SYN
 * @pkt: parsed @skb
 *
 * A SYN that has no route counts as one that routing would forward: the leg towards
 * the target may have a route, by a mark or a device of the profile. IPv6 has no
 * rp_filter; a firewall may have one, behind this hook.
 *
 * Context: BH off, RCU read side.
 * Return: PEP_STAT_NONE, or the counter of the reason against it.
 */
enum pep_stat pep_source_check(struct net *net, struct sk_buff *skb,
			       const struct pep_packet *pkt)
{
	if (pkt->tuple.family == AF_INET6)
		return pep_source_check6(net, skb, pkt);
	return pep_source_check4(skb, pkt);
}
