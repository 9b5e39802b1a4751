// SPDX-License-Identifier: GPL-2.0
/* The settings of a profile: their words and ranges, and how they are added to a
 * request, shown and saved.
 */
#include "setting.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <linux/pep.h>

#include "names-gen.h"
#include "out.h"
#include "percent.h"
#include "rate.h"
#include "split.h"

/* The word for a value that is no DSCP. */
static const char * const names_dscp[] = { [PEP_DSCP_COPY] = "copy" };

/* The word for no size of a buffer. */
static const char * const names_buffer[] = { [0] = "auto" };

/* The word for no limit of flows. */
static const char * const names_flows[] = { [0] = "unlimited" };

/* The word for no limit of a rate. */
static const char * const names_rate[] = { [0] = "unlimited" };

/* The word for a property of a link that is measured. */
static const char * const names_link[] = { [0] = "auto" };

/* The word for no control group, whose connections are never split. */
static const char * const names_control[] = { [0] = "off" };

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
static const struct pep_setting settings[] = {
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

static_assert(ARRAY_SIZE(settings) == PEP_SETTINGS, "number of settings");

const struct pep_setting * const pep_settings = settings;

/* Is it the setting with two attributes, triggers and their bytes? */
static bool is_split(const struct pep_setting *setting)
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

/**
 * pep_setting_put() - add a setting to a request
 * @req: request
 * @setting: setting
 * @option: its value as given, checked; nothing is added where none is
 */
void pep_setting_put(struct pep_nl_request *req,
		     const struct pep_setting *setting,
		     const struct pep_args_option *option)
{
	const char *text = option->text;

	if (!text)
		return;
	if (setting->attr == PEP_A_PROFILE_SERVER_DEV && !strcmp(text, PEP_SETTING_NO_DEV))
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

/* The word for a setting's value, NULL for a mere number. */
static const char *value_word(const struct pep_setting *setting,
			      const struct nlattr *attr)
{
	const struct pep_args_option *option = &setting->option;
	const char *text;

	if (option->check) {
		text = pep_nl_string(attr);
		return *text ? text : PEP_SETTING_NO_DEV;
	}
	return pep_nl_uint(attr) < option->n_choices ?
	       option->choices[pep_nl_uint(attr)] : NULL;
}

/* Write a number that has no word in the form of the command line. */
static void number_text(char *text, const struct pep_setting *setting,
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
static void show_split(const struct pep_setting *setting,
		       const struct nlattr * const *tb)
{
	const struct pep_split split = get_split(tb);
	const char *label = setting->option.word;

	if (pep_split_usual(&split))
		label = pep_out_detail(label);
	pep_split_show(label, &split);
}

/* Show a setting of one attribute; a number without a word is one in JSON, too. */
static void show_value(const struct pep_setting *setting,
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

/**
 * pep_setting_show() - show a setting
 * @setting: setting
 * @tb: attributes of a profile by number
 */
void pep_setting_show(const struct pep_setting *setting,
		      const struct nlattr * const *tb)
{
	if (is_split(setting))
		show_split(setting, tb);
	else
		show_value(setting, tb[setting->attr]);
}

/**
 * pep_setting_save() - write a setting after others in a configuration
 * @file: open file
 * @setting: setting
 * @tb: attributes of a profile by number
 */
void pep_setting_save(FILE *file, const struct pep_setting *setting,
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
