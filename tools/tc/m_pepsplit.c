// SPDX-License-Identifier: GPL-2.0
/* m_pepsplit.so: makes iproute2's tc read and print the action "pepsplit". */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/pep.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_pepsplit.h>

#include "iproute2.h"
#include "names-gen.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/**
 * struct wanted - an action on the command line
 * @fixed: index, 0 for any, and control
 * @side: "side", enum pep_side as a word, or NULL
 * @side_number: the same as a number
 * @profile: "profile", or NULL
 * @control: word of the control, or NULL
 */
struct wanted {
	struct tc_pepsplit fixed;
	const char *side;
	__u32 side_number;
	const char *profile;
	const char *control;
};

static void usage(void)
{
	fprintf(stderr,
		"Usage: ... pepsplit side SIDE [ profile NAME ] [ index INDEX ] [ CONTROL ]\n"
		"       ... pepsplit index INDEX\n"
		"Where: SIDE    := { wireless | server }, where the packets come from\n"
		"       NAME    := profile of pepadm, 1 to 15 characters; \"default\" by default\n"
		"       INDEX   := number of the action, 1 to 4294967295; alone: one that is there\n"
		"       CONTROL := { continue | pass | drop | pipe | reclassify | trap |\n"
		"                    goto chain CHAIN | jump N }, of packets that are not taken;\n"
		"                  continue by default\n");
	exit(-1);
}

/* Go to the value of the current word; there may be only one. */
static char *value(int *argc, char ***argv, bool given)
{
	const char *key = **argv;

	++*argv;
	if (--*argc <= 0)
		incomplete_command();
	if (given)
		duparg(key, **argv);
	return **argv;
}

/* Read a side. */
static __u32 side_number(const char *word)
{
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(names_side); i++)
		if (!strcmp(word, names_side[i]))
			return i;
	invarg("side is wireless or server", word);
}

/* Read an option with its value; false: the word is none. */
static bool parse_option(struct wanted *wanted, int *argc, char ***argv)
{
	const char *key = **argv;
	char *word;

	if (!strcmp(key, "side")) {
		wanted->side = value(argc, argv, wanted->side);
		wanted->side_number = side_number(wanted->side);
	} else if (!strcmp(key, "profile")) {
		word = value(argc, argv, wanted->profile);
		if (!*word || strlen(word) >= PEP_NAME_LEN)
			invarg("profile has 1 to 15 characters", word);
		wanted->profile = word;
	} else if (!strcmp(key, "index")) {
		word = value(argc, argv, wanted->fixed.index);
		if (get_u32(&wanted->fixed.index, word, 10) ||
		    !wanted->fixed.index)
			invarg("index is a number from 1 to 4294967295", word);
	} else {
		return false;
	}
	++*argv;
	--*argc;
	return true;
}

/* Read all words of this action. Return 0, or -1 after a message. */
static int parse_words(struct wanted *wanted, int *argc, char ***argv)
{
	while (*argc > 0) {
		if (!strcmp(**argv, "help"))
			usage();
		if (parse_option(wanted, argc, argv))
			continue;
		if (action_a2n(**argv, NULL, false))
			break;
		if (wanted->control)
			duparg("CONTROL", **argv);
		wanted->control = **argv;
		if (parse_action_control(argc, argv, &wanted->fixed.action,
					 false))
			return -1;
	}
	if (!wanted->side && !wanted->fixed.index)
		missarg("side");
	return 0;
}

static int parse_pepsplit(struct action_util *util, int *argc, char ***argv,
			  int code, struct nlmsghdr *request)
{
	struct wanted wanted = { .fixed.action = TC_ACT_UNSPEC };
	struct rtattr *options;

	(void)util;
	++*argv;
	--*argc;
	if (parse_words(&wanted, argc, argv))
		return -1;

	options = addattr_nest(request, TC_REQUEST_MAX, code);
	addattr_l(request, TC_REQUEST_MAX, TCA_PEPSPLIT_PARMS, &wanted.fixed,
		  sizeof(wanted.fixed));
	if (wanted.side)
		addattr_l(request, TC_REQUEST_MAX, TCA_PEPSPLIT_SIDE,
			  &wanted.side_number, sizeof(wanted.side_number));
	if (wanted.profile)
		addattr_l(request, TC_REQUEST_MAX, TCA_PEPSPLIT_PROFILE,
			  wanted.profile, (int)strlen(wanted.profile) + 1);
	addattr_nest_end(request, options);
	return 0;
}

static void print_string(const char *key, const char *format, const char *text)
{
	print_color_string(PRINT_ANY, COLOR_NONE, key, format, text);
}

static void print_uint(const char *key, const char *format, unsigned int number)
{
	print_color_uint(PRINT_ANY, COLOR_NONE, key, format, number);
}

/* Copy an attribute of fixed size, which need not be aligned. */
static bool copy(const struct rtattr *attr, void *to, size_t size)
{
	if (!attr || RTA_PAYLOAD(attr) < size)
		return false;
	memcpy(to, RTA_DATA(attr), size);
	return true;
}

static void print_side(const struct rtattr *attr)
{
	__u32 side;

	if (!copy(attr, &side, sizeof(side)))
		return;
	if (side < ARRAY_SIZE(names_side))
		print_string("side", " side %s", names_side[side]);
	else
		print_uint("side", " side %u", side);
}

static void print_profile(const struct rtattr *attr)
{
	char name[PEP_NAME_LEN];

	if (!attr)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)RTA_PAYLOAD(attr),
		 (const char *)RTA_DATA(attr));
	print_string("profile", " profile %s", name);
}

/* Print the control, as it can be typed, with the keys that tc gives it. */
static void print_control(int control)
{
	static const char * const names[] = {
		[TC_ACT_OK] = "pass",
		[TC_ACT_RECLASSIFY] = "reclassify",
		[TC_ACT_SHOT] = "drop",
		[TC_ACT_PIPE] = "pipe",
		[TC_ACT_STOLEN] = "stolen",
		[TC_ACT_QUEUED] = "queued",
		[TC_ACT_REPEAT] = "repeat",
		[TC_ACT_REDIRECT] = "redirect",
		[TC_ACT_TRAP] = "trap",
	};
	unsigned int number = control & TC_ACT_EXT_VAL_MASK;

	open_json_object("control_action");
	if (TC_ACT_EXT_CMP(control, TC_ACT_GOTO_CHAIN)) {
		print_string("type", " %s", "goto");
		print_uint("chain", " chain %u", number);
	} else if (TC_ACT_EXT_CMP(control, TC_ACT_JUMP)) {
		print_string("type", " %s", "jump");
		print_uint("jump", " %u", number);
	} else if (control == TC_ACT_UNSPEC) {
		print_string("type", " %s", "continue");
	} else if (control >= 0 && control < (int)ARRAY_SIZE(names)) {
		print_string("type", " %s", names[control]);
	} else {
		print_uint("type", " %u", (unsigned int)control);
	}
	close_json_object();
}

/* Print how long ago the action was installed and used. */
static void print_times(const struct rtattr *attr)
{
	long hz = sysconf(_SC_CLK_TCK);
	struct tcf_t times;

	if (!copy(attr, &times, sizeof(times)) || hz <= 0)
		return;
	if (times.install)
		print_uint("installed", " installed %u sec",
			   times.install / hz);
	if (times.lastuse)
		print_uint("last_used", " used %u sec", times.lastuse / hz);
	if (times.firstuse)
		print_uint("first_used", " firstused %u sec",
			   times.firstuse / hz);
	if (times.expires)
		print_uint("expires", " expires %u sec", times.expires / hz);
}

static int print_pepsplit(struct action_util *util, FILE *file,
			  struct rtattr *options)
{
	struct rtattr *attrs[TCA_PEPSPLIT_MAX + 1];
	struct tc_pepsplit fixed;

	(void)file;
	print_string("kind", "%s", util->id);
	if (!options)
		return 0;
	parse_rtattr_flags(attrs, TCA_PEPSPLIT_MAX, RTA_DATA(options),
			   (int)RTA_PAYLOAD(options), NLA_F_NESTED);
	if (!copy(attrs[TCA_PEPSPLIT_PARMS], &fixed, sizeof(fixed))) {
		fprintf(stderr, "pepsplit: the fixed part is missing\n");
		return -1;
	}
	print_side(attrs[TCA_PEPSPLIT_SIDE]);
	print_profile(attrs[TCA_PEPSPLIT_PROFILE]);
	print_control(fixed.action);
	print_nl();
	print_uint("index", "\t index %u", fixed.index);
	print_uint("ref", " ref %u", (unsigned int)fixed.refcnt);
	print_uint("bind", " bind %u", (unsigned int)fixed.bindcnt);
	if (show_stats)
		print_times(attrs[TCA_PEPSPLIT_TM]);
	print_nl();
	return 0;
}

/*
 * Is struct action_util of this tc the one that we use? A member added before
 * the end would have moved a function to where gact has none.
 */
static bool known_tc(void)
{
	return !strcmp(gact_action_util.id, "gact") &&
	       gact_action_util.parse_aopt && gact_action_util.print_aopt &&
	       !gact_action_util.print_xstats;
}

typedef void symbol_fn(void);

/*
 * Give the symbol below, which tc looks up by its name, an address
 * (STT_GNU_IFUNC): with none, tc goes on as if there were no plugin.
 */
static symbol_fn *find(void)
{
	static struct action_util util = {
		.id = TCA_PEPSPLIT_KIND,
		.parse_aopt = parse_pepsplit,
		.print_aopt = print_pepsplit,
	};
	static bool told;

	if (known_tc())
		return (symbol_fn *)&util;
	if (!told)
		fprintf(stderr,
			"m_pepsplit.so: unknown version of tc, which has to do without\n");
	told = true;
	return NULL;
}

symbol_fn pepsplit_action_util __attribute__((ifunc("find"),
					      visibility("default")));
