// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family, requests for a namespace as a whole: its limits,
 * and draining it.
 */

#include "netlink-gen.h"

#include "limit.h"
#include "net.h"
#include "reply.h"

/**
 * struct pep_control - a limit in netlink
 * @attr: its attribute, PEP_A_LIMIT_*
 * @offset: offset of its member of struct pep_limits
 */
struct pep_control {
	u16 attr;
	u16 offset;
};

static const struct pep_control pep_controls[] = {
	{ PEP_A_LIMIT_FLOWS, offsetof(struct pep_limits, flows) },
	{ PEP_A_LIMIT_PENDING, offsetof(struct pep_limits, pending) },
	{ PEP_A_LIMIT_CONNECTIONS, offsetof(struct pep_limits, connections) },
	{ PEP_A_LIMIT_PREFIX4, offsetof(struct pep_limits, prefix4) },
	{ PEP_A_LIMIT_PREFIX6, offsetof(struct pep_limits, prefix6) },
	{ PEP_A_LIMIT_SUBSCRIBER_CONNECTIONS,
	  offsetof(struct pep_limits, subscriber_connections) },
	{ PEP_A_LIMIT_SUBSCRIBER_FLOWS,
	  offsetof(struct pep_limits, subscriber_flows) },
	{ PEP_A_LIMIT_SUBSCRIBER_RATE,
	  offsetof(struct pep_limits, subscriber_rate) },
	{ PEP_A_LIMIT_SUBSCRIBER_MEMORY,
	  offsetof(struct pep_limits, subscriber_memory) },
};

static u32 *pep_control_limit(struct pep_limits *limits,
			      const struct pep_control *control)
{
	return (void *)limits + control->offset;
}

/* Read the limits of a request. Return: their number. */
static unsigned int pep_control_take(const struct genl_info *info,
				     struct pep_limits *limits)
{
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(pep_controls); i++) {
		const struct nlattr *attr = info->attrs[pep_controls[i].attr];

		if (!attr)
			continue;
		*pep_control_limit(limits, &pep_controls[i]) = nla_get_u32(attr);
		n++;
	}
	return n;
}

/* Set the limits of an instance, whose lock is held. */
static void pep_control_put(struct pep_net *pn, struct pep_limits *limits)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pep_controls); i++)
		WRITE_ONCE(*pep_control_limit(&pn->limits, &pep_controls[i]),
			   *pep_control_limit(limits, &pep_controls[i]));
}

/**
 * pep_nl_limit_get_doit() - report the limits
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
	unsigned int i;
	void *hdr;
	int err;

	reply = pep_reply_begin(info, &hdr);
	if (!reply)
		return -ENOMEM;
	err = nla_put_u32(reply, PEP_A_LIMIT_DRAIN, READ_ONCE(pn->draining));
	for (i = 0; i < ARRAY_SIZE(pep_controls) && !err; i++)
		err = nla_put_u32(reply, pep_controls[i].attr,
				  READ_ONCE(*pep_control_limit(&pn->limits,
							       &pep_controls[i])));
	return pep_reply_send(reply, info, hdr, err);
}

/**
 * pep_nl_limit_set_doit() - change limits
 * @skb: request
 * @info: its attributes, whose ranges the policy has checked
 *
 * Existing flows stay, even when they exceed the new limit. The estimates of
 * subscribers' links stay with the subscribers of the previous prefixes.
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_limit_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *drain = info->attrs[PEP_A_LIMIT_DRAIN];
	struct pep_net *pn = pep_net(genl_info_net(info));
	struct pep_limits limits;

	mutex_lock(&pn->lock);
	limits = pn->limits;
	if (!pep_control_take(info, &limits) && !drain) {
		mutex_unlock(&pn->lock);
		GENL_SET_ERR_MSG(info, "drain, flows or another limit: is required");
		return -EINVAL;
	}
	pep_control_put(pn, &limits);
	if (drain)
		pep_limit_drain(pn, nla_get_u32(drain));
	mutex_unlock(&pn->lock);
	return 0;
}

/**
 * pep_nl_limit_replace_doit() - replace all limits
 * @skb: request
 * @info: its attributes, whose ranges the policy has checked; a limit that is
 *	absent takes its default
 *
 * Context: may sleep.
 * Return: 0.
 */
int pep_nl_limit_replace_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));
	struct pep_limits limits;

	pep_limit_defaults(&limits);
	pep_control_take(info, &limits);
	mutex_lock(&pn->lock);
	pep_control_put(pn, &limits);
	mutex_unlock(&pn->lock);
	return 0;
}
