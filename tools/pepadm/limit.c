// SPDX-License-Identifier: GPL-2.0
/* pepadm limit and drain: how much may be split, whether at all, and which addresses
 * make a subscriber.
 */
#include "limit.h"

#include <linux/pep.h>

#include "cmd.h"
#include "genl.h"
#include "out.h"
#include "release.h"

/**
 * enum - the options of "limit set", in the order of their table
 * @FLOWS: flows that there may be
 * @PENDING: flows that may be being opened
 * @PREFIX4: bits of an IPv4 address that make a subscriber
 * @PREFIX6: bits of an IPv6 address that do
 * @N_OPTIONS: how many there are
 */
enum {
	FLOWS,
	PENDING,
	PREFIX4,
	PREFIX6,
	N_OPTIONS,
};

/* What can be set, by number of the attribute. */
#define N_VALUES (PEP_A_LIMIT_PREFIX6 + 1)

/* Nothing is given. */
static void clear_values(__u32 *values)
{
	size_t i;

	for (i = 0; i < N_VALUES; i++)
		values[i] = UINT32_MAX;
}

/* Carry out a change of limits, attributes by number. */
static enum pep_exit change(__u8 cmd, const __u32 *values)
{
	static const char * const words[] = {
		[PEP_A_LIMIT_FLOWS] = "flows",
		[PEP_A_LIMIT_PENDING] = "pending",
		[PEP_A_LIMIT_DRAIN] = "drain",
		[PEP_A_LIMIT_PREFIX4] = "prefix4",
		[PEP_A_LIMIT_PREFIX6] = "prefix6",
	};
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;
	__u16 attr;

	err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, cmd, 0);
	for (attr = 1; attr < N_VALUES; attr++)
		if (values[attr] != UINT32_MAX)
			pep_nl_put_u32(&req, attr, values[attr], words[attr]);
	err = pep_genl_talk(&genl, &req, NULL, NULL);
	pep_genl_close(&genl);
	return err;
}

/* Read limits; those that are not given become UINT32_MAX. */
static enum pep_exit read_words(struct pep_args *args, __u32 *values)
{
	static const __u16 attrs[] = {
		[FLOWS] = PEP_A_LIMIT_FLOWS,
		[PENDING] = PEP_A_LIMIT_PENDING,
		[PREFIX4] = PEP_A_LIMIT_PREFIX4,
		[PREFIX6] = PEP_A_LIMIT_PREFIX6,
	};
	struct pep_args_option options[N_OPTIONS] = {
		[FLOWS] = {
			.word = "flows",
			.numeric = true,
			.min = 1,
			.max = 16777216,
		},
		[PENDING] = {
			.word = "pending",
			.numeric = true,
			.min = 1,
			.max = 1048576,
		},
		[PREFIX4] = {
			.word = "prefix4",
			.numeric = true,
			.min = 8,
			.max = 32,
		},
		[PREFIX6] = {
			.word = "prefix6",
			.numeric = true,
			.min = 16,
			.max = 128,
		},
	};
	enum pep_exit err;
	size_t i;

	err = pep_args_options(args, options, N_OPTIONS);
	clear_values(values);
	for (i = 0; i < N_OPTIONS && !err; i++)
		if (options[i].text)
			values[attrs[i]] = (__u32)options[i].number;
	return err;
}

static enum pep_exit limit_set(struct pep_args *args)
{
	__u32 values[N_VALUES];
	enum pep_exit err;

	if (!pep_args_left(args))
		return pep_err_usage("nothing to set, one of: flows, pending, prefix4, prefix6");
	err = read_words(args, values);
	return err ? err : change(PEP_CMD_LIMIT_SET, values);
}

/**
 * pep_limit_check() - read the words that make the limits
 * @args: the words
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_limit_check(struct pep_args *args)
{
	__u32 values[N_VALUES];

	return read_words(args, values);
}

/**
 * pep_limit_replace() - make the limits what some words say
 * @args: the words; a limit that they do not set takes its default
 *
 * Return: PEP_OK, or another one after a message, with nothing changed.
 */
enum pep_exit pep_limit_replace(struct pep_args *args)
{
	__u32 values[N_VALUES];
	enum pep_exit err = read_words(args, values);

	return err ? err : change(PEP_CMD_LIMIT_REPLACE, values);
}

/* Write the limits as a line of a configuration. */
static int save_limits(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_LIMIT_MAX + 1];

	pep_genl_parse(nlh, tb, PEP_A_LIMIT_MAX);
	fprintf(data, "limit flows %u pending %u prefix4 %u prefix6 %u\n",
		(__u32)pep_nl_uint(tb[PEP_A_LIMIT_FLOWS]),
		(__u32)pep_nl_uint(tb[PEP_A_LIMIT_PENDING]),
		(__u32)pep_nl_uint(tb[PEP_A_LIMIT_PREFIX4]),
		(__u32)pep_nl_uint(tb[PEP_A_LIMIT_PREFIX6]));
	return MNL_CB_OK;
}

/**
 * pep_limit_save() - write the limits as a line of a configuration
 * @file: where to
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

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_LIMIT_MAX);
	pep_out_open_object(NULL);
	pep_out_uint("flows", "limit flows",
		     pep_nl_uint(tb[PEP_A_LIMIT_FLOWS]));
	pep_out_uint("pending", "pending",
		     pep_nl_uint(tb[PEP_A_LIMIT_PENDING]));
	pep_out_string("drain", "drain",
		       pep_nl_uint(tb[PEP_A_LIMIT_DRAIN]) ? "on" : "off");
	pep_out_uint("prefix4", "prefix4",
		     pep_nl_uint(tb[PEP_A_LIMIT_PREFIX4]));
	pep_out_uint("prefix6", "prefix6",
		     pep_nl_uint(tb[PEP_A_LIMIT_PREFIX6]));
	pep_out_close_object();
	pep_out_newline("");
	return MNL_CB_OK;
}

static enum pep_exit limit_show(struct pep_args *args)
{
	enum pep_exit err = pep_args_end(args);

	return err ? err : pep_genl_show(PEP_CMD_LIMIT_GET, 0, show_limits);
}

/* Begin or end to let all new connections pass unsplit. */
static enum pep_exit set_drain(struct pep_args *args, __u32 on)
{
	enum pep_exit err = pep_args_end(args);
	__u32 values[N_VALUES];

	clear_values(values);
	values[PEP_A_LIMIT_DRAIN] = on;
	return err ? err : change(PEP_CMD_LIMIT_SET, values);
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

/* Ask once for all connections to be handed back. */
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
	"pepadm limit set [ flows NUMBER ] [ pending NUMBER ] [ prefix4 BITS ]\n"
	"                 [ prefix6 BITS ]\n"
	"pepadm limit show\n",
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
