// SPDX-License-Identifier: GPL-2.0
/* pepadm stat: the counters of the namespace, and the residence of payload. */
#include "cmd.h"

#include <string.h>

#include <linux/pep.h>

#include "action.h"
#include "gain.h"
#include "genl.h"
#include "histogram.h"
#include "metrics.h"
#include "names-gen.h"
#include "out.h"
#include "percpu.h"
#include "residence.h"

/* Show all counters that have a name. */
static int show_stat(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_STAT_MAX + 1];
	size_t i;

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_STAT_MAX);
	pep_out_open_object(NULL);
	for (i = 1; i < ARRAY_SIZE(names_stat); i++) {
		if (!*names_stat[i] || !tb[i])
			continue;
		pep_out_uint(names_stat[i], names_stat[i],
			     pep_nl_uint(tb[i]));
		pep_out_newline("");
	}
	pep_out_close_object();
	return MNL_CB_OK;
}

/* The same for Prometheus. */
static int show_metrics(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_STAT_MAX + 1];

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_STAT_MAX);
	pep_metrics_show(tb);
	return MNL_CB_OK;
}

/* The samples of the residence for Prometheus. */
static int show_residence_metrics(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_RESIDENCE_MAX + 1];

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_RESIDENCE_MAX);
	pep_histogram_residence(tb);
	return MNL_CB_OK;
}

/* The limits for Prometheus. */
static int show_limit_metrics(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_LIMIT_MAX + 1];

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_LIMIT_MAX);
	pep_metrics_show_limits(tb);
	return MNL_CB_OK;
}

/* The filters for Prometheus. */
static enum pep_exit show_filter_metrics(void)
{
	__u64 filters[PEP_ACTION_SIDES];
	enum pep_exit err;
	struct pep_nl nl;

	err = pep_nl_open(&nl, NETLINK_ROUTE);
	if (err)
		return err;
	if (pep_action_filters(&nl, filters))
		err = pep_nl_failed(&nl, NULL);
	else
		pep_metrics_show_filters(filters);
	pep_nl_close(&nl);
	return err;
}

/* The known properties of links for Prometheus. */
static int show_link_metrics(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_PATH_STAT_MAX + 1];

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_PATH_STAT_MAX);
	pep_histogram_links(tb);
	return MNL_CB_OK;
}

/* The performance of groups of connections for Prometheus. */
static enum pep_exit show_gain_metrics(void)
{
	struct pep_gain_profile *profiles;
	enum pep_exit err = pep_gain_fetch(NULL, &profiles);

	if (err)
		return err;
	pep_histogram_gain(profiles);
	pep_gain_free(profiles);
	return PEP_OK;
}

/* Show everything for Prometheus. */
static enum pep_exit show_prometheus(struct pep_args *args)
{
	enum pep_exit err;

	if (pep_out_json())
		return pep_err_usage("--prometheus: not with -j");
	err = pep_args_end(args);
	if (!err)
		err = pep_genl_ask(PEP_CMD_STAT_GET, 0, show_metrics, NULL);
	if (!err)
		err = pep_genl_ask(PEP_CMD_LIMIT_GET, 0, show_limit_metrics,
				   NULL);
	if (!err)
		err = pep_genl_ask(PEP_CMD_RESIDENCE_GET, 0,
				   show_residence_metrics, NULL);
	if (!err)
		err = pep_genl_ask(PEP_CMD_PATH_STAT_GET, 0, show_link_metrics,
				   NULL);
	if (!err)
		err = show_gain_metrics();
	return err ? err : show_filter_metrics();
}

/* Take a word off the command line if it is the next one. */
static bool take_word(struct pep_args *args, const char *word)
{
	if (!args->argc || strcmp(args->argv[0], word))
		return false;
	args->argc--;
	args->argv++;
	return true;
}

static enum pep_exit stat_show(struct pep_args *args)
{
	enum pep_exit err;
	bool percpu;

	if (take_word(args, "--prometheus"))
		return show_prometheus(args);
	percpu = take_word(args, "percpu");
	err = pep_args_end(args);
	if (err)
		return err;
	return percpu ? pep_percpu_show() :
			pep_genl_show(PEP_CMD_STAT_GET, 0, show_stat);
}

/* Show the samples of one side's legs. */
static void show_side(const char *side, const struct nlattr *attr,
		      const struct nlattr *sum)
{
	pep_out_word(side);
	pep_out_open_object(side);
	pep_residence_show(attr, sizeof(__u64), true);
	pep_out_uint("sum_ns", NULL, pep_nl_uint(sum));
	pep_out_close_object();
	pep_out_newline("");
}

static int show_residence(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_RESIDENCE_MAX + 1];

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_RESIDENCE_MAX);
	pep_out_open_object(NULL);
	show_side("wireless", tb[PEP_A_RESIDENCE_TO_WIRELESS],
		  tb[PEP_A_RESIDENCE_SUM_TO_WIRELESS]);
	show_side("server", tb[PEP_A_RESIDENCE_TO_SERVER],
		  tb[PEP_A_RESIDENCE_SUM_TO_SERVER]);
	pep_out_close_object();
	return MNL_CB_OK;
}

static enum pep_exit stat_residence(struct pep_args *args)
{
	enum pep_exit err = pep_args_end(args);

	return err ? err : pep_genl_show(PEP_CMD_RESIDENCE_GET, 0,
					 show_residence);
}

static const struct pep_cmd_verb stat_verbs[] = {
	{ "show", stat_show },
	{ "residence", stat_residence },
	{ "gain", pep_gain_show },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_stat_object = {
	.name = "stat",
	.verbs = stat_verbs,
	.show = stat_show,
	.usage =
	"pepadm stat show [ percpu | --prometheus ]\n"
	"pepadm stat residence\n"
	"pepadm stat gain [ profile NAME ]\n",
};
