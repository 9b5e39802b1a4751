// SPDX-License-Identifier: GPL-2.0
/* pepadm limit and drain: limits of split connections, whether any are split, and
 * the addresses that make a subscriber.
 */
#include "limit.h"

#include <stdio.h>
#include <string.h>

#include <linux/pep.h>

#include "cmd.h"
#include "genl.h"
#include "out.h"
#include "release.h"
#include "share.h"

/**
 * struct limit - a limit
 * @word: its word
 * @key: its key in JSON
 * @attr: its attribute
 * @min: its least value
 * @max: its largest value
 */
struct limit {
	const char *word;
	const char *key;
	__u16 attr;
	__u32 min;
	__u32 max;
};

static const struct limit limits[] = {
	{ "flows", "flows", PEP_A_LIMIT_FLOWS, 1, 16777216 },
	{ "pending", "pending", PEP_A_LIMIT_PENDING, 1, 1048576 },
	{ "connections", "connections", PEP_A_LIMIT_CONNECTIONS, 1, INT32_MAX },
	{ "prefix4", "prefix4", PEP_A_LIMIT_PREFIX4, 8, 32 },
	{ "prefix6", "prefix6", PEP_A_LIMIT_PREFIX6, 16, 128 },
	{ "subscriber-connections", "subscriber_connections",
	  PEP_A_LIMIT_SUBSCRIBER_CONNECTIONS, 1, 16777216 },
	{ "subscriber-flows", "subscriber_flows",
	  PEP_A_LIMIT_SUBSCRIBER_FLOWS, 1, 16777216 },
	{ "subscriber-rate", "subscriber_rate", PEP_A_LIMIT_SUBSCRIBER_RATE, 1,
	  1000000 },
	{ "subscriber-memory", "subscriber_memory",
	  PEP_A_LIMIT_SUBSCRIBER_MEMORY, 65536, UINT32_MAX },
};

#define N_LIMITS ARRAY_SIZE(limits)

/**
 * struct change - limits that are to be changed
 * @given: which of @values are set, by number in the table
 * @values: their values
 * @drain: whether to drain, or -1
 */
struct change {
	bool given[N_LIMITS];
	__u32 values[N_LIMITS];
	int drain;
};

/* Carry out a change of limits. */
static enum pep_exit change(__u8 cmd, const struct change *change)
{
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;
	size_t i;

	err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, cmd, 0);
	for (i = 0; i < N_LIMITS; i++)
		if (change->given[i])
			pep_nl_put_u32(&req, limits[i].attr, change->values[i],
				       limits[i].word);
	if (change->drain >= 0)
		pep_nl_put_u32(&req, PEP_A_LIMIT_DRAIN, (__u32)change->drain,
			       "drain");
	err = pep_genl_talk(&genl, &req, NULL, NULL);
	pep_genl_close(&genl);
	return err;
}

/* Read limits. */
static enum pep_exit read_words(struct pep_args *args, struct change *change)
{
	struct pep_args_option options[N_LIMITS] = { 0 };
	enum pep_exit err;
	size_t i;

	for (i = 0; i < N_LIMITS; i++) {
		options[i].word = limits[i].word;
		options[i].numeric = true;
		options[i].min = limits[i].min;
		options[i].max = limits[i].max;
	}
	err = pep_args_options(args, options, N_LIMITS);
	*change = (struct change){ .drain = -1 };
	for (i = 0; i < N_LIMITS && !err; i++) {
		change->given[i] = options[i].text;
		change->values[i] = (__u32)options[i].number;
	}
	return err;
}

/* No limit is given: name all words. */
static enum pep_exit refuse_nothing(void)
{
	char words[256] = "";
	size_t i;

	for (i = 0; i < N_LIMITS; i++) {
		if (i)
			strcat(words, ", ");
		strcat(words, limits[i].word);
	}
	return pep_err_usage("nothing to set, one of: %s", words);
}

static enum pep_exit limit_set(struct pep_args *args)
{
	struct change set;
	enum pep_exit err;

	if (!pep_args_left(args))
		return refuse_nothing();
	err = read_words(args, &set);
	return err ? err : change(PEP_CMD_LIMIT_SET, &set);
}

/**
 * pep_limit_check() - read the words that make the limits
 * @args: the words
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_limit_check(struct pep_args *args)
{
	struct change ignored;

	return read_words(args, &ignored);
}

/**
 * pep_limit_replace() - replace the limits with those of some words
 * @args: the words; a limit that they do not set takes its default
 *
 * Return: PEP_OK, or another one after a message, with nothing changed.
 */
enum pep_exit pep_limit_replace(struct pep_args *args)
{
	struct change all;
	enum pep_exit err = read_words(args, &all);

	return err ? err : change(PEP_CMD_LIMIT_REPLACE, &all);
}

/* Write the limits as a line of a configuration. */
static int save_limits(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_LIMIT_MAX + 1];
	size_t i;

	pep_genl_parse(nlh, tb, PEP_A_LIMIT_MAX);
	fputs("limit", data);
	for (i = 0; i < N_LIMITS; i++)
		fprintf(data, " %s %u", limits[i].word,
			(__u32)pep_nl_uint(tb[limits[i].attr]));
	fputc('\n', data);
	return MNL_CB_OK;
}

/**
 * pep_limit_save() - write the limits as a line of a configuration
 * @file: open file
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_limit_save(FILE *file)
{
	return pep_genl_ask(PEP_CMD_LIMIT_GET, 0, save_limits, file);
}

/* Show the limits and whether the namespace is being drained. */
static int show_limits(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_LIMIT_MAX + 1];
	char label[sizeof("limit subscriber-connections")];
	size_t i;

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_LIMIT_MAX);
	pep_out_open_object(NULL);
	for (i = 0; i < N_LIMITS; i++) {
		snprintf(label, sizeof(label), "%s%s", i ? "" : "limit ",
			 limits[i].word);
		pep_out_uint(limits[i].key, label,
			     pep_nl_uint(tb[limits[i].attr]));
	}
	pep_out_string("drain", "drain",
		       pep_nl_uint(tb[PEP_A_LIMIT_DRAIN]) ? "on" : "off");
	pep_out_close_object();
	pep_out_newline("");
	return MNL_CB_OK;
}

/* Take the shares of a subscriber, for pep_share_top(). */
static int take_shares(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_LIMIT_MAX + 1];
	struct pep_share_limits *shares = data;

	pep_genl_parse(nlh, tb, PEP_A_LIMIT_MAX);
	shares->connections =
		pep_nl_uint(tb[PEP_A_LIMIT_SUBSCRIBER_CONNECTIONS]);
	shares->flows = pep_nl_uint(tb[PEP_A_LIMIT_SUBSCRIBER_FLOWS]);
	shares->memory = pep_nl_uint(tb[PEP_A_LIMIT_SUBSCRIBER_MEMORY]);
	return MNL_CB_OK;
}

static enum pep_exit limit_show(struct pep_args *args)
{
	struct pep_share_limits shares;
	enum pep_exit err;

	if (pep_args_left(args) && !strcmp(args->argv[0], "top")) {
		err = pep_genl_ask(PEP_CMD_LIMIT_GET, 0, take_shares, &shares);
		return err ? err : pep_share_top(args, &shares);
	}
	err = pep_args_end(args);
	return err ? err : pep_genl_show(PEP_CMD_LIMIT_GET, 0, show_limits);
}

/* Begin or end passing all new connections unsplit. */
static enum pep_exit set_drain(struct pep_args *args, __u32 on)
{
	struct change set = { .drain = (int)on };
	enum pep_exit err = pep_args_end(args);

	return err ? err : change(PEP_CMD_LIMIT_SET, &set);
}

static enum pep_exit drain_on(struct pep_args *args)
{
	return set_drain(args, 1);
}

static enum pep_exit drain_off(struct pep_args *args)
{
	return set_drain(args, 0);
}

/* Take the number of flows that are handed back. */
static int take_released(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_FLOW_MAX + 1];

	pep_genl_parse(nlh, tb, PEP_A_FLOW_MAX);
	*(__u64 *)data = pep_nl_uint(tb[PEP_A_FLOW_RELEASED]);
	return MNL_CB_OK;
}

/* Request once that all connections be handed back. */
static enum pep_exit ask_release(void *data, __u64 *n)
{
	static const __u64 any_age;
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;

	(void)data;
	err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, PEP_CMD_FLOW_RELEASE, 0);
	pep_nl_put(&req, PEP_A_FLOW_OLDER_MS, &any_age, sizeof(any_age), "all");
	err = pep_genl_talk(&genl, &req, take_released, n);
	pep_genl_close(&genl);
	return err;
}

static enum pep_exit drain_release(struct pep_args *args)
{
	enum pep_exit err = set_drain(args, 1);

	return err ? err : pep_release(ask_release, NULL);
}

static const struct pep_cmd_verb limit_verbs[] = {
	{ "set", limit_set },
	{ "show", limit_show },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_limit_object = {
	.name = "limit",
	.verbs = limit_verbs,
	.show = limit_show,
	.usage =
	"pepadm limit set [ flows NUMBER ] [ pending NUMBER ] [ connections NUMBER ]\n"
	"                 [ prefix4 BITS ] [ prefix6 BITS ]\n"
	"                 [ subscriber-connections NUMBER ]\n"
	"                 [ subscriber-flows NUMBER ] [ subscriber-rate NUMBER ]\n"
	"                 [ subscriber-memory BYTES ]\n"
	"pepadm limit show [ top [ NUMBER ] ]\n",
};

static const struct pep_cmd_verb drain_verbs[] = {
	{ "on", drain_on },
	{ "off", drain_off },
	{ "release", drain_release },
	{ "show", limit_show },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_drain_object = {
	.name = "drain",
	.verbs = drain_verbs,
	.show = limit_show,
	.usage =
	"pepadm drain { on | off | release }\n"
	"pepadm drain show\n",
};
