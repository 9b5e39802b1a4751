// SPDX-License-Identifier: GPL-2.0
/* pepadm dev: the devices whose traffic is split. */
#include "cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "genl.h"
#include "link.h"
#include "names-gen.h"
#include "out.h"
#include "tc.h"

/* Take DEV off the command line, without looking for it yet. */
static enum pep_exit take_dev(struct pep_args *args, const char **name)
{
	return pep_args_name(args, "DEV", name);
}

/* Open a socket to rtnetlink and find a device by name. */
static enum pep_exit open_dev(struct pep_nl *nl, const char *name,
			      struct pep_link *link)
{
	enum pep_exit err = pep_nl_open(nl, NETLINK_ROUTE);

	if (err)
		return err;
	switch (pep_link_by_name(nl, name, link)) {
	case 0:
		return PEP_OK;
	case -ENODEV:
		err = pep_err_failed("Cannot find device \"%s\"", name);
		break;
	default:
		err = pep_nl_failed(nl, NULL);
		break;
	}
	pep_nl_close(nl);
	return err;
}

/*
 * Tell why a qdisc or filter could not be added. "Not found" with nothing
 * said by our module is about the kind of something that is not there.
 */
static enum pep_exit add_failed(const struct pep_nl *nl)
{
	bool kind = nl->error == ENOENT && !nl->field && !nl->own;

	return pep_nl_failed(nl, kind ? PEP_GENL_HINT : NULL);
}

/* Add all our filters; on failure those added before are deleted again. */
static enum pep_exit add_filters(struct pep_nl *nl, __u32 ifindex,
				 __u32 side, const char *profile)
{
	enum pep_exit result;
	unsigned int i;

	for (i = 0; i < PEP_TC_FILTERS; i++)
		if (pep_tc_filter_add(nl, ifindex, i, side, profile))
			break;
	if (i == PEP_TC_FILTERS)
		return PEP_OK;

	result = add_failed(nl);
	while (i--)
		pep_tc_filter_del(nl, ifindex, i);
	return result;
}

/* Add clsact, when it is missing, and the filters; all or nothing. */
static enum pep_exit add(struct pep_nl *nl, const struct pep_link *link,
			 __u32 side, const char *profile)
{
	struct pep_tc_found found;
	enum pep_exit result;
	int err;

	err = pep_tc_find(nl, link->ifindex, &found);
	if (err)
		return pep_nl_failed(nl, NULL);
	if (found.actions)
		return pep_err_failed("%s already has pep filters",
				      link->name);

	err = pep_tc_clsact_add(nl, link->ifindex);
	if (err && err != -EEXIST)
		return add_failed(nl);
	result = add_filters(nl, link->ifindex, side, profile);
	if (result && !err)
		pep_tc_clsact_del_unused(nl, link->ifindex);
	return result;
}

static enum pep_exit dev_add(struct pep_args *args)
{
	struct pep_args_option options[] = {
		{
			.word = "side",
			.choices = names_side,
			.n_choices = ARRAY_SIZE(names_side),
			.required = true,
		},
		{ .word = "profile", .check = pep_args_check_profile },
	};
	struct pep_link link;
	enum pep_exit err;
	const char *name;
	struct pep_nl nl;

	err = take_dev(args, &name);
	if (!err)
		err = pep_args_options(args, options, ARRAY_SIZE(options));
	if (!err)
		err = open_dev(&nl, name, &link);
	if (err)
		return err;

	err = add(&nl, &link, options[0].number, options[1].text);
	pep_nl_close(&nl);
	return err;
}

/* Take the number of flows that were ended. */
static int take_killed(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_FLOW_MAX + 1];
	__u64 *killed = data;

	pep_genl_parse(nlh, tb, PEP_A_FLOW_MAX);
	*killed = pep_nl_uint(tb[PEP_A_FLOW_KILLED]);
	return MNL_CB_OK;
}

/* End the flows that use a device. */
static enum pep_exit kill_flows(const struct pep_link *link, __u64 *killed)
{
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;

	err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, PEP_CMD_FLOW_KILL, 0);
	pep_nl_put_u32(&req, PEP_A_FLOW_IFINDEX, link->ifindex, "DEV");
	err = pep_genl_talk(&genl, &req, take_killed, killed);
	pep_genl_close(&genl);
	return err;
}

/*
 * Packets of ended flows that are still under way are answered with resets as
 * long as the device is attached: give them this long, seconds.
 */
#define LATE_PACKETS	1

/*
 * End the flows, delete our filters, and clsact when nobody else has filters
 * there.
 */
static enum pep_exit del(struct pep_nl *nl, const struct pep_link *link)
{
	struct pep_tc_found found;
	enum pep_exit err;
	__u64 killed = 0;
	unsigned int i, n = 0;

	if (pep_tc_find(nl, link->ifindex, &found))
		return pep_nl_failed(nl, NULL);
	for (i = 0; i < PEP_TC_FILTERS; i++)
		n += found.mine[i];
	if (!n)
		return pep_err_failed("%s has no pep filters", link->name);
	err = kill_flows(link, &killed);
	if (err)
		return err;
	if (killed)
		sleep(LATE_PACKETS);
	for (i = 0; i < PEP_TC_FILTERS; i++)
		if (found.mine[i] && pep_tc_filter_del(nl, link->ifindex, i))
			return pep_nl_failed(nl, NULL);
	if (pep_tc_clsact_del_unused(nl, link->ifindex))
		return pep_nl_failed(nl, NULL);
	return PEP_OK;
}

static enum pep_exit dev_del(struct pep_args *args)
{
	struct pep_link link;
	enum pep_exit err;
	const char *name;
	struct pep_nl nl;

	err = take_dev(args, &name);
	if (!err)
		err = pep_args_end(args);
	if (!err)
		err = open_dev(&nl, name, &link);
	if (err)
		return err;

	err = del(&nl, &link);
	pep_nl_close(&nl);
	return err;
}

/* Show one device, when it has our filters. */
static enum pep_exit show_one(struct pep_nl *nl, const struct pep_link *link)
{
	struct pep_tc_found found;
	const char *side;

	if (pep_tc_find(nl, link->ifindex, &found))
		return pep_nl_failed(nl, NULL);
	if (!found.actions)
		return PEP_OK;
	side = found.side < ARRAY_SIZE(names_side) ?
	       names_side[found.side] : "-";

	pep_out_open_object(NULL);
	pep_out_string("dev", "dev", link->name);
	pep_out_uint("ifindex", NULL, link->ifindex);
	pep_out_string("side", "side", side);
	pep_out_string("profile", "profile", found.profile);
	pep_out_uint("packets", "packets", found.packets);
	pep_out_uint("bytes", "bytes", found.bytes);
	pep_out_close_object();
	pep_out_newline("");
	return PEP_OK;
}

/* Show every device that has our filters. */
static enum pep_exit show_all(struct pep_nl *nl)
{
	struct pep_tc_devices devices;
	enum pep_exit result = PEP_OK;
	struct pep_link link;
	size_t i;
	int err;

	err = pep_tc_devices(nl, &devices);
	if (err)
		result = nl->error ? pep_nl_failed(nl, NULL) :
				     pep_err_failed("%s", strerror(-err));

	for (i = 0; i < devices.n && !result; i++) {
		err = pep_link_by_index(nl, devices.ifindex[i], &link);
		if (!err)
			result = show_one(nl, &link);
		else if (err != -ENODEV)
			result = pep_nl_failed(nl, NULL);
	}
	free(devices.ifindex);
	return result;
}

static enum pep_exit dev_show(struct pep_args *args)
{
	const char *name = NULL;
	struct pep_link link;
	enum pep_exit err;
	struct pep_nl nl;

	if (pep_args_left(args)) {
		err = take_dev(args, &name);
		if (!err)
			err = pep_args_end(args);
		if (!err)
			err = open_dev(&nl, name, &link);
	} else {
		err = pep_nl_open(&nl, NETLINK_ROUTE);
	}
	if (err)
		return err;

	pep_out_open_array(NULL);
	err = name ? show_one(&nl, &link) : show_all(&nl);
	if (!err)
		pep_out_close_array();
	pep_nl_close(&nl);
	return err;
}

static const struct pep_cmd_verb dev_verbs[] = {
	{ "add", dev_add },
	{ "del", dev_del },
	{ "show", dev_show },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_dev_object = {
	.name = "dev",
	.verbs = dev_verbs,
	.show = dev_show,
	.usage =
	"pepadm dev add DEV side { wireless | server } [ profile NAME ]\n"
	"pepadm dev del DEV\n"
	"pepadm dev show [ DEV ]\n",
};
