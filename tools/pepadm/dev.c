// SPDX-License-Identifier: GPL-2.0
/* pepadm dev: the devices whose traffic is split. */
#include "dev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "detach.h"
#include "genl.h"
#include "link.h"
#include "lock.h"
#include "names-gen.h"
#include "out.h"
#include "tc.h"

/* Names of our filters. */
static const char * const protocols[PEP_TC_FILTERS] = { "ip", "ipv6" };

/* An action on a device that has our filters; FILE is the caller's. */
typedef void dev_fn(const struct pep_link *link,
		    const struct pep_tc_found *found, FILE *file);

/* Take DEV off the command line, without looking for it yet. */
static enum pep_exit take_dev(struct pep_args *args, const char **name)
{
	return pep_args_name(args, "DEV", name);
}

/*
 * Report why a qdisc or filter could not be added. "Not found" without a
 * message of our module means that the kernel lacks the kind of qdisc, filter
 * or action.
 */
static enum pep_exit add_failed(const struct pep_nl *nl)
{
	bool kind = nl->error == ENOENT && !nl->field && !nl->own;

	return pep_nl_failed(nl, kind ? PEP_GENL_HINT : NULL);
}

/* Is there at least one of our filters? */
static bool has_filters(const struct pep_tc_found *found)
{
	return found->mine[0] || found->mine[1];
}

/* Add or change one of our filters; one that is already as wanted stays. */
static int put_filter(struct pep_nl *nl, __u32 ifindex, unsigned int which,
		      const struct pep_tc_found *found, __u32 side,
		      const char *profile)
{
	if (!found->mine[which])
		return pep_tc_filter_add(nl, ifindex, which, side, profile);
	if (found->sides[which] == side &&
	    !strcmp(found->profiles[which], profile))
		return 0;
	return pep_tc_action_set(nl, found->index[which], side, profile);
}

/* Restore one of our filters. */
static void restore_filter(struct pep_nl *nl, __u32 ifindex,
			   unsigned int which,
			   const struct pep_tc_found *found)
{
	if (found->mine[which])
		pep_tc_action_set(nl, found->index[which], found->sides[which],
				  found->profiles[which]);
	else
		pep_tc_filter_del(nl, ifindex, which,
				  pep_tc_preference(which));
}

/* Add or change our filters, all or none; @found are the present ones. */
static enum pep_exit put_filters(struct pep_nl *nl, __u32 ifindex,
				 const struct pep_tc_found *found, __u32 side,
				 const char *profile)
{
	enum pep_exit result;
	unsigned int i;

	for (i = 0; i < PEP_TC_FILTERS; i++)
		if (put_filter(nl, ifindex, i, found, side, profile))
			break;
	if (i == PEP_TC_FILTERS)
		return PEP_OK;

	result = found->mine[i] ? pep_nl_failed(nl, NULL) : add_failed(nl);
	while (i--)
		restore_filter(nl, ifindex, i, found);
	return result;
}

/* Add clsact, when it is missing, and the filters; all or nothing. */
static enum pep_exit add(struct pep_nl *nl, const struct pep_link *link,
			 const struct pep_tc_found *found,
			 const struct pep_dev_conf *conf)
{
	enum pep_exit result;
	int err;

	if (found->actions)
		return pep_err_failed("%s already has pep filters",
				      link->name);

	err = pep_tc_clsact_add(nl, link->ifindex);
	if (err && err != -EEXIST)
		return add_failed(nl);
	result = put_filters(nl, link->ifindex, found, conf->side,
			     conf->profile);
	if (result && !err)
		pep_tc_clsact_del_unused(nl, link->ifindex);
	return result;
}

/**
 * pep_dev_check() - read the words that attach a device
 * @args: the words, name first
 * @line: they are a line of a configuration, whose device may be optional
 * @conf: result
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_dev_check(struct pep_args *args, bool line,
			    struct pep_dev_conf *conf)
{
	static const char * const names_optional[] = { "off", "on" };
	struct pep_args_option options[] = {
		{
			.word = "side",
			.choices = names_side,
			.n_choices = ARRAY_SIZE(names_side),
			.required = true,
		},
		{ .word = "profile", .check = pep_args_check_profile },
		{
			.word = "optional",
			.choices = names_optional,
			.n_choices = ARRAY_SIZE(names_optional),
		},
	};
	enum pep_exit err;

	err = take_dev(args, &conf->name);
	if (!err)
		err = pep_args_check_name("DEV", conf->name);
	if (!err)
		err = pep_args_options(args, options,
				       ARRAY_SIZE(options) - !line);
	if (err)
		return err;
	conf->side = options[0].number;
	conf->profile = options[1].text ? options[1].text : PEP_PROFILE_DEFAULT;
	conf->optional = line && options[2].number;
	return PEP_OK;
}

/* Attach a device, which with @replace may be attached already. */
static enum pep_exit attach(const struct pep_dev_conf *conf, bool replace)
{
	struct pep_tc_found found;
	struct pep_link link;
	enum pep_exit err;
	struct pep_nl nl;

	err = pep_link_open(&nl, conf->name, &link);
	if (err)
		return err;
	if (pep_tc_find(&nl, link.ifindex, &found))
		err = pep_nl_failed(&nl, NULL);
	else if (replace && has_filters(&found))
		err = put_filters(&nl, link.ifindex, &found, conf->side,
				  conf->profile);
	else
		err = add(&nl, &link, &found, conf);
	pep_nl_close(&nl);
	return err;
}

static enum pep_exit dev_add(struct pep_args *args)
{
	struct pep_dev_conf conf;
	enum pep_exit err = pep_dev_check(args, false, &conf);
	int lock;

	if (err)
		return err;
	lock = pep_lock_take();
	err = attach(&conf, false);
	pep_lock_release(lock);
	return err;
}

/**
 * pep_dev_replace() - attach a device, or correct its filters
 * @conf: its configuration
 *
 * A device that is attached like this stays as it is; a filter that is missing
 * or differs is corrected in place. Existing flows stay.
 *
 * Return: PEP_OK, or another one after a message, with nothing changed.
 */
enum pep_exit pep_dev_replace(const struct pep_dev_conf *conf)
{
	return attach(conf, true);
}

/* Change the actions of the present filters, all or none. */
static enum pep_exit set(struct pep_nl *nl, const struct pep_link *link,
			 const char *profile)
{
	struct pep_tc_found found;
	enum pep_exit result;
	unsigned int i;

	if (pep_tc_find(nl, link->ifindex, &found))
		return pep_nl_failed(nl, NULL);
	if (!has_filters(&found))
		return pep_err_failed("%s has no pep filters", link->name);
	for (i = 0; i < PEP_TC_FILTERS; i++)
		if (found.mine[i] &&
		    pep_tc_action_set(nl, found.index[i], found.sides[i],
				      profile))
			break;
	if (i == PEP_TC_FILTERS)
		return PEP_OK;
	result = pep_nl_failed(nl, NULL);
	while (i--)
		if (found.mine[i])
			restore_filter(nl, link->ifindex, i, &found);
	return result;
}

static enum pep_exit dev_set(struct pep_args *args)
{
	struct pep_args_option options[] = {
		{
			.word = "profile",
			.check = pep_args_check_profile,
			.required = true,
		},
	};
	struct pep_link link;
	enum pep_exit err;
	const char *name;
	struct pep_nl nl;
	int lock;

	err = take_dev(args, &name);
	if (!err)
		err = pep_args_options(args, options, ARRAY_SIZE(options));
	if (!err)
		err = pep_link_open(&nl, name, &link);
	if (err)
		return err;
	lock = pep_lock_take();
	err = set(&nl, &link, options[0].text);
	pep_lock_release(lock);
	pep_nl_close(&nl);
	return err;
}

/* Is a device attached? */
static enum pep_exit check_attached(const char *name)
{
	struct pep_tc_found found;
	struct pep_link link;
	enum pep_exit err;
	struct pep_nl nl;

	err = pep_link_open(&nl, name, &link);
	if (err)
		return err;
	if (pep_tc_find(&nl, link.ifindex, &found))
		err = pep_nl_failed(&nl, NULL);
	else if (!has_filters(&found))
		err = pep_err_failed("%s has no pep filters", link.name);
	pep_nl_close(&nl);
	return err;
}

static enum pep_exit dev_del(struct pep_args *args)
{
	enum pep_exit err;
	const char *name;
	int lock;

	err = take_dev(args, &name);
	if (!err)
		err = pep_args_end(args);
	if (err)
		return err;
	/* A filter that is added meanwhile would go with the clsact. */
	lock = pep_lock_take();
	err = check_attached(name);
	if (!err)
		err = pep_detach(&name, 1);
	pep_lock_release(lock);
	return err;
}

/* Show the filters that pepadm has made, each on a line of its own. */
static void show_filters(const struct pep_tc_found *found)
{
	const char *statistic = pep_out_statistic("filter");
	const char *label = statistic ? statistic : pep_out_detail("filter");
	unsigned int i;

	pep_out_open_array("filters");
	for (i = 0; i < PEP_TC_FILTERS; i++) {
		if (!found->mine[i])
			continue;
		if (label)
			pep_out_newline("    ");
		pep_out_open_object(NULL);
		pep_out_string("protocol", label, protocols[i]);
		pep_out_uint("pref", pep_out_detail("pref"),
			     found->preference[i]);
		pep_out_uint("action", pep_out_detail("action"),
			     found->index[i]);
		pep_out_uint("packets", pep_out_statistic("packets"),
			     found->each[i].packets);
		pep_out_uint("bytes", pep_out_statistic("bytes"),
			     found->each[i].bytes);
		pep_out_close_object();
	}
	pep_out_close_array();
}

/* Show one device. */
static void show_one(const struct pep_link *link,
		     const struct pep_tc_found *found, FILE *file)
{
	const char *side = found->side < ARRAY_SIZE(names_side) ?
			   names_side[found->side] : "-";

	(void)file;
	pep_out_open_object(NULL);
	pep_out_string("dev", "dev", link->name);
	pep_out_uint("ifindex", pep_out_detail("ifindex"), link->ifindex);
	pep_out_string("side", "side", side);
	pep_out_string("profile", "profile", found->profile);
	pep_out_uint("packets", "packets", found->all.packets);
	pep_out_uint("bytes", "bytes", found->all.bytes);
	show_filters(found);
	pep_out_close_object();
	pep_out_newline("");
}

/*
 * Write one device as a line of a configuration, unless only others' filters
 * have our action there, or its name would begin a comment.
 */
static void write_one(const struct pep_link *link,
		      const struct pep_tc_found *found, FILE *file)
{
	if (has_filters(found) && found->side < ARRAY_SIZE(names_side) &&
	    *link->name != '#')
		fprintf(file, "dev %s side %s profile %s\n", link->name,
			names_side[found->side], found->profile);
}

/* The same, with warnings for all that has no such line. */
static void save_one(const struct pep_link *link,
		     const struct pep_tc_found *found, FILE *file)
{
	if (has_filters(found) && *link->name == '#')
		pep_err_warning("%s has no line, as its name would begin a comment",
				link->name);
	else if (has_filters(found) && !(found->mine[0] && found->mine[1]))
		pep_err_warning("%s has a filter for %s only, its line says both",
				link->name, protocols[found->mine[1]]);
	else if (found->sides[0] != found->sides[1] ||
		 strcmp(found->profiles[0], found->profiles[1]))
		pep_err_warning("%s has filters for ip and ipv6 that differ, its line says one for both",
				link->name);
	write_one(link, found, file);
}

/* Do something with one device, when it has our filters. */
static enum pep_exit with_one(struct pep_nl *nl, const struct pep_link *link,
			      dev_fn *fn, FILE *file)
{
	struct pep_tc_found found;

	if (pep_tc_find(nl, link->ifindex, &found))
		return pep_nl_failed(nl, NULL);
	if (found.actions)
		fn(link, &found, file);
	return PEP_OK;
}

/* Do something with every device that has our filters. */
static enum pep_exit with_all(struct pep_nl *nl, dev_fn *fn, FILE *file)
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
			result = with_one(nl, &link, fn, file);
		else if (err != -ENODEV)
			result = pep_nl_failed(nl, NULL);
	}
	free(devices.ifindex);
	return result;
}

/**
 * pep_dev_save() - write all devices as lines of a configuration
 * @file: open file
 * @tell: warn about all that has no line
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_dev_save(FILE *file, bool tell)
{
	enum pep_exit err;
	struct pep_nl nl;

	err = pep_nl_open(&nl, NETLINK_ROUTE);
	if (err)
		return err;
	err = with_all(&nl, tell ? save_one : write_one, file);
	pep_nl_close(&nl);
	return err;
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
			err = pep_link_open(&nl, name, &link);
	} else {
		err = pep_nl_open(&nl, NETLINK_ROUTE);
	}
	if (err)
		return err;

	pep_out_open_array(NULL);
	err = name ? with_one(&nl, &link, show_one, NULL) :
		     with_all(&nl, show_one, NULL);
	if (!err)
		pep_out_close_array();
	pep_nl_close(&nl);
	return err;
}

static const struct pep_cmd_verb dev_verbs[] = {
	{ "add", dev_add },
	{ "set", dev_set },
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
	"pepadm dev set DEV profile NAME\n"
	"pepadm dev del DEV\n"
	"pepadm dev show [ DEV ]\n",
};
