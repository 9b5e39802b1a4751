// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family, what is about a namespace as a whole: its limits,
 * and draining it.
 */

#include "netlink-gen.h"

#include "limit.h"
#include "net.h"
#include "reply.h"

/* An attribute's number, or what was there before when it is not given. */
static u32 pep_control_u32(const struct genl_info *info, int attr, u32 before)
{
	return info->attrs[attr] ? nla_get_u32(info->attrs[attr]) : before;
}

/**
 * pep_nl_limit_get_doit() - tell the limits
 * @skb: request
 * @info: its attributes, none
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_limit_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));
	struct sk_buff *reply;
	void *hdr;
	int err;

	reply = pep_reply_begin(info, &hdr);
	if (!reply)
		return -ENOMEM;
	err = nla_put_u32(reply, PEP_A_LIMIT_FLOWS, READ_ONCE(pn->max_flows)) ?:
	      nla_put_u32(reply, PEP_A_LIMIT_PENDING,
			  READ_ONCE(pn->max_pending)) ?:
	      nla_put_u32(reply, PEP_A_LIMIT_DRAIN, READ_ONCE(pn->draining)) ?:
	      nla_put_u32(reply, PEP_A_LIMIT_PREFIX4,
			  READ_ONCE(pn->prefix4)) ?:
	      nla_put_u32(reply, PEP_A_LIMIT_PREFIX6, READ_ONCE(pn->prefix6));
	return pep_reply_send(reply, info, hdr, err);
}

/**
 * pep_nl_limit_set_doit() - change limits
 * @skb: request
 * @info: its attributes, whose ranges the policy has checked
 *
 * Flows that there are stay, also when they are more than may be from now on. What is
 * known of subscribers' links stays with those that the prefixes before have made.
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_limit_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));

	if (!info->attrs[PEP_A_LIMIT_FLOWS] &&
	    !info->attrs[PEP_A_LIMIT_PENDING] &&
	    !info->attrs[PEP_A_LIMIT_DRAIN] &&
	    !info->attrs[PEP_A_LIMIT_PREFIX4] &&
	    !info->attrs[PEP_A_LIMIT_PREFIX6]) {
		GENL_SET_ERR_MSG(info, "flows, pending, drain, prefix4 or prefix6: is required");
		return -EINVAL;
	}
	mutex_lock(&pn->lock);
	WRITE_ONCE(pn->max_flows,
		   pep_control_u32(info, PEP_A_LIMIT_FLOWS, pn->max_flows));
	WRITE_ONCE(pn->max_pending,
		   pep_control_u32(info, PEP_A_LIMIT_PENDING,
				   pn->max_pending));
	WRITE_ONCE(pn->prefix4,
		   pep_control_u32(info, PEP_A_LIMIT_PREFIX4, pn->prefix4));
	WRITE_ONCE(pn->prefix6,
		   pep_control_u32(info, PEP_A_LIMIT_PREFIX6, pn->prefix6));
	if (info->attrs[PEP_A_LIMIT_DRAIN])
		pep_limit_drain(pn, nla_get_u32(info->attrs[PEP_A_LIMIT_DRAIN]));
	mutex_unlock(&pn->lock);
	return 0;
}

/**
 * pep_nl_limit_replace_doit() - change limits, all of them
 * @skb: request
 * @info: its attributes, whose ranges the policy has checked; what is not
 *	given takes its default
 *
 * Context: may sleep.
 * Return: 0.
 */
int pep_nl_limit_replace_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));

	mutex_lock(&pn->lock);
	WRITE_ONCE(pn->max_flows,
		   pep_control_u32(info, PEP_A_LIMIT_FLOWS, PEP_LIMIT_FLOWS));
	WRITE_ONCE(pn->max_pending,
		   pep_control_u32(info, PEP_A_LIMIT_PENDING,
				   PEP_LIMIT_PENDING));
	WRITE_ONCE(pn->prefix4,
		   pep_control_u32(info, PEP_A_LIMIT_PREFIX4,
				   PEP_LIMIT_PREFIX4));
	WRITE_ONCE(pn->prefix6,
		   pep_control_u32(info, PEP_A_LIMIT_PREFIX6,
				   PEP_LIMIT_PREFIX6));
	mutex_unlock(&pn->lock);
	return 0;
}
