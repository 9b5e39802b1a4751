// SPDX-License-Identifier: GPL-2.0
#include "action.h"

#include <stdint.h>
#include <string.h>

#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_pepsplit.h>

/* Add the filters that have an action to the count of its side. */
static void add_action(const struct nlattr *nest, __u64 *filters)
{
	const struct nlattr *options[TCA_PEPSPLIT_MAX + 1];
	const struct nlattr *tb[TCA_ACT_MAX + 1];
	const struct tc_pepsplit *fixed;
	__u64 side;

	pep_nl_parse_nested(nest, tb, TCA_ACT_MAX);
	if (!tb[TCA_ACT_OPTIONS])
		return;
	pep_nl_parse_nested(tb[TCA_ACT_OPTIONS], options, TCA_PEPSPLIT_MAX);
	if (!options[TCA_PEPSPLIT_PARMS] || !options[TCA_PEPSPLIT_SIDE])
		return;
	fixed = mnl_attr_get_payload(options[TCA_PEPSPLIT_PARMS]);
	side = pep_nl_uint(options[TCA_PEPSPLIT_SIDE]);
	if (side < PEP_ACTION_SIDES)
		filters[side] += (__u64)fixed->bindcnt;
}

/* Read the actions in one message of a dump. */
static int read_actions(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[TCA_ROOT_MAX + 1];
	const struct nlattr *action;

	pep_nl_parse(nlh, sizeof(struct tcamsg), tb, TCA_ROOT_MAX);
	if (tb[TCA_ROOT_TAB])
		mnl_attr_for_each_nested(action, tb[TCA_ROOT_TAB])
			add_action(action, data);
	return MNL_CB_OK;
}

/**
 * pep_action_filters() - count the filters that hand packets to the module
 * @nl: rtnetlink socket
 * @filters: how many there are on each side, PEP_ACTION_SIDES of them
 *
 * It counts filters of all owners and kinds. A filter that has several of our
 * actions counts for each.
 *
 * Return: 0 or a negative errno value.
 */
int pep_action_filters(struct pep_nl *nl, __u64 *filters)
{
	struct nlattr *actions, *action;
	struct pep_nl_request req;
	struct tcamsg *tca;

	memset(filters, 0, PEP_ACTION_SIDES * sizeof(*filters));
	tca = pep_nl_request(&req, RTM_GETACTION, NLM_F_DUMP, sizeof(*tca));
	tca->tca_family = AF_UNSPEC;
	actions = mnl_attr_nest_start(req.nlh, TCA_ROOT_TAB);
	action = mnl_attr_nest_start(req.nlh, 1);
	pep_nl_put_string(&req, TCA_ACT_KIND, TCA_PEPSPLIT_KIND, NULL);
	mnl_attr_nest_end(req.nlh, action);
	mnl_attr_nest_end(req.nlh, actions);
	return pep_nl_talk(nl, &req, read_actions, filters);
}
