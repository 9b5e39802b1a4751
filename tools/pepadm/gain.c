// SPDX-License-Identifier: GPL-2.0
/*
 * pepadm stat gain: the performance of connections that may be split, beside that
 * of the control group.
 */
#include "gain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "err.h"
#include "genl.h"
#include "names-gen.h"
#include "nl.h"
#include "out.h"
#include "percent.h"
#include "rate.h"

/* Where the first class of sizes ends, bytes. */
#define FIRST_SIZE 16384

/**
 * struct fetch - a dump that is being read
 * @first: the profiles received so far
 * @last: the profile received last, or NULL
 * @failed: memory ran out
 */
struct fetch {
	struct pep_gain_profile *first;
	struct pep_gain_profile *last;
	bool failed;
};

/**
 * pep_gain_bin_end() - find where a bin ends
 * @bin: which one, but not the last one, which has no end
 *
 * Return: its end, us.
 */
__u64 pep_gain_bin_end(unsigned int bin)
{
	return (8ULL + bin % 8) << (bin / 8) << 4;
}

/**
 * pep_gain_size_end() - find where a class of sizes ends
 * @class: which one, but not the last one, which has no end
 *
 * Each ends at four times the end of the one before.
 *
 * Return: the largest size of it, bytes.
 */
__u64 pep_gain_size_end(unsigned int class)
{
	return (__u64)FIRST_SIZE << 2 * class;
}

/* Read bins. */
static void read_bins(const struct nlattr **tb, struct pep_gain_bins *bins,
		      const struct nlattr *conns)
{
	const struct nlattr *attr = tb[PEP_A_GAIN_BINS];

	if (attr && mnl_attr_get_payload_len(attr) == sizeof(bins->count))
		memcpy(bins->count, mnl_attr_get_payload(attr),
		       sizeof(bins->count));
	bins->conns = pep_nl_uint(conns);
	bins->squares = pep_nl_uint(tb[PEP_A_GAIN_SQUARES]);
	bins->time = pep_nl_uint(tb[PEP_A_GAIN_TIME_US]);
}

/* Read a message about a group. */
static void read_group(const struct nlattr **tb, struct pep_gain_conns *group)
{
	__u64 class = pep_nl_uint(tb[PEP_A_GAIN_SIZE]);

	if (!tb[PEP_A_GAIN_SIZE]) {
		group->conns = pep_nl_uint(tb[PEP_A_GAIN_CONNECTIONS]);
		group->cut = pep_nl_uint(tb[PEP_A_GAIN_CUT]);
		group->bytes = pep_nl_uint(tb[PEP_A_GAIN_BYTES]);
		group->again = pep_nl_uint(tb[PEP_A_GAIN_BYTES_AGAIN]);
		read_bins(tb, &group->delay,
			  tb[PEP_A_GAIN_DELAY_CONNECTIONS]);
	} else if (class < PEP_GAIN_SIZES) {
		group->size[class].bytes = pep_nl_uint(tb[PEP_A_GAIN_BYTES]);
		read_bins(tb, &group->size[class],
			  tb[PEP_A_GAIN_CONNECTIONS]);
	}
}

/* Find the profile of a message: all messages of a profile follow each other. */
static struct pep_gain_profile *find_profile(struct fetch *fetch,
					     const char *name)
{
	struct pep_gain_profile *profile = fetch->last;

	if (profile && !strcmp(profile->name, name))
		return profile;
	profile = calloc(1, sizeof(*profile));
	if (!profile) {
		fetch->failed = true;
		return NULL;
	}
	snprintf(profile->name, sizeof(profile->name), "%s", name);
	if (fetch->last)
		fetch->last->next = profile;
	else
		fetch->first = profile;
	fetch->last = profile;
	return profile;
}

/* Take one message. */
static int take(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_GAIN_MAX + 1];
	struct pep_gain_profile *profile;
	__u64 group;

	pep_genl_parse(nlh, tb, PEP_A_GAIN_MAX);
	group = pep_nl_uint(tb[PEP_A_GAIN_GROUP]);
	profile = find_profile(data, pep_nl_string(tb[PEP_A_GAIN_PROFILE]));
	if (!profile || group >= PEP_GAIN_GROUPS)
		return MNL_CB_OK;
	profile->share = (__u32)pep_nl_uint(tb[PEP_A_GAIN_CONTROL]);
	profile->by = (__u32)pep_nl_uint(tb[PEP_A_GAIN_CONTROL_BY]);
	profile->since_ms = pep_nl_uint(tb[PEP_A_GAIN_SINCE_MS]);
	read_group(tb, &profile->group[group]);
	return MNL_CB_OK;
}

/**
 * pep_gain_fetch() - request the performance of the groups of profiles
 * @name: name of the only profile wanted, or NULL
 * @profiles: result, for pep_gain_free(); NULL when none has a control group
 *
 * Return: PEP_OK, or another one after a message, with nothing to free.
 */
enum pep_exit pep_gain_fetch(const char *name,
			     struct pep_gain_profile **profiles)
{
	struct fetch fetch = { .first = NULL };
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;

	err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, PEP_CMD_GAIN_GET, NLM_F_DUMP);
	if (name)
		pep_nl_put_string(&req, PEP_A_GAIN_PROFILE, name, "profile");
	err = pep_genl_talk(&genl, &req, take, &fetch);
	pep_genl_close(&genl);
	if (!err && fetch.failed)
		err = pep_err_failed("no memory");
	if (err)
		pep_gain_free(fetch.first);
	else
		*profiles = fetch.first;
	return err;
}

/**
 * pep_gain_free() - free the profiles of pep_gain_fetch()
 * @profiles: the first one, or NULL
 */
void pep_gain_free(struct pep_gain_profile *profiles)
{
	struct pep_gain_profile *next;

	for (; profiles; profiles = next) {
		next = profiles->next;
		free(profiles);
	}
}

/* Show a share of something, in text in percent. */
static void show_share(const char *key, const char *label, __u64 part,
		       __u64 all)
{
	double share = all ? (double)part / (double)all : 0;
	char text[32];

	snprintf(text, sizeof(text), "%.3g%%", 100 * share);
	pep_out_real(key, NULL, share);
	pep_out_string(NULL, label, text);
}

/* Show the counters of a group as a whole. */
static void show_group(const char *name, const struct pep_gain_conns *group)
{
	pep_out_newline("    ");
	pep_out_word("group");
	pep_out_word(name);
	pep_out_open_object(name);
	pep_out_uint("connections", "connections", group->conns);
	pep_out_uint("cut", "cut", group->cut);
	pep_out_uint("bytes", "bytes", group->bytes);
	pep_out_uint("bytes_again", NULL, group->again);
	show_share("again", "again", group->again, group->bytes);
	pep_out_close_object();
}

/* Show a number of both groups: the control group's first. */
static void show_both(const char *key, const char *label, __u64 control,
		      __u64 treated)
{
	pep_out_open_object(key);
	pep_out_uint("control", label, control);
	pep_out_uint("treated", label ? "" : NULL, treated);
	pep_out_close_object();
}

/* Compare a quantile of both groups; show nothing where a group has none. */
static void show_quantile(const char *name,
			  const struct pep_gain_bins *control,
			  const struct pep_gain_bins *treated, double quantile)
{
	struct pep_compare result;
	char text[64];

	if (!pep_compare_quantile(control, treated, quantile, &result))
		return;
	pep_out_open_object(name);
	pep_out_usec("control_us", name,
		     (__u64)result.us[PEP_GAIN_GROUP_CONTROL]);
	pep_out_usec("treated_us", "",
		     (__u64)result.us[PEP_GAIN_GROUP_TREATED]);
	if (!result.below)
		pep_out_real("gain", "gain", result.gain);
	if (result.below) {
		snprintf(text, sizeof(text), "(too short)");
	} else if (result.enough) {
		snprintf(text, sizeof(text), "(%.3g to %.3g)", result.low,
			 result.high);
		pep_out_real("low", NULL, result.low);
		pep_out_real("high", NULL, result.high);
	} else {
		snprintf(text, sizeof(text), "(too few)");
	}
	pep_out_string(NULL, "", text);
	pep_out_close_object();
}

/* Show the payload of all objects over their time, bytes per second. */
static void show_goodput(const struct pep_gain_bins *control,
			 const struct pep_gain_bins *treated)
{
	const struct pep_gain_bins *both[] = { control, treated };
	static const char * const keys[] = { "control", "treated" };
	char text[PEP_RATE_LEN];
	__u64 rate;

	pep_out_open_object("goodput");
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		if (!both[i]->time)
			continue;
		rate = (__u64)((double)both[i]->bytes * 1000000 /
			       (double)both[i]->time);
		pep_rate_brief(text, rate);
		pep_out_uint(keys[i], NULL, rate);
		pep_out_string(NULL, i ? "" : "goodput", text);
	}
	pep_out_close_object();
}

/* Show quantiles of both groups. */
static void show_bins(const struct pep_gain_bins *control,
		      const struct pep_gain_bins *treated)
{
	show_both("connections", "connections", control->conns,
		  treated->conns);
	show_both("count", pep_out_statistic("count"),
		  (__u64)pep_compare_total(control),
		  (__u64)pep_compare_total(treated));
	show_both("worth", pep_out_statistic("worth"),
		  (__u64)pep_compare_worth(control),
		  (__u64)pep_compare_worth(treated));
	show_quantile("p50", control, treated, 0.5);
	show_quantile("p95", control, treated, 0.95);
}

/* Show objects of a class of sizes, when there are any. */
static void show_size(unsigned int class, const struct pep_gain_bins *control,
		      const struct pep_gain_bins *treated)
{
	unsigned long long end = pep_gain_size_end(class);
	char text[32];

	if (!control->conns && !treated->conns)
		return;
	if (class < PEP_GAIN_SIZES - 1)
		snprintf(text, sizeof(text), "%llu", end);
	else
		snprintf(text, sizeof(text), "above");
	pep_out_newline("    ");
	pep_out_open_object(NULL);
	if (class < PEP_GAIN_SIZES - 1)
		pep_out_uint("size", NULL, end);
	pep_out_string(NULL, "size", text);
	show_bins(control, treated);
	show_goodput(control, treated);
	pep_out_close_object();
}

/* Show how both groups of a profile compare. */
static void show_profile(const struct pep_gain_profile *profile)
{
	const struct pep_gain_conns *treated, *control;
	char share[PEP_RATE_LEN];

	treated = &profile->group[PEP_GAIN_GROUP_TREATED];
	control = &profile->group[PEP_GAIN_GROUP_CONTROL];
	pep_percent_write(share, profile->share);
	pep_out_open_object(NULL);
	pep_out_string("profile", "profile", profile->name);
	pep_out_uint("control", NULL, profile->share);
	pep_out_string(NULL, "control", share);
	pep_out_string("control_by", "by",
		       profile->by < ARRAY_SIZE(names_control_by) ?
		       names_control_by[profile->by] : "?");
	pep_out_msec("since_ms", "since", profile->since_ms);
	pep_out_open_object("groups");
	show_group("control", control);
	show_group("treated", treated);
	pep_out_close_object();
	pep_out_newline("    ");
	pep_out_word("delay");
	pep_out_open_object("delay");
	show_bins(&control->delay, &treated->delay);
	pep_out_close_object();
	pep_out_open_array("sizes");
	for (unsigned int i = 0; i < PEP_GAIN_SIZES; i++)
		show_size(i, &control->size[i], &treated->size[i]);
	pep_out_close_array();
	pep_out_close_object();
	pep_out_newline("");
}

/**
 * pep_gain_show() - show how the groups of profiles' connections compare
 * @args: nothing, or "profile" and a name
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_gain_show(struct pep_args *args)
{
	struct pep_args_option option = {
		.word = "profile",
		.check = pep_args_check_profile,
	};
	struct pep_gain_profile *profiles, *profile;
	enum pep_exit err;

	err = pep_args_options(args, &option, 1);
	if (!err)
		err = pep_gain_fetch(option.text, &profiles);
	if (err)
		return err;
	pep_out_open_array(NULL);
	for (profile = profiles; profile; profile = profile->next)
		show_profile(profile);
	pep_out_close_array();
	pep_gain_free(profiles);
	return PEP_OK;
}
