// SPDX-License-Identifier: GPL-2.0
/* pepadm profile: named sets of values that flows are split by. */
#include "profile.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <linux/pep.h>

#include "cmd.h"
#include "genl.h"
#include "names-gen.h"
#include "out.h"
#include "percent.h"
#include "rate.h"
#include "split.h"

/* Behind the options of "set": for live flows, too. */
#define LIVE "live"

/* A device that server legs are bound to, in the place of one. */
#define NO_DEV "none"

/* The one value of a DSCP that is no DSCP. */
static const char * const names_dscp[] = { [PEP_DSCP_COPY] = "copy" };

/* The one size of a buffer that is none of its own. */
static const char * const names_buffer[] = { [0] = "auto" };

/* The limit of flows that is none. */
static const char * const names_flows[] = { [0] = "unlimited" };

/* The rate that is none. */
static const char * const names_rate[] = { [0] = "unlimited" };

/* The property of a link that it shows by itself. */
static const char * const names_link[] = { [0] = "auto" };

/* The share of connections that are never split when none is. */
static const char * const names_control[] = { [0] = "off" };

/**
 * struct setting - a word of "add" and "set" and what it sets
 * @attr: its attribute
 * @option: how its value is read; a number unless it has a check, which
 *	triggers and names have
 * @key: its key in JSON
 * @rare: text has it with details only while its value is @usual, or empty
 * @usual: value that most profiles have
 */
struct setting {
	__u16 attr;
	struct pep_args_option option;
	const char *key;
	bool rare;
	__u32 usual;
};

#define NUMBER(_attr, _word, _key, _max, ...) {				\
	.attr = PEP_A_PROFILE_##_attr,					\
	.option = { .word = _word, .numeric = true, .max = _max },	\
	.key = _key,							\
	__VA_ARGS__							\
}

#define CHOICE(_attr, _word, _key, _choices, _n, ...) {			\
	.attr = PEP_A_PROFILE_##_attr,					\
	.option = {							\
		.word = _word,						\
		.choices = _choices,					\
		.n_choices = _n,					\
	},								\
	.key = _key,							\
	__VA_ARGS__							\
}

#define CHOICE_OR_NUMBER(_attr, _word, _key, _choices, _n, _min, _max,	\
			 _usual, ...) {					\
	.attr = PEP_A_PROFILE_##_attr,					\
	.option = {							\
		.word = _word,						\
		.choices = _choices,					\
		.n_choices = _n,					\
		.numeric = true,					\
		.min = _min,						\
		.max = _max,						\
	},								\
	.key = _key,							\
	RARE(_usual),							\
	__VA_ARGS__							\
}

#define BUFFER(_attr, _word, _key)					\
	CHOICE_OR_NUMBER(_attr, _word, _key, names_buffer,		\
			 ARRAY_SIZE(names_buffer), PEP_BUFFER_MIN,	\
			 PEP_BUFFER_MAX, 0)

#define RATE(_attr, _word, _key, _choices, _n) {			\
	.attr = PEP_A_PROFILE_##_attr,					\
	.option = {							\
		.word = _word,						\
		.choices = _choices,					\
		.n_choices = _n,					\
		.numeric = true,					\
		.rate = true,						\
		.min = PEP_RATE_MIN,					\
		.max = PEP_RATE_MAX,					\
	},								\
	.key = _key,							\
	RARE(0),							\
}

#define NAME(_attr, _word, _key, ...) {					\
	.attr = PEP_A_PROFILE_##_attr,					\
	.option = { .word = _word, .check = pep_args_check_name },	\
	.key = _key,							\
	__VA_ARGS__							\
}

#define RARE(_usual) .rare = true, .usual = (_usual)

/* In the order in which they are shown. */
static const struct setting settings[] = {
	NAME(CC_WIRELESS, "cc-wireless", "cc_wireless"),
	NAME(CC_SERVER, "cc-server", "cc_server"),
	CHOICE(CONNECT_MODE, "connect", "connect", names_connect_mode,
	       ARRAY_SIZE(names_connect_mode), .option.gone = "truthful",
	       .option.instead = "follow"),
	{
		.attr = PEP_A_PROFILE_SPLIT_TRIGGER,
		.option = { .word = "split", .check = pep_split_check },
		.rare = true,
	},
	CHOICE(MPTCP, "mptcp", "mptcp", names_mptcp_mode,
	       ARRAY_SIZE(names_mptcp_mode), RARE(PEP_MPTCP_MODE_BYPASS)),
	CHOICE(SOURCE, "source", "source", names_source_mode,
	       ARRAY_SIZE(names_source_mode), RARE(PEP_SOURCE_MODE_CLIENT)),
	NAME(SERVER_DEV, "server-dev", "server_dev", RARE(0)),
	NUMBER(MARK, "mark", "mark", UINT32_MAX, RARE(0)),
	CHOICE_OR_NUMBER(DSCP, "dscp", "dscp", names_dscp,
			 ARRAY_SIZE(names_dscp), 0, PEP_DSCP_COPY - 1,
			 PEP_DSCP_COPY),
	NUMBER(KEEPALIVE_IDLE, "keepalive-idle", "keepalive_idle",
	       PEP_KEEPALIVE_TIME_MAX, RARE(0)),
	NUMBER(KEEPALIVE_INTERVAL, "keepalive-interval", "keepalive_interval",
	       PEP_KEEPALIVE_TIME_MAX, RARE(0)),
	NUMBER(KEEPALIVE_COUNT, "keepalive-count", "keepalive_count",
	       PEP_KEEPALIVE_COUNT_MAX, RARE(0)),
	NUMBER(USER_TIMEOUT, "user-timeout", "user_timeout",
	       PEP_USER_TIMEOUT_MAX, RARE(0)),
	NUMBER(IDLE_TIMEOUT, "idle-timeout", "idle_timeout",
	       PEP_IDLE_TIMEOUT_MAX, RARE(0)),
	NUMBER(RELEASE_IDLE, "release-idle", "release_idle",
	       PEP_RELEASE_IDLE_MAX, RARE(PEP_RELEASE_IDLE_DEFAULT)),
	NUMBER(RESIDENCE, "residence", "residence", PEP_RESIDENCE_MAX),
	NUMBER(INITIAL_WINDOW, "initial-window", "initial_window",
	       PEP_INITIAL_WINDOW_MAX, RARE(0)),
	CHOICE(RESUME, "resume", "resume", names_resume_mode,
	       ARRAY_SIZE(names_resume_mode), RARE(PEP_RESUME_MODE_ON)),
	NUMBER(RESUME_MAX, "resume-max", "resume_max", PEP_RESUME_MAX_MAX,
	       .option.min = PEP_RESUME_MAX_MIN, RARE(PEP_RESUME_MAX_DEFAULT)),
	RATE(LINK_RATE, "link-rate", "link_rate", names_link,
	     ARRAY_SIZE(names_link)),
	CHOICE_OR_NUMBER(LINK_RTT, "link-rtt", "link_rtt", names_link,
			 ARRAY_SIZE(names_link), 1, PEP_LINK_RTT_MAX, 0),
	BUFFER(WIRELESS_SNDBUF, "wireless-sndbuf", "wireless_sndbuf"),
	BUFFER(WIRELESS_RCVBUF, "wireless-rcvbuf", "wireless_rcvbuf"),
	BUFFER(SERVER_SNDBUF, "server-sndbuf", "server_sndbuf"),
	BUFFER(SERVER_RCVBUF, "server-rcvbuf", "server_rcvbuf"),
	RATE(WIRELESS_MAX_RATE, "wireless-max-rate", "wireless_max_rate",
	     names_rate, ARRAY_SIZE(names_rate)),
	RATE(SERVER_MAX_RATE, "server-max-rate", "server_max_rate",
	     names_rate, ARRAY_SIZE(names_rate)),
	CHOICE_OR_NUMBER(CONTROL, "control", "control", names_control,
			 ARRAY_SIZE(names_control), 1, PEP_CONTROL_MAX, 0,
			 .option.percent = true),
	CHOICE(CONTROL_BY, "control-by", "control_by", names_control_by,
	       ARRAY_SIZE(names_control_by), RARE(PEP_CONTROL_BY_CONNECTION)),
	CHOICE_OR_NUMBER(MAX_FLOWS, "max-flows", "max_flows", names_flows,
			 ARRAY_SIZE(names_flows), 1, PEP_FLOWS_MAX, 0),
};

#define N_SETTINGS ARRAY_SIZE(settings)

/* A request has the name, the bytes of a split and the word "live" besides. */
static_assert(N_SETTINGS + 3 <= PEP_NL_FIELDS, "fields of a request");

/* Take the name of a profile off the command line. */
static enum pep_exit take_name(struct pep_args *args, const char **name)
{
	enum pep_exit err = pep_args_name(args, "NAME", name);

	return err ? err : pep_args_check_profile("NAME", *name);
}

/* Is it the one that has two attributes, triggers and their bytes? */
static bool is_split(const struct setting *setting)
{
	return setting->attr == PEP_A_PROFILE_SPLIT_TRIGGER;
}

/* Add triggers that were checked to a request, bytes where one needs them. */
static void put_split(struct pep_nl_request *req,
		      const struct pep_args_option *option)
{
	struct pep_split split;

	if (pep_split_read(option->word, option->text, &split))
		return;
	pep_nl_put_u32(req, PEP_A_PROFILE_SPLIT_TRIGGER, split.trigger,
		       option->word);
	if (split.trigger & PEP_SPLIT_TRIGGER_BYTES)
		pep_nl_put_u32(req, PEP_A_PROFILE_SPLIT_BYTES, split.bytes,
			       option->word);
}

/* The triggers in an answer. */
static struct pep_split get_split(const struct nlattr * const *tb)
{
	return (struct pep_split) {
		.trigger = (__u32)pep_nl_uint(tb[PEP_A_PROFILE_SPLIT_TRIGGER]),
		.bytes = (__u32)pep_nl_uint(tb[PEP_A_PROFILE_SPLIT_BYTES]),
	};
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
	if (is_split(setting))
		put_split(req, option);
	else if (option->check)
		pep_nl_put_string(req, setting->attr, text, option->word);
	else if (option->rate)
		pep_nl_put(req, setting->attr, &option->number,
			   sizeof(option->number), option->word);
	else
		pep_nl_put_u32(req, setting->attr, (__u32)option->number,
			       option->word);
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
	for (i = 0; options && i < N_SETTINGS; i++)
		put_setting(&req, &settings[i], &options[i]);
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

	for (i = 0; i < N_SETTINGS; i++)
		options[i] = settings[i].option;
	return err ? err : pep_args_options(args, options, N_SETTINGS);
}

static enum pep_exit profile_add(struct pep_args *args)
{
	struct pep_args_option options[N_SETTINGS];
	const char *name;
	enum pep_exit err;

	err = read_words(args, &name, options);
	return err ? err : change(PEP_CMD_PROFILE_ADD, name, options,
				    false);
}

/* What was given for a setting; NULL for nothing. */
static const struct pep_args_option *
find_given(const struct pep_args_option *options, __u16 attr)
{
	for (size_t i = 0; i < N_SETTINGS; i++)
		if (settings[i].attr == attr && options[i].text)
			return &options[i];
	return NULL;
}

/* Check what options say together; what is not given is as by default. */
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
 * @name: where the name goes
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_profile_check(struct pep_args *args, const char **name)
{
	struct pep_args_option options[N_SETTINGS];
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
		    strcmp(args->argv[i + 1], NO_DEV))
			return args->argv[i + 1];
	return NULL;
}

/**
 * pep_profile_replace() - make a profile what some words say
 * @args: the words, name first; what they do not set takes its default
 *
 * A profile that is like this already stays as it is.
 *
 * Return: PEP_OK, or another one after a message, with nothing changed.
 */
enum pep_exit pep_profile_replace(struct pep_args *args)
{
	struct pep_args_option options[N_SETTINGS];
	const char *name;
	enum pep_exit err;

	err = read_words(args, &name, options);
	return err ? err : change(PEP_CMD_PROFILE_REPLACE, name, options,
				    false);
}

/* Take a last word that belongs to no pair behind the name. */
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
	struct pep_args_option options[N_SETTINGS];
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

/* The word that stands for a setting's value, NULL for a mere number. */
static const char *value_word(const struct setting *setting,
			      const struct nlattr *attr)
{
	const struct pep_args_option *option = &setting->option;
	const char *text;

	if (option->check) {
		text = pep_nl_string(attr);
		return *text ? text : NO_DEV;
	}
	return pep_nl_uint(attr) < option->n_choices ?
	       option->choices[pep_nl_uint(attr)] : NULL;
}

/* Write a number that has no word as the command line takes it. */
static void number_text(char *text, const struct setting *setting,
			const struct nlattr *attr)
{
	if (setting->option.rate)
		pep_rate_write(text, pep_nl_uint(attr));
	else if (setting->option.percent)
		pep_percent_write(text, pep_nl_uint(attr));
	else
		snprintf(text, PEP_RATE_LEN, "%llu",
			 (unsigned long long)pep_nl_uint(attr));
}

/* Show the triggers of a split. */
static void show_split(const struct setting *setting,
		       const struct nlattr * const *tb)
{
	const struct pep_split split = get_split(tb);
	const char *label = setting->option.word;

	if (pep_split_usual(&split))
		label = pep_out_detail(label);
	pep_split_show(label, &split);
}

/* Show a setting; a number without a word is one in JSON, too. */
static void show_setting(const struct setting *setting,
			 const struct nlattr *attr)
{
	const char *word = value_word(setting, attr);
	const char *label = setting->option.word;
	bool usual = setting->option.check ? !*pep_nl_string(attr) :
		     pep_nl_uint(attr) == setting->usual;
	char text[PEP_RATE_LEN];

	if (setting->rare && usual)
		label = pep_out_detail(label);
	if (word) {
		pep_out_string(setting->key, label, word);
		return;
	}
	number_text(text, setting, attr);
	pep_out_uint(setting->key, NULL, pep_nl_uint(attr));
	pep_out_string(NULL, label, text);
}

/* Write a setting behind others in a configuration. */
static void save_setting(FILE *file, const struct setting *setting,
			 const struct nlattr * const *tb)
{
	const struct nlattr *attr = tb[setting->attr];
	const struct pep_split split = get_split(tb);
	char triggers[PEP_SPLIT_LEN];
	char number[PEP_RATE_LEN];
	const char *text;

	if (is_split(setting)) {
		pep_split_write(triggers, &split);
		text = triggers;
	} else {
		text = value_word(setting, attr);
	}
	if (!text) {
		number_text(number, setting, attr);
		text = number;
	}
	fprintf(file, " %s %s", setting->option.word, text);
}

/* Write one profile as a line of a configuration. */
static int save_profile(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_PROFILE_MAX + 1];
	FILE *file = data;
	size_t i;

	pep_genl_parse(nlh, tb, PEP_A_PROFILE_MAX);
	fprintf(file, "profile %s", pep_nl_string(tb[PEP_A_PROFILE_NAME]));
	for (i = 0; i < N_SETTINGS; i++)
		save_setting(file, &settings[i], tb);
	putc('\n', file);
	return MNL_CB_OK;
}

/**
 * pep_profile_save() - write all profiles as lines of a configuration
 * @file: where to
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
	for (i = 0; i < N_SETTINGS; i++) {
		if (is_split(&settings[i]))
			show_split(&settings[i], tb);
		else
			show_setting(&settings[i], tb[settings[i].attr]);
	}
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
	"OPTIONS := [ cc-wireless CC ] [ cc-server CC ]\n"
	"           [ connect { follow | early } ] [ split TRIGGERS ]\n"
	"           [ mptcp { bypass | split } ] [ source { client | local } ]\n"
	"           [ server-dev { DEV | none } ] [ mark N ] [ dscp { copy | N } ]\n"
	"           [ keepalive-idle SECONDS ] [ keepalive-interval SECONDS ]\n"
	"           [ keepalive-count N ] [ user-timeout MS ] [ idle-timeout SECONDS ]\n"
	"           [ release-idle SECONDS ] [ residence MS ] [ initial-window N ]\n"
	"           [ resume { on | off } ] [ resume-max BYTES ]\n"
	"           [ link-rate { auto | RATE } ] [ link-rtt { auto | MS } ]\n"
	"           [ control { off | PERCENT% } ]\n"
	"           [ control-by { connection | subscriber } ]\n"
	"           [ wireless-sndbuf { auto | BYTES } ] [ wireless-rcvbuf { auto | BYTES } ]\n"
	"           [ server-sndbuf { auto | BYTES } ] [ server-rcvbuf { auto | BYTES } ]\n"
	"           [ wireless-max-rate { unlimited | RATE } ]\n"
	"           [ server-max-rate { unlimited | RATE } ] [ max-flows { unlimited | N } ]\n"
	"TRIGGERS := { handshake | never | TRIGGER[,TRIGGER] }\n"
	"TRIGGER := { loss | BYTES }, BYTES of a trigger maybe with k or m behind them\n"
	"RATE := NUMBER, in bit/s, or with bit or bps (bytes/s) behind it, and k, m, g, t\n"
	"        or ki, mi, gi, ti before that\n",
};
