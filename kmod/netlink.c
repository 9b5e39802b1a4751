// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family: profiles and flows. Policy and operations are
 * generated from Documentation/netlink/specs/pep.yaml. Handlers run in parallel:
 * pep_net.lock guards the state that they change, and flows are read under RCU
 * without their locks, so that a dump blocks nothing.
 */

#include "leave.h"
#include "netlink-gen.h"

#include "filter.h"
#include "flow.h"
#include "gen.h"
#include "live.h"
#include "profile.h"
#include "release.h"
#include "reply.h"
#include "report.h"
#include "setting.h"

static struct pep_net *pep_netlink_net(const struct genl_info *info)
{
	return pep_net(genl_info_net(info));
}

static int pep_netlink_fill_profile(struct sk_buff *skb,
				    const struct pep_profile *profile)
{
	return nla_put_string(skb, PEP_A_PROFILE_NAME, profile->name) ?:
	       pep_setting_fill(skb, &profile->values) ?:
	       nla_put_u32(skb, PEP_A_PROFILE_DEVICES, profile->devices) ?:
	       nla_put_u32(skb, PEP_A_PROFILE_FLOWS,
			   atomic_read(&profile->tally->flows));
}

/* Find the profile that a request names; pep_net.lock held. */
static struct pep_profile *pep_netlink_profile(struct pep_net *pn,
					       struct genl_info *info)
{
	struct pep_profile *profile;

	if (GENL_REQ_ATTR_CHECK(info, PEP_A_PROFILE_NAME)) {
		NL_SET_ERR_MSG_MOD(info->extack, "name: is required");
		return ERR_PTR(-EINVAL);
	}
	profile = pep_profile_find(pn,
				   nla_data(info->attrs[PEP_A_PROFILE_NAME]));
	if (profile)
		return profile;
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[PEP_A_PROFILE_NAME],
			    "name: no profile of this name");
	return ERR_PTR(-ENOENT);
}

/**
 * pep_nl_profile_get_doit() - report one profile
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_profile_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	struct pep_profile *profile;
	struct sk_buff *reply;
	void *hdr;
	int err;

	reply = pep_reply_begin(info, &hdr);
	if (!reply)
		return -ENOMEM;
	mutex_lock(&pn->lock);
	profile = pep_netlink_profile(pn, info);
	err = IS_ERR(profile) ? PTR_ERR(profile) :
	      pep_netlink_fill_profile(reply, profile);
	mutex_unlock(&pn->lock);
	return pep_reply_send(reply, info, hdr, err);
}

/**
 * pep_nl_profile_get_dumpit() - report all profiles
 * @skb: message to fill
 * @cb: state of the dump; args[0] counts the profiles reported
 *
 * When a profile came or went between two parts, they carry NLM_F_DUMP_INTR.
 *
 * Context: may sleep.
 * Return: length or a negative error.
 */
int pep_nl_profile_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct pep_net *pn = pep_netlink_net(info);
	struct pep_profile *profile;
	int err = 0;
	long n = 0;
	void *hdr;

	mutex_lock(&pn->lock);
	cb->seq = pn->profiles_seq;
	list_for_each_entry(profile, &pn->profiles, node) {
		if (n++ < cb->args[0])
			continue;
		hdr = pep_reply_part(skb, info);
		if (hdr)
			genl_dump_check_consistent(cb, hdr);
		err = hdr ? pep_netlink_fill_profile(skb, profile) : -EMSGSIZE;
		if (pep_reply_part_end(skb, hdr, err))
			break;
		cb->args[0] = n;
	}
	mutex_unlock(&pn->lock);
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

static int pep_netlink_add_locked(struct pep_net *pn, struct genl_info *info,
				  bool replace)
{
	struct nlattr *attr = info->attrs[PEP_A_PROFILE_NAME];
	struct pep_profile *profile;
	struct pep_values values;
	int err;

	if (!attr) {
		GENL_SET_ERR_MSG(info, "name: is required");
		return -EINVAL;
	}
	if (!pep_profile_name_ok(nla_data(attr))) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "name: 1 to 15 of A-Z a-z 0-9 . _ -");
		return -EINVAL;
	}
	profile = pep_profile_find(pn, nla_data(attr));
	if (profile && !replace) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "name: the profile exists");
		return -EEXIST;
	}
	pep_profile_defaults(&values);
	err = pep_setting_parse(pn, info,
				profile ? profile->values.server_dev : NULL,
				&values);
	if (err)
		return err;
	if (!profile)
		return pep_profile_add(pn, nla_data(attr), &values);
	if (pep_profile_same(profile, &values))
		return 0;
	return pep_profile_set(profile, &values, info->extack);
}

static int pep_netlink_add(struct genl_info *info, bool replace)
{
	struct pep_net *pn = pep_netlink_net(info);
	int err;

	mutex_lock(&pn->lock);
	err = pep_netlink_add_locked(pn, info, replace);
	mutex_unlock(&pn->lock);
	return err;
}

/**
 * pep_nl_profile_add_doit() - add a profile
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_profile_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	return pep_netlink_add(info, false);
}

/**
 * pep_nl_profile_replace_doit() - add a profile, or replace its settings
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_profile_replace_doit(struct sk_buff *skb, struct genl_info *info)
{
	return pep_netlink_add(info, true);
}

static int pep_netlink_set_locked(struct pep_net *pn, struct genl_info *info,
				  bool live)
{
	struct pep_profile *profile;
	struct pep_values values;
	int err;

	profile = pep_netlink_profile(pn, info);
	err = PTR_ERR_OR_ZERO(profile);
	if (!err && live)
		err = pep_setting_live(info);
	if (err)
		return err;
	values = profile->values;
	err = pep_setting_parse(pn, info, NULL, &values);
	/* Settings that are applied to live flows again and again need new
	 * sockets only where they differ.
	 */
	if (!err && !(live && pep_profile_same(profile, &values)))
		err = pep_profile_set(profile, &values, info->extack);
	if (!err && live)
		pep_live_change(profile, info, &values);
	return err;
}

/**
 * pep_nl_profile_set_doit() - change a profile for new flows, and for live ones
 * @skb: request
 * @info: its attributes
 *
 * With live flows to change it waits until all flows have the settings, which
 * takes some microseconds for each.
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_profile_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	bool live = info->attrs[PEP_A_PROFILE_LIVE];
	int err;

	mutex_lock(&pn->lock);
	err = pep_netlink_set_locked(pn, info, live);
	mutex_unlock(&pn->lock);
	if (!err && live) {
		pep_live_order(pn);
		pep_live_flush(pn);
	}
	return err;
}

static int pep_netlink_del(struct pep_net *pn, struct genl_info *info)
{
	struct nlattr *attr = info->attrs[PEP_A_PROFILE_NAME];
	struct pep_profile *profile;

	profile = pep_netlink_profile(pn, info);
	if (IS_ERR(profile))
		return PTR_ERR(profile);
	if (!strcmp(profile->name, PEP_PROFILE_DEFAULT)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "name: the default profile stays");
		return -EPERM;
	}
	if (profile->devices) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "name: a device uses the profile");
		return -EBUSY;
	}
	pep_profile_del(profile);
	return 0;
}

/**
 * pep_nl_profile_del_doit() - delete a profile that no device uses
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_profile_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	int err;

	mutex_lock(&pn->lock);
	err = pep_netlink_del(pn, info);
	mutex_unlock(&pn->lock);
	return err;
}

/**
 * pep_nl_flow_get_doit() - report one flow
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_flow_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	struct pep_flow *flow;
	struct sk_buff *reply;
	int err = -ENOENT;
	void *hdr;

	if (!info->attrs[PEP_A_FLOW_ID]) {
		GENL_SET_ERR_MSG(info, "id: is required");
		return -EINVAL;
	}
	reply = pep_reply_begin(info, &hdr);
	if (!reply)
		return -ENOMEM;
	rcu_read_lock();
	flow = xa_load(&pn->flows, nla_get_u32(info->attrs[PEP_A_FLOW_ID]));
	if (flow)
		err = pep_report_flow(reply, flow);
	rcu_read_unlock();
	if (err == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[PEP_A_FLOW_ID],
				    "id: no such flow");
	return pep_reply_send(reply, info, hdr, err);
}

/**
 * pep_nl_flow_get_dumpit() - report all flows
 * @skb: message to fill
 * @cb: state of the dump; args[0] is the id to continue with
 *
 * Ids only grow until they wrap, so a flow that exists throughout is reported
 * once.
 *
 * Context: may sleep.
 * Return: length or a negative error.
 */
int pep_nl_flow_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct pep_net *pn = pep_netlink_net(info);
	unsigned long id = cb->args[0];
	struct pep_filter filter;
	struct pep_flow *flow;
	void *hdr;
	int err;

	err = pep_filter_parse(info, &filter);
	if (err)
		return err;
	rcu_read_lock();
	xa_for_each_start(&pn->flows, id, flow, cb->args[0]) {
		if (pep_filter_match(flow, &filter)) {
			hdr = pep_reply_part(skb, info);
			err = hdr ? pep_report_flow(skb, flow) : -EMSGSIZE;
			if (pep_reply_part_end(skb, hdr, err))
				break;
		}
		cb->args[0] = id + 1;
		pep_flow_walk_resched();
	}
	rcu_read_unlock();
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

/*
 * Apply an action to the flows of a request, which has to select them, and
 * reply with their number.
 */
static int pep_netlink_flows(struct genl_info *info, int attr,
			     int (*act)(struct pep_net *pn,
					const struct pep_filter *filter))
{
	struct pep_net *pn = pep_netlink_net(info);
	struct pep_filter filter;
	struct sk_buff *reply;
	void *hdr;
	int err;

	err = pep_filter_parse(info, &filter);
	if (err)
		return err;
	if (filter.empty) {
		GENL_SET_ERR_MSG(info, "which flows: is required, older-ms 0 for all");
		return -EINVAL;
	}
	reply = pep_reply_begin(info, &hdr);
	if (!reply)
		return -ENOMEM;
	err = act(pn, &filter);
	if (err >= 0)
		err = nla_put_u32(reply, attr, err);
	return pep_reply_send(reply, info, hdr, err);
}

static int pep_netlink_kill(struct pep_net *pn, const struct pep_filter *filter)
{
	return pep_flow_kill(pn, pep_filter_match, filter);
}

static int pep_netlink_release(struct pep_net *pn,
			       const struct pep_filter *filter)
{
	/* A connection that is being taken over meanwhile, or while a drain
	 * began, has its flow afterwards.
	 */
	if (filter->ifindex) {
		int err = pep_leave_note(pn, filter->ifindex);

		if (err)
			return err;
	} else {
		synchronize_net();
	}
	return pep_release_flows(pn, pep_filter_match, filter);
}

/**
 * pep_nl_flow_kill_doit() - end flows
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_flow_kill_doit(struct sk_buff *skb, struct genl_info *info)
{
	return pep_netlink_flows(info, PEP_A_FLOW_KILLED, pep_netlink_kill);
}

/**
 * pep_nl_flow_release_doit() - hand connections back to their ends
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_flow_release_doit(struct sk_buff *skb, struct genl_info *info)
{
	return pep_netlink_flows(info, PEP_A_FLOW_RELEASED,
				 pep_netlink_release);
}
