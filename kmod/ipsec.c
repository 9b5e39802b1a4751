// SPDX-License-Identifier: GPL-2.0
/*
 * Policies of IPsec. A packet that is forwarded is checked against those of direction
 * fwd, and one for a socket of this host against those of direction in. The packets of an
 * end that the latter refuse would never reach a leg.
 */

#include "ipsec.h"

#include <net/xfrm.h>

#ifdef CONFIG_XFRM
/* May the packet pass unchecked? As __xfrm_policy_check2() decides, but a packet that a device
 * has decrypted counts as plain in any case. net.ipv4.conf.DEV.disable_policy exempts no
 * packet: the route of deliver.c does not have it.
 */
static bool pep_ipsec_none(const struct net *net, struct sk_buff *skb)
{
	if (xfrm_offload(skb) &&
	    xfrm_input_state(skb)->xso.type == XFRM_DEV_OFFLOAD_PACKET)
		return true;
	return !READ_ONCE(net->xfrm.policy_count[XFRM_POLICY_IN]) &&
	       !secpath_exists(skb) &&
	       READ_ONCE(net->xfrm.policy_default[XFRM_POLICY_IN]) ==
	       XFRM_USERPOLICY_ACCEPT;
}

/**
 * pep_ipsec_admits() - may a packet that is forwarded reach a socket of this host?
 * @skb: SYN, SYN-ACK or another packet of an end, its network header set
 *
 * As xfrm_policy_check(), which TCP calls for each packet. A refusal counts among those of
 * /proc/net/xfrm_stat. How many transformations have been verified stays as it was, for
 * the check of the forwarded packet.
 *
 * Context: softirq, RCU read side.
 * Return: false when TCP would drop the packet.
 */
bool pep_ipsec_admits(struct sk_buff *skb)
{
	unsigned short family = skb->protocol == htons(ETH_P_IPV6) ? AF_INET6 :
								     AF_INET;
	struct sec_path *sp = skb_sec_path(skb);
	int verified = sp ? sp->verified_cnt : 0;
	char cb[sizeof(skb->cb)];
	bool admitted;

	if (pep_ipsec_none(dev_net(skb->dev), skb))
		return true;
	/* IPCB() and IP6CB(), where tc has its own here, name a VRF that the packet came by. */
	memcpy(cb, skb->cb, sizeof(cb));
	memset(skb->cb, 0, sizeof(cb));
	admitted = __xfrm_policy_check(NULL, XFRM_POLICY_IN, skb, family);
	memcpy(skb->cb, cb, sizeof(cb));
	if (sp)
		sp->verified_cnt = verified;
	return admitted;
}

/**
 * pep_ipsec_own() - give a copy the transformations of its packet for itself
 * @skb: copy that refers to the extensions of its packet
 *
 * TCP's check changes how many have been verified, and the packet is yet to be checked.
 *
 * Context: softirq.
 * Return: false for lack of memory.
 */
bool pep_ipsec_own(struct sk_buff *skb)
{
	return !secpath_exists(skb) || secpath_set(skb);
}
#else
bool pep_ipsec_admits(struct sk_buff *skb)
{
	return true;
}

bool pep_ipsec_own(struct sk_buff *skb)
{
	return true;
}
#endif
