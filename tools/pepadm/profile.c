// SPDX-License-Identifier: GPL-2.0
/* pepadm profile: named sets of values that flows are split by. */
#include "cmd.h"

#include <string.h>

#include <linux/pep.h>

#include "genl.h"
#include "names-gen.h"
#include "out.h"

/* A device that server legs are bound to, in the place of one. */
#define NO_DEV "none"

/* The one value of a DSCP that is no DSCP. */
static const char * const names_dscp[] = { [PEP_DSCP_COPY] = "copy" };

/**
 * struct setting - a word of "add" and "set" and what it sets
 * @attr: its attribute
 * @option: how its value is read; a number unless it has a check
 * @key: its key in JSON
 */
struct setting {
	__u16 attr;
	struct pep_args_option option;
	const char *key;
};

#define NUMBER(_attr, _word, _key) {					\
	.attr = PEP_A_PROFILE_##_attr,					\
	.option = { .word = _word, .numeric = true },			\
	.key = _key,							\
}

#define CHOICE(_attr, _word, _key, _choices, _n, _numeric) {		\
	.attr = PEP_A_PROFILE_##_attr,					\
	.option = {							\
		.word = _word,						\
		.choices = _choices,					\
		.n_choices = _n,					\
		.numeric = _numeric,					\
	},								\
	.key = _key,							\
}

#define NAME(_attr, _word, _key) {					\
	.attr = PEP_A_PROFILE_##_attr,					\
	.option = { .word = _word, .check = pep_args_check_name },	\
	.key = _key,							\
}

/* In the order in which they are shown. */
static const struct setting settings[] = {
	NAME(CC_WIRELESS, "cc-wireless", "cc_wireless"),
	NAME(CC_SERVER, "cc-server", "cc_server"),
	CHOICE(CONNECT_MODE, "connect", "connect", names_connect_mode,
	       ARRAY_SIZE(names_connect_mode), false),
	CHOICE(MPTCP, "mptcp", "mptcp", names_mptcp_mode,
	       ARRAY_SIZE(names_mptcp_mode), false),
	CHOICE(SOURCE, "source", "source", names_source_mode,
	       ARRAY_SIZE(names_source_mode), false),
	NAME(SERVER_DEV, "server-dev", "server_dev"),
	NUMBER(MARK, "mark", "mark"),
	CHOICE(DSCP, "dscp", "dscp", names_dscp,
	       ARRAY_SIZE(names_dscp), true),
	NUMBER(KEEPALIVE_IDLE, "keepalive-idle", "keepalive_idle"),
	NUMBER(KEEPALIVE_INTERVAL, "keepalive-interval", "keepalive_interval"),
	NUMBER(KEEPALIVE_COUNT, "keepalive-count", "keepalive_count"),
	NUMBER(USER_TIMEOUT, "user-timeout", "user_timeout"),
	NUMBER(IDLE_TIMEOUT, "idle-timeout", "idle_timeout"),
};

#define N_SETTINGS ARRAY_SIZE(settings)

/* Take the name of a profile off the command line. */
static enum pep_exit take_name(struct pep_args *args, const char **name)
{
	enum pep_exit err = pep_args_name(args, "NAME", name);

	return err ? err : pep_args_check_profile("NAME", *name);
}

/* Add what was given for a setting to a request. */
static void put_setting(struct pep_nl_request *req,
			const struct setting *setting,
			const struct pep_args_option *option)
{
	const char *text = option->text;

	if (!text)
		return;
	if (setting->attr == PEP_A_PROFILE_SERVER_DEV && !strcmp(text, NO_DEV))
		text = "";
	if (option->check)
		pep_nl_put_string(req, setting->attr, text, option->word);
	else
		pep_nl_put_u32(req, setting->attr, option->number,
			       option->word);
}

/* Carry out a command about one profile; @options NULL for none. */
static enum pep_exit change(__u8 cmd, const char *name,
			    const struct pep_args_option *options)
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
	for (i = 0; options && i < N_SETTINGS; i++)
		put_setting(&req, &settings[i], &options[i]);
	err = pep_genl_talk(&genl, &req, NULL, NULL);
	pep_genl_close(&genl);
	return err;
}

/* Read the words of "add" and "set" and carry them out. */
static enum pep_exit add_or_set(struct pep_args *args, __u8 cmd)
{
	struct pep_args_option options[N_SETTINGS];
	enum pep_exit err;
	const char *name;
	size_t i;

	err = take_name(args, &name);
	if (err)
		return err;
	if (cmd == PEP_CMD_PROFILE_SET && !pep_args_left(args))
		return pep_err_usage("nothing to set, see: pepadm profile help");

	for (i = 0; i < N_SETTINGS; i++)
		options[i] = settings[i].option;
	err = pep_args_options(args, options, N_SETTINGS);
	return err ? err : change(cmd, name, options);
}

static enum pep_exit profile_add(struct pep_args *args)
{
	return add_or_set(args, PEP_CMD_PROFILE_ADD);
}

static enum pep_exit profile_set(struct pep_args *args)
{
	return add_or_set(args, PEP_CMD_PROFILE_SET);
}

static enum pep_exit profile_del(struct pep_args *args)
{
	enum pep_exit err;
	const char *name;

	err = take_name(args, &name);
	if (!err)
		err = pep_args_end(args);
	return err ? err : change(PEP_CMD_PROFILE_DEL, name, NULL);
}

/* Show a setting; a number without a word is one in JSON, too. */
static void show_setting(const struct setting *setting,
			 const struct nlattr *attr)
{
	const struct pep_args_option *option = &setting->option;
	const char *text;

	if (option->check) {
		text = pep_nl_string(attr);
		pep_out_string(setting->key, option->word,
			       *text ? text : NO_DEV);
		return;
	}
	if (pep_nl_uint(attr) < option->n_choices &&
	    option->choices[pep_nl_uint(attr)])
		pep_out_string(setting->key, option->word,
			       option->choices[pep_nl_uint(attr)]);
	else
		pep_out_uint(setting->key, option->word, pep_nl_uint(attr));
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
	for (i = 0; i < N_SETTINGS; i++)
		show_setting(&settings[i], tb[settings[i].attr]);
	pep_out_uint("devices", "devices",
		     pep_nl_uint(tb[PEP_A_PROFILE_DEVICES]));
	pep_out_uint("flows", "flows", pep_nl_uint(tb[PEP_A_PROFILE_FLOWS]));
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
	"pepadm profile set NAME OPTIONS\n"
	"pepadm profile del NAME\n"
	"pepadm profile show [ NAME ]\n"
	"OPTIONS := [ cc-wireless CC ] [ cc-server CC ] [ connect { truthful | early } ]\n"
	"           [ mptcp { bypass | split } ] [ source { client | local } ]\n"
	"           [ server-dev { DEV | none } ] [ mark N ] [ dscp { copy | N } ]\n"
	"           [ keepalive-idle SECONDS ] [ keepalive-interval SECONDS ]\n"
	"           [ keepalive-count N ] [ user-timeout MS ] [ idle-timeout SECONDS ]\n",
};
