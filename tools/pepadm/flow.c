// SPDX-License-Identifier: GPL-2.0
/* pepadm flow: the connections that are split now. */
#include "flow.h"

#include <stdio.h>
#include <sys/socket.h>

#include <linux/pep.h>

#include "cmd.h"
#include "end.h"
#include "filter.h"
#include "genl.h"
#include "names-gen.h"
#include "out.h"
#include "rate.h"
#include "residence.h"
#include "save.h"
#include "top.h"

/* States of a socket by the kernel's number, in the words that ss prints. */
static const char * const tcp_states[] = {
	[1] = "ESTAB",
	[2] = "SYN-SENT",
	[3] = "SYN-RECV",
	[4] = "FIN-WAIT-1",
	[5] = "FIN-WAIT-2",
	[6] = "TIME-WAIT",
	[7] = "UNCONN",
	[8] = "CLOSE-WAIT",
	[9] = "LAST-ACK",
	[10] = "LISTEN",
	[11] = "CLOSING",
	[12] = "NEW-SYN-RECV",
};

/* Show both ends; in text the opener comes first. */
static void show_ends(const struct nlattr **tb)
{
	struct pep_end subscriber, server;

	pep_end_read(tb, &subscriber, &server);
	pep_end_show_both(&subscriber, &server,
			  pep_nl_uint(tb[PEP_A_FLOW_OPENER]));
}

/* Show the packet counts that the kernel sent, by the names that ss uses. */
static void show_packets(const struct nlattr **tb)
{
	static const struct {
		__u16 attr;
		const char *name;
	} counts[] = {
		{ PEP_A_LEG_SEGS_OUT, "segs_out" },
		{ PEP_A_LEG_SEGS_IN, "segs_in" },
		{ PEP_A_LEG_DATA_SEGS_OUT, "data_segs_out" },
		{ PEP_A_LEG_DATA_SEGS_IN, "data_segs_in" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counts); i++)
		if (tb[counts[i].attr])
			pep_out_uint(counts[i].name,
				     pep_out_statistic(counts[i].name),
				     pep_nl_uint(tb[counts[i].attr]));
}

/* Show the source of a leg's connection, when that is this host. */
static void show_source(const struct nlattr **tb)
{
	const struct nlattr *addr = tb[PEP_A_LEG_SOURCE_ADDR];
	struct pep_end end;

	if (!addr)
		return;
	pep_end_get(&end, mnl_attr_get_payload_len(addr) ==
		    sizeof(struct in6_addr) ? AF_INET6 : AF_INET, addr,
		    tb[PEP_A_LEG_SOURCE_PORT]);
	pep_out_word("source");
	pep_end_show("source", &end);
}

/* Show the number of a leg's socket, in text as ss does. */
static void show_cookie(const struct nlattr *cookie)
{
	char text[17];

	if (!cookie)
		return;
	snprintf(text, sizeof(text), "%llx",
		 (unsigned long long)pep_nl_uint(cookie));
	pep_out_uint("cookie", NULL, pep_nl_uint(cookie));
	pep_out_string(NULL, pep_out_detail("sk"), text);
}

/* Show the phase of a subscriber's leg, and the values that it began with. */
static void show_resume(const struct nlattr **tb)
{
	char rate[PEP_RATE_LEN];

	if (!tb[PEP_A_LEG_RESUME_PHASE])
		return;
	pep_out_string("resume", pep_out_detail("resume"),
		       pep_genl_name(names_resume_phase,
				     ARRAY_SIZE(names_resume_phase),
				     tb[PEP_A_LEG_RESUME_PHASE]));
	if (!tb[PEP_A_LEG_RESUME_RATE])
		return;
	pep_rate_brief(rate, pep_nl_uint(tb[PEP_A_LEG_RESUME_RATE]));
	pep_out_uint("resume_rate", NULL,
		     pep_nl_uint(tb[PEP_A_LEG_RESUME_RATE]));
	pep_out_string(NULL, pep_out_detail("resume-rate"), rate);
	pep_out_usec("resume_rtt_us", pep_out_detail("resume-rtt"),
		     pep_nl_uint(tb[PEP_A_LEG_RESUME_RTT_US]));
}

/* Show one leg, when it exists. */
static void show_leg(const char *side, const struct nlattr *nest)
{
	const struct nlattr *tb[PEP_A_LEG_MAX + 1];

	if (!nest)
		return;
	pep_nl_parse_nested(nest, tb, PEP_A_LEG_MAX);
	pep_out_newline("    ");
	pep_out_word(side);
	pep_out_open_object(side);
	pep_end_show_dev(tb[PEP_A_LEG_IFINDEX], tb[PEP_A_LEG_DEV]);
	show_cookie(tb[PEP_A_LEG_COOKIE]);
	show_source(tb);
	pep_out_string("cc", "cc", pep_nl_string(tb[PEP_A_LEG_CC]));
	pep_out_string("state", "state",
		       pep_genl_name(tcp_states, ARRAY_SIZE(tcp_states),
				     tb[PEP_A_LEG_TCP_STATE]));
	pep_out_usec("srtt_us", "rtt", pep_nl_uint(tb[PEP_A_LEG_SRTT_US]));
	pep_out_usec("min_rtt_us", "minrtt",
		     pep_nl_uint(tb[PEP_A_LEG_MIN_RTT_US]));
	pep_out_uint("cwnd", "cwnd", pep_nl_uint(tb[PEP_A_LEG_CWND]));
	pep_out_uint("mss", pep_out_detail("mss"),
		     pep_nl_uint(tb[PEP_A_LEG_MSS]));
	show_resume(tb);
	pep_out_uint("bytes_received", pep_out_statistic("rx"),
		     pep_nl_uint(tb[PEP_A_LEG_BYTES_RECEIVED]));
	pep_out_uint("bytes_acked", pep_out_statistic("acked"),
		     pep_nl_uint(tb[PEP_A_LEG_BYTES_ACKED]));
	show_packets(tb);
	pep_out_uint("retrans", "retrans", pep_nl_uint(tb[PEP_A_LEG_RETRANS]));
	pep_out_uint("unread", "unread", pep_nl_uint(tb[PEP_A_LEG_UNREAD]));
	pep_out_uint("unsent", "unsent", pep_nl_uint(tb[PEP_A_LEG_UNSENT]));
	pep_out_uint("unacked", pep_out_statistic("unacked"),
		     pep_nl_uint(tb[PEP_A_LEG_UNACKED]));
	pep_residence_show(tb[PEP_A_LEG_RESIDENCE], sizeof(__u32),
			   pep_out_statistic("residence"));
	pep_out_close_object();
}

/**
 * pep_flow_show() - show all attributes of a flow, within an object
 * @tb: its attributes, by PEP_A_FLOW_*
 */
void pep_flow_show(const struct nlattr **tb)
{
	pep_out_uint("id", "flow", pep_nl_uint(tb[PEP_A_FLOW_ID]));
	show_ends(tb);
	pep_out_string("state", "",
		       pep_genl_name(names_flow_state,
				     ARRAY_SIZE(names_flow_state),
				     tb[PEP_A_FLOW_STATE]));
	pep_out_string("opener", pep_out_detail("opener"),
		       pep_genl_name(names_side, ARRAY_SIZE(names_side),
				     tb[PEP_A_FLOW_OPENER]));
	pep_out_string("profile", "profile",
		       pep_nl_string(tb[PEP_A_FLOW_PROFILE]));
	pep_out_string("connect", pep_out_detail("mode"),
		       pep_genl_name(names_connect_mode,
				     ARRAY_SIZE(names_connect_mode),
				     tb[PEP_A_FLOW_CONNECT_MODE]));
	pep_end_show_dev(tb[PEP_A_FLOW_IFINDEX], tb[PEP_A_FLOW_DEV]);
	pep_out_msec("age_ms", "age", pep_nl_uint(tb[PEP_A_FLOW_AGE_MS]));
	pep_out_newline("    ");
	pep_out_uint("bytes_to_wireless", "to-wireless",
		     pep_nl_uint(tb[PEP_A_FLOW_BYTES_TO_WIRELESS]));
	pep_out_uint("bytes_to_server", "to-server",
		     pep_nl_uint(tb[PEP_A_FLOW_BYTES_TO_SERVER]));
	pep_out_uint("bytes_copied", pep_out_statistic("copied"),
		     pep_nl_uint(tb[PEP_A_FLOW_BYTES_COPIED]));
	pep_out_open_object("legs");
	show_leg("wireless", tb[PEP_A_FLOW_WIRELESS]);
	show_leg("server", tb[PEP_A_FLOW_SERVER]);
	pep_out_close_object();
}

/* Show one flow. */
static int show_flow(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_FLOW_MAX + 1];

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_FLOW_MAX);
	pep_out_open_object(NULL);
	pep_flow_show(tb);
	pep_out_close_object();
	pep_out_newline("");
	return MNL_CB_OK;
}

/* Show one flow, or those that a filter matches. */
static enum pep_exit flow_show(struct pep_args *args)
{
	struct pep_filter filter;
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;

	err = pep_filter_take(args, &filter);
	if (!err)
		err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, PEP_CMD_FLOW_GET,
			 filter.id ? 0 : NLM_F_DUMP);
	pep_filter_put(&req, &filter);
	pep_out_open_array(NULL);
	err = pep_genl_talk(&genl, &req, show_flow, NULL);
	if (!err)
		pep_out_close_array();
	pep_genl_close(&genl);
	return err;
}

/**
 * struct order - an action on several flows
 * @cmd: PEP_CMD_FLOW_*
 * @attr: attribute of the answer with the number of flows
 * @word: name of that number
 */
struct order {
	int cmd;
	int attr;
	const char *word;
};

/* Print how many flows an order is carried out for. */
static int show_count(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_FLOW_MAX + 1];
	const struct order *order = data;

	pep_genl_parse(nlh, tb, PEP_A_FLOW_MAX);
	pep_out_open_object(NULL);
	pep_out_uint(order->word, order->word, pep_nl_uint(tb[order->attr]));
	pep_out_close_object();
	pep_out_newline("");
	return MNL_CB_OK;
}

/* Do something with one flow, those of a filter, or all. */
static enum pep_exit flow_order(struct pep_args *args,
				const struct order *order)
{
	static const __u64 any_age;
	struct pep_filter filter;
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;

	if (!pep_args_left(args))
		return pep_err_usage("ID, FILTER or all: missing");
	err = pep_filter_take(args, &filter);
	if (!err)
		err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, order->cmd, 0);
	/* An order for all flows has to be explicit: those of any age. */
	if (!pep_filter_put(&req, &filter))
		pep_nl_put(&req, PEP_A_FLOW_OLDER_MS, &any_age,
			   sizeof(any_age), "all");
	err = pep_genl_talk(&genl, &req, show_count, (void *)order);
	pep_genl_close(&genl);
	return err;
}

static enum pep_exit flow_kill(struct pep_args *args)
{
	static const struct order kill = {
		PEP_CMD_FLOW_KILL, PEP_A_FLOW_KILLED, "killed"
	};

	return flow_order(args, &kill);
}

static enum pep_exit flow_release(struct pep_args *args)
{
	static const struct order release = {
		PEP_CMD_FLOW_RELEASE, PEP_A_FLOW_RELEASED, "released"
	};

	return flow_order(args, &release);
}

static const struct pep_cmd_verb flow_verbs[] = {
	{ "show", flow_show },
	{ "kill", flow_kill },
	{ "release", flow_release },
	{ "save", pep_save },
	{ "restore", pep_restore },
	{ "top", pep_top },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_flow_object = {
	.name = "flow",
	.verbs = flow_verbs,
	.show = flow_show,
	.usage =
	"pepadm flow show [ ID | FILTER ]\n"
	"pepadm flow kill { ID | FILTER }\n"
	"pepadm flow release { ID | FILTER }\n"
	"pepadm flow { save | restore } FILE\n"
	"pepadm flow top [ delay SECONDS ] [ count N ] [ FILTER ]\n"
	"FILTER := all | [ subscriber ADDR[/BITS] ] [ subscriber-port PORT ]\n"
	"          [ server ADDR[/BITS] ] [ server-port PORT ] [ state STATE ]\n"
	"          [ profile NAME ] [ dev DEV ] [ older SECONDS ] [ bytes N ]\n"
	"STATE := { connecting | established | closing | dead }\n",
};
