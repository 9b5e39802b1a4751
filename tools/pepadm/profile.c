// SPDX-License-Identifier: GPL-2.0
/* pepadm profile: named sets of values that flows are split by. */
#include "profile.h"

#include <assert.h>
#include <string.h>

#include <linux/pep.h>

#include "cmd.h"
#include "genl.h"
#include "out.h"
#include "setting.h"

/* After the options of "set": change live flows, too. */
#define LIVE "live"

/* A request has the name, the bytes of a split and the word "live" besides. */
static_assert(PEP_SETTINGS + 3 <= PEP_NL_FIELDS, "fields of a request");

/* Take the name of a profile off the command line. */
static enum pep_exit take_name(struct pep_args *args, const char **name)
{
	enum pep_exit err = pep_args_name(args, "NAME", name);

	return err ? err : pep_args_check_profile("NAME", *name);
}

/* Carry out a command about one profile; @options NULL for none. */
static enum pep_exit change(__u8 cmd, const char *name,
			    const struct pep_args_option *options, bool live)
{
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;
	size_t i;

	err = pep_genl_open(&genl);
	if (err)
		return err;

	pep_genl_request(&genl, &req, cmd, 0);
	pep_nl_put_string(&req, PEP_A_PROFILE_NAME, name, "NAME");
	for (i = 0; options && i < PEP_SETTINGS; i++)
		pep_setting_put(&req, &pep_settings[i], &options[i]);
	if (live)
		pep_nl_put(&req, PEP_A_PROFILE_LIVE, NULL, 0, LIVE);
	err = pep_genl_talk(&genl, &req, NULL, NULL);
	pep_genl_close(&genl);
	return err;
}

/* Read a name and the options that follow it. */
static enum pep_exit read_words(struct pep_args *args, const char **name,
				struct pep_args_option *options)
{
	enum pep_exit err = take_name(args, name);
	size_t i;

	for (i = 0; i < PEP_SETTINGS; i++)
		options[i] = pep_settings[i].option;
	return err ? err : pep_args_options(args, options, PEP_SETTINGS);
}

static enum pep_exit profile_add(struct pep_args *args)
{
	struct pep_args_option options[PEP_SETTINGS];
	const char *name;
	enum pep_exit err;

	err = read_words(args, &name, options);
	return err ? err : change(PEP_CMD_PROFILE_ADD, name, options,
				    false);
}

/* The option that is given for a setting; NULL for none. */
static const struct pep_args_option *
find_given(const struct pep_args_option *options, __u16 attr)
{
	for (size_t i = 0; i < PEP_SETTINGS; i++)
		if (pep_settings[i].attr == attr && options[i].text)
			return &options[i];
	return NULL;
}

/* Check the combination of options; those not given have their defaults. */
static enum pep_exit check_together(const struct pep_args_option *options)
{
	const struct pep_args_option *source, *mode, *rate, *rtt;

	source = find_given(options, PEP_A_PROFILE_SOURCE);
	mode = find_given(options, PEP_A_PROFILE_CONNECT_MODE);
	if (source && source->number == PEP_SOURCE_MODE_LOCAL &&
	    !(mode && mode->number == PEP_CONNECT_MODE_EARLY))
		return pep_err_usage("source: local needs connect early");
	rate = find_given(options, PEP_A_PROFILE_LINK_RATE);
	rtt = find_given(options, PEP_A_PROFILE_LINK_RTT);
	if (rtt && rtt->number && !(rate && rate->number))
		return pep_err_usage("link-rtt: needs link-rate");
	return PEP_OK;
}

/**
 * pep_profile_check() - read the words that make a profile
 * @args: the words, name first
 * @name: result, the name
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_profile_check(struct pep_args *args, const char **name)
{
	struct pep_args_option options[PEP_SETTINGS];
	enum pep_exit err = read_words(args, name, options);

	return err ? err : check_together(options);
}

/**
 * pep_profile_server_dev() - find the device that a profile names
 * @args: the words of a profile, checked, name first
 *
 * Return: its name, NULL when there is none.
 */
const char *pep_profile_server_dev(const struct pep_args *args)
{
	for (int i = 1; i + 1 < args->argc; i += 2)
		if (!strcmp(args->argv[i], "server-dev") &&
		    strcmp(args->argv[i + 1], PEP_SETTING_NO_DEV))
			return args->argv[i + 1];
	return NULL;
}

/**
 * pep_profile_replace() - replace the settings of a profile
 * @args: the words, name first; settings without words take their defaults
 *
 * A profile that is like this already stays as it is.
 *
 * Return: PEP_OK, or another one after a message, with nothing changed.
 */
enum pep_exit pep_profile_replace(struct pep_args *args)
{
	struct pep_args_option options[PEP_SETTINGS];
	const char *name;
	enum pep_exit err;

	err = read_words(args, &name, options);
	return err ? err : change(PEP_CMD_PROFILE_REPLACE, name, options,
				    false);
}

/* Take a last word that belongs to no pair after the name. */
static bool take_live(struct pep_args *args)
{
	if (args->argc < 2 || args->argc % 2 ||
	    strcmp(args->argv[args->argc - 1], LIVE))
		return false;
	args->argc--;
	return true;
}

static enum pep_exit profile_set(struct pep_args *args)
{
	struct pep_args_option options[PEP_SETTINGS];
	bool live = take_live(args);
	const char *name;
	enum pep_exit err;

	if (args->argc == 1)
		return pep_err_usage("nothing to set, see: pepadm profile help");
	err = read_words(args, &name, options);
	return err ? err : change(PEP_CMD_PROFILE_SET, name, options, live);
}

/**
 * pep_profile_del() - delete a profile
 * @name: its name
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_profile_del(const char *name)
{
	return change(PEP_CMD_PROFILE_DEL, name, NULL, false);
}

static enum pep_exit profile_del(struct pep_args *args)
{
	enum pep_exit err;
	const char *name;

	err = take_name(args, &name);
	if (!err)
		err = pep_args_end(args);
	return err ? err : pep_profile_del(name);
}

/* Write one profile as a line of a configuration. */
static int save_profile(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_PROFILE_MAX + 1];
	FILE *file = data;
	size_t i;

	pep_genl_parse(nlh, tb, PEP_A_PROFILE_MAX);
	fprintf(file, "profile %s", pep_nl_string(tb[PEP_A_PROFILE_NAME]));
	for (i = 0; i < PEP_SETTINGS; i++)
		pep_setting_save(file, &pep_settings[i], tb);
	putc('\n', file);
	return MNL_CB_OK;
}

/**
 * pep_profile_save() - write all profiles as lines of a configuration
 * @file: open file
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_profile_save(FILE *file)
{
	return pep_genl_ask(PEP_CMD_PROFILE_GET, NLM_F_DUMP, save_profile, file);
}

/* Show one profile. */
static int show_profile(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_PROFILE_MAX + 1];
	size_t i;

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_PROFILE_MAX);
	pep_out_open_object(NULL);
	pep_out_string("name", "profile",
		       pep_nl_string(tb[PEP_A_PROFILE_NAME]));
	for (i = 0; i < PEP_SETTINGS; i++)
		pep_setting_show(&pep_settings[i], tb);
	pep_out_uint("devices", pep_out_statistic("devices"),
		     pep_nl_uint(tb[PEP_A_PROFILE_DEVICES]));
	pep_out_uint("flows", pep_out_statistic("flows"),
		     pep_nl_uint(tb[PEP_A_PROFILE_FLOWS]));
	pep_out_close_object();
	pep_out_newline("");
	return MNL_CB_OK;
}

static enum pep_exit profile_show(struct pep_args *args)
{
	struct pep_nl_request req;
	const char *name = NULL;
	struct pep_genl genl;
	enum pep_exit err;

	if (pep_args_left(args)) {
		err = take_name(args, &name);
		if (!err)
			err = pep_args_end(args);
		if (err)
			return err;
	}
	err = pep_genl_open(&genl);
	if (err)
		return err;

	pep_genl_request(&genl, &req, PEP_CMD_PROFILE_GET,
			 name ? 0 : NLM_F_DUMP);
	if (name)
		pep_nl_put_string(&req, PEP_A_PROFILE_NAME, name, "NAME");
	pep_out_open_array(NULL);
	err = pep_genl_talk(&genl, &req, show_profile, NULL);
	if (!err)
		pep_out_close_array();
	pep_genl_close(&genl);
	return err;
}

static const struct pep_cmd_verb profile_verbs[] = {
	{ "add", profile_add },
	{ "set", profile_set },
	{ "replace", pep_profile_replace },
	{ "del", profile_del },
	{ "show", profile_show },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_profile_object = {
	.name = "profile",
	.verbs = profile_verbs,
	.show = profile_show,
	.usage =
	"pepadm profile add NAME [ OPTIONS ]\n"
	"pepadm profile set NAME OPTIONS [ live ]\n"
	"pepadm profile replace NAME [ OPTIONS ]\n"
	"pepadm profile del NAME\n"
	"pepadm profile show [ NAME ]\n"
	PEP_SETTINGS_USAGE
	"TRIGGERS := { handshake | never | TRIGGER[,TRIGGER] }\n"
	"TRIGGER := { loss | BYTES }, BYTES of a trigger maybe with k or m behind them\n"
	"RATE := NUMBER, in bit/s, or with bit or bps (bytes/s) behind it, and k, m, g, t\n"
	"        or ki, mi, gi, ti before that\n",
};
