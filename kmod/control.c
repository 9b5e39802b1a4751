// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family, what is about a namespace as a whole: its
 * limits, draining it, the destinations that it does not split for a while.
 */

#include "netlink-gen.h"

#include "bypass.h"
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
	      nla_put_u32(reply, PEP_A_LIMIT_DRAIN, READ_ONCE(pn->draining));
	return pep_reply_send(reply, info, hdr, err);
}

/**
 * pep_nl_limit_set_doit() - change limits
 * @skb: request
 * @info: its attributes, whose ranges the policy has checked
 *
 * Flows that there are stay, also when they are more than may be from now on.
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_limit_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));

	if (!info->attrs[PEP_A_LIMIT_FLOWS] &&
	    !info->attrs[PEP_A_LIMIT_PENDING] &&
	    !info->attrs[PEP_A_LIMIT_DRAIN]) {
		GENL_SET_ERR_MSG(info, "flows, pending or drain: is required");
		return -EINVAL;
	}
	mutex_lock(&pn->lock);
	WRITE_ONCE(pn->max_flows,
		   pep_control_u32(info, PEP_A_LIMIT_FLOWS, pn->max_flows));
	WRITE_ONCE(pn->max_pending,
		   pep_control_u32(info, PEP_A_LIMIT_PENDING,
				   pn->max_pending));
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
	mutex_unlock(&pn->lock);
	return 0;
}

static int pep_control_fill_bypass(struct sk_buff *skb,
				   const struct pep_bypass_entry *e)
{
	int len = e->family == AF_INET6 ? sizeof(e->addr.v6) :
					  sizeof(e->addr.v4);
	time64_t left = max_t(time64_t, e->until - ktime_get_seconds(), 0);

	return nla_put_u32(skb, PEP_A_BYPASS_FAMILY, e->family) ?:
	       nla_put(skb, PEP_A_BYPASS_ADDR, len, &e->addr) ?:
	       nla_put_be16(skb, PEP_A_BYPASS_PORT, e->port) ?:
	       nla_put_u32(skb, PEP_A_BYPASS_REASON, e->reason) ?:
	       nla_put_u32(skb, PEP_A_BYPASS_LEFT, left) ?:
	       nla_put_u32(skb, PEP_A_BYPASS_HITS, e->hits) ?:
	       (e->everyone ? 0 :
		nla_put(skb, PEP_A_BYPASS_OPENER, len, &e->opener));
}

/* Is there a table yet? It comes with the first device and then stays. */
static bool pep_control_has_bypass(struct pep_net *pn)
{
	bool started;

	mutex_lock(&pn->lock);
	started = pn->started;
	mutex_unlock(&pn->lock);
	return started;
}

/**
 * pep_nl_bypass_get_dumpit() - tell the destinations that are remembered
 * @skb: where to
 * @cb: state of the dump; args[0] is the place in the table to go on at
 *
 * Context: may sleep.
 * Return: length or a negative error.
 */
int pep_nl_bypass_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct pep_net *pn = pep_net(genl_info_net(info));
	unsigned int index = cb->args[0];
	struct pep_bypass_entry entry;
	int err = 0;
	void *hdr;

	if (!pep_control_has_bypass(pn))
		return 0;
	while (pep_bypass_next(&pn->bypass, &index, &entry)) {
		hdr = pep_reply_part(skb, info);
		err = hdr ? pep_control_fill_bypass(skb, &entry) : -EMSGSIZE;
		if (pep_reply_part_end(skb, hdr, err))
			break;
		cb->args[0] = index;
	}
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

/* Read the destination that a request names. */
static int pep_control_parse_bypass(struct genl_info *info,
				    struct pep_bypass_entry *which)
{
	struct nlattr *family = info->attrs[PEP_A_BYPASS_FAMILY];
	struct nlattr *addr = info->attrs[PEP_A_BYPASS_ADDR];
	struct nlattr *port = info->attrs[PEP_A_BYPASS_PORT];
	unsigned int len;

	if (!family || !addr || !port) {
		GENL_SET_ERR_MSG(info,
				 "family, addr and port: all or none of them");
		return -EINVAL;
	}
	switch (nla_get_u32(family)) {
	case AF_INET:
		len = sizeof(which->addr.v4);
		break;
	case AF_INET6:
		len = sizeof(which->addr.v6);
		break;
	default:
		NL_SET_ERR_MSG_ATTR(info->extack, family,
				    "family: 2 (IPv4) or 10 (IPv6)");
		return -EAFNOSUPPORT;
	}
	if (nla_len(addr) != len) {
		NL_SET_ERR_MSG_ATTR(info->extack, addr,
				    "addr: 4 bytes for IPv4, 16 for IPv6");
		return -EINVAL;
	}
	memset(which, 0, sizeof(*which));
	which->family = nla_get_u32(family);
	memcpy(&which->addr, nla_data(addr), len);
	which->port = nla_get_be16(port);
	return 0;
}

/**
 * pep_nl_bypass_del_doit() - forget one destination or all
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_bypass_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));
	struct pep_bypass_entry which, *one = NULL;
	struct sk_buff *reply;
	unsigned int n = 0;
	void *hdr;
	int err;

	if (info->attrs[PEP_A_BYPASS_FAMILY] ||
	    info->attrs[PEP_A_BYPASS_ADDR] || info->attrs[PEP_A_BYPASS_PORT]) {
		err = pep_control_parse_bypass(info, &which);
		if (err)
			return err;
		one = &which;
	}
	reply = pep_reply_begin(info, &hdr);
	if (!reply)
		return -ENOMEM;
	if (pep_control_has_bypass(pn))
		n = pep_bypass_forget(&pn->bypass, one);
	if (one && !n) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[PEP_A_BYPASS_ADDR],
				    "addr: this destination is not remembered");
		return pep_reply_send(reply, info, hdr, -ENOENT);
	}
	err = nla_put_u32(reply, PEP_A_BYPASS_FORGOTTEN, n);
	return pep_reply_send(reply, info, hdr, err);
}
