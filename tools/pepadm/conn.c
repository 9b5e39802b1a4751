// SPDX-License-Identifier: GPL-2.0
/* pepadm conn: the connections that are followed, the split ones among them. */
#include "conn.h"

#include <stdio.h>

#include <linux/pep.h>

#include "cmd.h"
#include "end.h"
#include "filter.h"
#include "genl.h"
#include "names-gen.h"
#include "out.h"

/* Show flags: an array in JSON, in text words with commas, "-" for none. */
static void show_flags(const char *key, const char *label,
		       const char * const *names, size_t n,
		       const struct nlattr *attr)
{
	__u64 flags = pep_nl_uint(attr);
	char text[64] = "-";
	size_t i, len = 0;

	pep_out_open_array(key);
	for (i = 0; i < n; i++) {
		if (!(flags & 1ULL << i))
			continue;
		pep_out_item(names[i]);
		if (len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"%s%s", len ? "," : "",
						names[i]);
	}
	pep_out_close_array();
	pep_out_string(NULL, label, text);
}

/* Show both ends; in text the opener comes first. */
static void show_ends(const struct nlattr **tb)
{
	__u64 family = pep_nl_uint(tb[PEP_A_CONN_FAMILY]);
	struct pep_end subscriber, server;

	pep_end_get(&subscriber, family, tb[PEP_A_CONN_SUBSCRIBER_ADDR],
		    tb[PEP_A_CONN_SUBSCRIBER_PORT]);
	pep_end_get(&server, family, tb[PEP_A_CONN_SERVER_ADDR],
		    tb[PEP_A_CONN_SERVER_PORT]);
	pep_end_show_both(&subscriber, &server,
			  pep_nl_uint(tb[PEP_A_CONN_OPENER]));
}

/* Show the data that an end has sent, once its SYN or SYN-ACK has passed. */
static void show_side(const char *side, const struct nlattr *nest)
{
	const struct nlattr *tb[PEP_A_END_MAX + 1];

	if (!nest)
		return;
	pep_nl_parse_nested(nest, tb, PEP_A_END_MAX);
	pep_out_newline("    ");
	pep_out_word(side);
	pep_out_open_object(side);
	pep_end_show_dev(tb[PEP_A_END_IFINDEX], tb[PEP_A_END_DEV]);
	pep_out_uint("bytes", "sent", pep_nl_uint(tb[PEP_A_END_BYTES]));
	pep_out_uint("repeated", "repeated",
		     pep_nl_uint(tb[PEP_A_END_REPEATED]));
	pep_out_uint("unacked", "unacked", pep_nl_uint(tb[PEP_A_END_UNACKED]));
	if (tb[PEP_A_END_RTT_US])
		pep_out_usec("rtt_us", "rtt",
			     pep_nl_uint(tb[PEP_A_END_RTT_US]));
	pep_out_uint("mss", pep_out_detail("mss"),
		     pep_nl_uint(tb[PEP_A_END_MSS]));
	pep_out_uint("wscale", pep_out_detail("wscale"),
		     pep_nl_uint(tb[PEP_A_END_WSCALE]));
	show_flags("flags", "flags", names_conn_flag,
		   ARRAY_SIZE(names_conn_flag), tb[PEP_A_END_FLAGS]);
	pep_out_close_object();
}

/**
 * pep_conn_show() - show all attributes of a connection, within an object
 * @tb: its attributes, by PEP_A_CONN_*
 */
void pep_conn_show(const struct nlattr **tb)
{
	pep_out_word("conn");
	show_ends(tb);
	pep_out_string("stage", "",
		       pep_genl_name(names_conn_stage,
				     ARRAY_SIZE(names_conn_stage),
				     tb[PEP_A_CONN_STAGE]));
	if (tb[PEP_A_CONN_FLOW])
		pep_out_uint("flow", "flow", pep_nl_uint(tb[PEP_A_CONN_FLOW]));
	pep_out_string("opener", pep_out_detail("opener"),
		       pep_genl_name(names_side, ARRAY_SIZE(names_side),
				     tb[PEP_A_CONN_OPENER]));
	pep_out_msec("age_ms", "age", pep_nl_uint(tb[PEP_A_CONN_AGE_MS]));
	pep_out_msec("idle_ms", "idle", pep_nl_uint(tb[PEP_A_CONN_IDLE_MS]));
	show_flags("trigger", pep_out_detail("trigger"), names_split_trigger,
		   ARRAY_SIZE(names_split_trigger), tb[PEP_A_CONN_TRIGGER]);
	show_flags("due", pep_out_detail("due"), names_split_trigger,
		   ARRAY_SIZE(names_split_trigger), tb[PEP_A_CONN_DUE]);
	pep_out_uint("copies", pep_out_statistic("copies"),
		     pep_nl_uint(tb[PEP_A_CONN_COPIES]));
	pep_out_open_object("ends");
	show_side("wireless", tb[PEP_A_CONN_WIRELESS]);
	show_side("server", tb[PEP_A_CONN_SERVER]);
	pep_out_close_object();
}

/* Show one connection. */
static int show_conn(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_CONN_MAX + 1];

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_CONN_MAX);
	pep_out_open_object(NULL);
	pep_conn_show(tb);
	pep_out_close_object();
	pep_out_newline("");
	return MNL_CB_OK;
}

/* Show the connections that a filter chooses. */
static enum pep_exit conn_show(struct pep_args *args)
{
	struct pep_filter filter;
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;

	err = pep_filter_take_conns(args, &filter);
	if (!err)
		err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, PEP_CMD_CONN_GET, NLM_F_DUMP);
	pep_filter_put(&req, &filter);
	pep_out_open_array(NULL);
	err = pep_genl_talk(&genl, &req, show_conn, NULL);
	if (!err)
		pep_out_close_array();
	pep_genl_close(&genl);
	return err;
}

static const struct pep_cmd_verb conn_verbs[] = {
	{ "show", conn_show },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_conn_object = {
	.name = "conn",
	.verbs = conn_verbs,
	.show = conn_show,
	.usage =
	"pepadm conn show [ CONNS ]\n"
	"CONNS := all | [ subscriber ADDR[/BITS] ] [ subscriber-port PORT ]\n"
	"          [ server ADDR[/BITS] ] [ server-port PORT ] [ stage STAGE ]\n"
	"          [ opener SIDE ] [ dev DEV ] [ older SECONDS ] [ bytes N ]\n"
	"STAGE := { opening | answered | followed | closing | split | releasing }\n"
	"SIDE := { wireless | server }\n",
};
