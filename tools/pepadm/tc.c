// SPDX-License-Identifier: GPL-2.0
#include "tc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_pepsplit.h>

#include "args.h"

/* How often a qdisc is tried to be deleted, and the time between, ms. */
#define DELETE_TRIES 500
#define DELETE_PAUSE 10

#define HOOK_INGRESS TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)
#define HOOK_EGRESS TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)

/**
 * struct filter - a filter that pepadm makes
 * @protocol: ETH_P_*, host byte order
 * @preference: its place among the filters; lower ones come first
 * @former: the preference that pepadm gave it before
 *
 * The kernel hands out preferences downwards from 49152 on, inclusive: filters
 * of an administrator come before ours, whether numbered by hand or not, and
 * whether added first or not.
 */
struct filter {
	__u16 protocol;
	__u16 preference;
	__u16 former;
};

static const struct filter filters[PEP_TC_FILTERS] = {
	{ .protocol = ETH_P_IP, .preference = 49153, .former = 49152 },
	{ .protocol = ETH_P_IPV6, .preference = 49154, .former = 49153 },
};

/* Begin a request about a qdisc or a filter. */
static struct tcmsg *tc_request(struct pep_nl_request *req, __u16 type,
				__u16 flags, __u32 ifindex,
				__u32 parent)
{
	struct tcmsg *tcm = pep_nl_request(req, type, flags, sizeof(*tcm));

	tcm->tcm_family = AF_UNSPEC;
	tcm->tcm_ifindex = (int)ifindex;
	tcm->tcm_parent = parent;
	return tcm;
}

/* Begin a request about one of our filters. */
static void filter_request(struct pep_nl_request *req, __u16 type,
			   __u16 flags, __u32 ifindex,
			   unsigned int which, __u32 preference)
{
	struct tcmsg *tcm = tc_request(req, type, flags, ifindex,
				       HOOK_INGRESS);

	tcm->tcm_info = TC_H_MAKE(preference << 16,
				  htons(filters[which].protocol));
	pep_nl_put_string(req, TCA_KIND, "matchall", NULL);
}

/**
 * pep_tc_clsact_add() - give a device a clsact qdisc
 * @nl: rtnetlink socket
 * @ifindex: the device
 *
 * Return: 0; -EEXIST when it has one, or an ingress qdisc, which will do as
 * well; another negative errno value.
 */
int pep_tc_clsact_add(struct pep_nl *nl, __u32 ifindex)
{
	struct pep_nl_request req;
	struct tcmsg *tcm;

	tcm = tc_request(&req, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL,
			 ifindex, TC_H_CLSACT);
	tcm->tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
	pep_nl_put_string(&req, TCA_KIND, "clsact", NULL);
	return pep_nl_talk(nl, &req, NULL, NULL);
}

/* Add our action, as the first one of a nest. */
static void put_action(struct pep_nl_request *req, __u16 type, __u32 index,
		       __u32 side, const char *profile)
{
	const struct tc_pepsplit fixed = {
		.index = index,
		.action = TC_ACT_UNSPEC,
	};
	struct nlattr *actions, *action, *options;

	actions = mnl_attr_nest_start(req->nlh, type);
	action = mnl_attr_nest_start(req->nlh, 1);
	pep_nl_put_string(req, TCA_ACT_KIND, TCA_PEPSPLIT_KIND, NULL);
	options = mnl_attr_nest_start(req->nlh, TCA_ACT_OPTIONS);
	mnl_attr_put(req->nlh, TCA_PEPSPLIT_PARMS, sizeof(fixed), &fixed);
	pep_nl_put_u32(req, TCA_PEPSPLIT_SIDE, side, "side");
	pep_nl_put_string(req, TCA_PEPSPLIT_PROFILE, profile, "profile");
	mnl_attr_nest_end(req->nlh, options);
	mnl_attr_nest_end(req->nlh, action);
	mnl_attr_nest_end(req->nlh, actions);
}

/**
 * pep_tc_filter_add() - add one of our filters
 * @nl: rtnetlink socket
 * @ifindex: the device; it has a clsact or an ingress qdisc
 * @which: 0 for IPv4, 1 for IPv6
 * @side: enum pep_side
 * @profile: name of a profile
 *
 * The filter takes every packet of its protocol. No hardware can carry out the
 * action, so that the filter is not offered to the driver.
 *
 * Return: 0 or a negative errno value.
 */
int pep_tc_filter_add(struct pep_nl *nl, __u32 ifindex, unsigned int which,
		      __u32 side, const char *profile)
{
	struct pep_nl_request req;
	struct nlattr *options;

	filter_request(&req, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL,
		       ifindex, which, filters[which].preference);
	options = mnl_attr_nest_start(req.nlh, TCA_OPTIONS);
	pep_nl_put_u32(&req, TCA_MATCHALL_FLAGS, TCA_CLS_FLAGS_SKIP_HW, NULL);
	put_action(&req, TCA_MATCHALL_ACT, 0, side, profile);
	mnl_attr_nest_end(req.nlh, options);
	return pep_nl_talk(nl, &req, NULL, NULL);
}

/**
 * pep_tc_action_set() - change one of our actions where it is
 * @nl: rtnetlink socket
 * @index: its number, from pep_tc_find()
 * @side: enum pep_side
 * @profile: name of a profile
 *
 * Packets meet either the old or the new one.
 *
 * Return: 0 or a negative errno value.
 */
int pep_tc_action_set(struct pep_nl *nl, __u32 index, __u32 side,
		      const char *profile)
{
	struct pep_nl_request req;
	struct tcamsg *tca;

	tca = pep_nl_request(&req, RTM_NEWACTION, NLM_F_REPLACE, sizeof(*tca));
	tca->tca_family = AF_UNSPEC;
	put_action(&req, TCA_ACT_TAB, index, side, profile);
	return pep_nl_talk(nl, &req, NULL, NULL);
}

/**
 * pep_tc_filter_del() - delete one of our filters
 * @nl: rtnetlink socket
 * @ifindex: the device
 * @which: 0 for IPv4, 1 for IPv6
 * @preference: from pep_tc_find(), or that of a filter that was just added
 *
 * Return: 0 or a negative errno value.
 */
int pep_tc_filter_del(struct pep_nl *nl, __u32 ifindex, unsigned int which,
		      __u32 preference)
{
	struct pep_nl_request req;

	filter_request(&req, RTM_DELTFILTER, 0, ifindex, which, preference);
	return pep_nl_talk(nl, &req, NULL, NULL);
}

/**
 * pep_tc_preference() - get the preference of one of our filters
 * @which: 0 for IPv4, 1 for IPv6
 *
 * Return: its place among the filters of a device.
 */
__u32 pep_tc_preference(unsigned int which)
{
	return filters[which].preference;
}

/* Add the counters of an action. */
static void add_stats(struct pep_tc_count *count, const struct nlattr *nest)
{
	const struct nlattr *tb[TCA_STATS_PKT64 + 1];
	struct gnet_stats_basic basic;

	pep_nl_parse_nested(nest, tb, TCA_STATS_PKT64);
	if (!tb[TCA_STATS_BASIC] ||
	    mnl_attr_get_payload_len(tb[TCA_STATS_BASIC]) < sizeof(basic))
		return;
	memcpy(&basic, mnl_attr_get_payload(tb[TCA_STATS_BASIC]),
	       sizeof(basic));
	count->bytes += basic.bytes;
	/* The kernel sends the 64-bit number when 32 bits are not enough. */
	count->packets += tb[TCA_STATS_PKT64] ?
			  pep_nl_uint(tb[TCA_STATS_PKT64]) : basic.packets;
}

/* Which of pepadm's filters is this? PEP_TC_FILTERS for none. */
static unsigned int which_filter(const struct tcmsg *tcm)
{
	__u32 preference = TC_H_MAJ(tcm->tcm_info) >> 16;
	unsigned int i;

	for (i = 0; i < PEP_TC_FILTERS; i++)
		if (TC_H_MIN(tcm->tcm_info) == htons(filters[i].protocol) &&
		    (preference == filters[i].preference ||
		     preference == filters[i].former))
			break;
	return i;
}

/* Keep the action of one of our filters. */
static void keep_action(struct pep_tc_found *found, unsigned int which,
			__u32 index, __u32 side, const char *profile)
{
	if (found->mine[which])
		return;
	found->mine[which] = true;
	found->index[which] = index;
	found->sides[which] = side;
	snprintf(found->profiles[which], sizeof(found->profiles[which]), "%s",
		 profile);
}

/*
 * Read one action of a filter. Side and profile of others' filters count only
 * where there is none of pepadm's.
 */
static void read_action(struct pep_tc_found *found, unsigned int which,
			const struct nlattr *nest)
{
	const char *profile;
	__u32 side;
	const struct tc_pepsplit *fixed;
	const struct nlattr *options[TCA_PEPSPLIT_MAX + 1];
	const struct nlattr *tb[TCA_ACT_MAX + 1];

	pep_nl_parse_nested(nest, tb, TCA_ACT_MAX);
	if (strcmp(pep_nl_string(tb[TCA_ACT_KIND]), TCA_PEPSPLIT_KIND))
		return;
	pep_nl_parse_nested(tb[TCA_ACT_OPTIONS], options, TCA_PEPSPLIT_MAX);
	if (!options[TCA_PEPSPLIT_PARMS])
		return;
	fixed = mnl_attr_get_payload(options[TCA_PEPSPLIT_PARMS]);
	side = options[TCA_PEPSPLIT_SIDE] ?
	       (__u32)pep_nl_uint(options[TCA_PEPSPLIT_SIDE]) : UINT32_MAX;
	profile = pep_nl_string(options[TCA_PEPSPLIT_PROFILE]);
	if (!found->mine[0] && !found->mine[1]) {
		found->side = side;
		snprintf(found->profile, sizeof(found->profile), "%s", profile);
	}
	found->actions++;
	add_stats(&found->all, tb[TCA_ACT_STATS]);
	if (which == PEP_TC_FILTERS)
		return;
	add_stats(&found->each[which], tb[TCA_ACT_STATS]);
	keep_action(found, which, fixed->index, side, profile);
}

/* Read one filter of a dump. */
static int read_filter(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *options[TCA_MATCHALL_MAX + 1];
	const struct nlattr *tb[TCA_MAX + 1];
	struct pep_tc_found *found = data;
	const struct nlattr *action;
	unsigned int which = which_filter(tcm);
	bool first = which < PEP_TC_FILTERS && !found->mine[which];

	found->filters++;
	pep_nl_parse(nlh, sizeof(*tcm), tb, TCA_MAX);
	if (!tb[TCA_OPTIONS] ||
	    strcmp(pep_nl_string(tb[TCA_KIND]), "matchall"))
		return MNL_CB_OK;

	pep_nl_parse_nested(tb[TCA_OPTIONS], options, TCA_MATCHALL_MAX);
	if (!options[TCA_MATCHALL_ACT])
		return MNL_CB_OK;
	mnl_attr_for_each_nested(action, options[TCA_MATCHALL_ACT])
		read_action(found, which, action);
	if (first && found->mine[which])
		found->preference[which] = TC_H_MAJ(tcm->tcm_info) >> 16;
	return MNL_CB_OK;
}

/* Read all filters on a hook of a device. */
static int find_on(struct pep_nl *nl, __u32 ifindex, __u32 hook,
		   struct pep_tc_found *found)
{
	struct pep_nl_request req;

	memset(found, 0, sizeof(*found));
	tc_request(&req, RTM_GETTFILTER, NLM_F_DUMP, ifindex, hook);
	return pep_nl_talk(nl, &req, read_filter, found);
}

/**
 * pep_tc_find() - find our actions at the ingress of a device
 * @nl: rtnetlink socket
 * @ifindex: the device
 * @found: result; empty when the device has no clsact qdisc
 *
 * Return: 0 or a negative errno value.
 */
int pep_tc_find(struct pep_nl *nl, __u32 ifindex,
		struct pep_tc_found *found)
{
	return find_on(nl, ifindex, HOOK_INGRESS, found);
}

/**
 * struct wanted - a search for the clsact qdisc of a device
 * @ifindex: the device
 * @clsact: it has one
 */
struct wanted {
	__u32 ifindex;
	bool clsact;
};

/* Note whether a qdisc is the wanted one. */
static int match_qdisc(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[TCA_MAX + 1];
	struct wanted *wanted = data;

	pep_nl_parse(nlh, sizeof(*tcm), tb, TCA_MAX);
	if ((__u32)tcm->tcm_ifindex == wanted->ifindex &&
	    !strcmp(pep_nl_string(tb[TCA_KIND]), "clsact"))
		wanted->clsact = true;
	return MNL_CB_OK;
}

/* Delete the clsact qdisc of a device unless it has filters. */
static int del_unused(struct pep_nl *nl, __u32 ifindex)
{
	static const __u32 hooks[] = { HOOK_INGRESS, HOOK_EGRESS };
	struct wanted wanted = { .ifindex = ifindex };
	struct pep_tc_found found;
	struct pep_nl_request req;
	unsigned int i;
	int err;

	/* The kernel answers a request for a single qdisc by multicast only. */
	tc_request(&req, RTM_GETQDISC, NLM_F_DUMP, ifindex, 0);
	err = pep_nl_talk(nl, &req, match_qdisc, &wanted);
	if (err || !wanted.clsact)
		return err;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		err = find_on(nl, ifindex, hooks[i], &found);
		if (err || found.filters)
			return err;
	}

	tc_request(&req, RTM_DELQDISC, 0, ifindex, TC_H_CLSACT);
	return pep_nl_talk(nl, &req, NULL, NULL);
}

/**
 * pep_tc_clsact_del_unused() - delete the clsact qdisc of a device
 * @nl: rtnetlink socket
 * @ifindex: the device
 *
 * It stays when it has filters left, at ingress or at egress; so does an
 * ingress qdisc, which pepadm never makes. While other programs' requests for
 * its filters are under way the kernel refuses, for no longer than they take.
 *
 * Return: 0, whether or not there was a qdisc to delete, or a negative errno
 * value; -EBUSY after DELETE_TRIES.
 */
int pep_tc_clsact_del_unused(struct pep_nl *nl, __u32 ifindex)
{
	unsigned int tries = DELETE_TRIES;
	int err;

	for (;;) {
		err = del_unused(nl, ifindex);
		if (err != -EBUSY || !--tries)
			return err;
		poll(NULL, 0, DELETE_PAUSE);
	}
}

/* Note the device of a qdisc that can have filters at ingress. */
static int read_qdisc(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	struct pep_tc_devices *devices = data;
	__u32 *ifindex;

	if (tcm->tcm_parent != TC_H_CLSACT)
		return MNL_CB_OK;

	ifindex = reallocarray(devices->ifindex, devices->n + 1,
			       sizeof(*ifindex));
	if (!ifindex) {
		devices->failed = true;
		return MNL_CB_OK;
	}
	ifindex[devices->n++] = (__u32)tcm->tcm_ifindex;
	devices->ifindex = ifindex;
	return MNL_CB_OK;
}

/**
 * pep_tc_devices() - list the devices that can have filters at ingress
 * @nl: rtnetlink socket
 * @devices: the devices; the caller frees the member ifindex
 *
 * Return: 0 or a negative errno value.
 */
int pep_tc_devices(struct pep_nl *nl, struct pep_tc_devices *devices)
{
	struct pep_nl_request req;
	int err;

	memset(devices, 0, sizeof(*devices));
	tc_request(&req, RTM_GETQDISC, NLM_F_DUMP, 0, 0);
	err = pep_nl_talk(nl, &req, read_qdisc, devices);
	return devices->failed ? -ENOMEM : err;
}
