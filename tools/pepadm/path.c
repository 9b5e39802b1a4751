// SPDX-License-Identifier: GPL-2.0
/* pepadm path: the known properties of the links of subscribers. */
#include <linux/pep.h>

#include "cmd.h"
#include "filter.h"
#include "genl.h"
#include "out.h"
#include "rate.h"
#include "subscriber.h"

/* Show the subscriber of a link: an address or a network. */
static void show_subscriber(const struct nlattr **tb)
{
	char text[PEP_SUBSCRIBER_LEN];

	pep_subscriber_text(tb[PEP_A_PATH_SUBSCRIBER_ADDR],
			    tb[PEP_A_PATH_SUBSCRIBER_PREFIX], text);
	pep_out_string("subscriber", "subscriber", text);
}

/* Show a rate that was measured. */
static void show_rate(__u64 rate)
{
	char text[PEP_RATE_LEN];

	pep_rate_brief(text, rate);
	pep_out_uint("rate", NULL, rate);
	pep_out_string(NULL, "rate", text);
}

/* Show one subscriber. */
static int show_path(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_PATH_MAX + 1];

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_PATH_MAX);
	pep_out_open_object(NULL);
	show_subscriber(tb);
	if (tb[PEP_A_PATH_RATE])
		show_rate(pep_nl_uint(tb[PEP_A_PATH_RATE]));
	if (tb[PEP_A_PATH_RTT_US])
		pep_out_usec("rtt_us", "rtt",
			     pep_nl_uint(tb[PEP_A_PATH_RTT_US]));
	pep_out_msec("idle_ms", "idle", pep_nl_uint(tb[PEP_A_PATH_IDLE_MS]));
	pep_out_uint("legs", "legs", pep_nl_uint(tb[PEP_A_PATH_LEGS]));
	pep_out_uint("in_flight", "in-flight",
		     pep_nl_uint(tb[PEP_A_PATH_IN_FLIGHT]));
	pep_out_uint("flows", pep_out_statistic("flows"),
		     pep_nl_uint(tb[PEP_A_PATH_FLOWS]));
	pep_out_uint("segs", pep_out_statistic("segs"),
		     pep_nl_uint(tb[PEP_A_PATH_SEGS]));
	pep_out_uint("segs_again", pep_out_statistic("again"),
		     pep_nl_uint(tb[PEP_A_PATH_SEGS_AGAIN]));
	pep_out_uint("connections", pep_out_statistic("connections"),
		     pep_nl_uint(tb[PEP_A_PATH_CONNECTIONS]));
	pep_out_uint("split", pep_out_statistic("split"),
		     pep_nl_uint(tb[PEP_A_PATH_SPLIT]));
	pep_out_uint("memory", pep_out_statistic("memory"),
		     pep_nl_uint(tb[PEP_A_PATH_MEMORY]));
	pep_out_uint("refused", pep_out_statistic("refused"),
		     pep_nl_uint(tb[PEP_A_PATH_REFUSED]));
	pep_out_close_object();
	pep_out_newline("");
	return MNL_CB_OK;
}

static enum pep_exit path_show(struct pep_args *args)
{
	struct pep_filter filter;
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;

	err = pep_filter_take_paths(args, &filter);
	if (!err)
		err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, PEP_CMD_PATH_GET, NLM_F_DUMP);
	pep_filter_put(&req, &filter);
	pep_out_open_array(NULL);
	err = pep_genl_talk(&genl, &req, show_path, NULL);
	if (!err)
		pep_out_close_array();
	pep_genl_close(&genl);
	return err;
}

/* Show how many subscribers were forgotten. */
static int show_flushed(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_PATH_MAX + 1];

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_PATH_MAX);
	pep_out_open_object(NULL);
	pep_out_uint("flushed", "flushed",
		     pep_nl_uint(tb[PEP_A_PATH_FLUSHED]));
	pep_out_close_object();
	pep_out_newline("");
	return MNL_CB_OK;
}

static enum pep_exit path_flush(struct pep_args *args)
{
	struct pep_filter filter;
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;

	if (!pep_args_left(args))
		return pep_err_usage("subscriber or all: missing");
	err = pep_filter_take_paths(args, &filter);
	if (!err)
		err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, PEP_CMD_PATH_FLUSH, 0);
	pep_filter_put(&req, &filter);
	err = pep_genl_talk(&genl, &req, show_flushed, NULL);
	pep_genl_close(&genl);
	return err;
}

static const struct pep_cmd_verb path_verbs[] = {
	{ "show", path_show },
	{ "flush", path_flush },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_path_object = {
	.name = "path",
	.verbs = path_verbs,
	.show = path_show,
	.usage =
	"pepadm path show [ PATHS ]\n"
	"pepadm path flush PATHS\n"
	"PATHS := { all | subscriber ADDR[/BITS] }\n",
};
