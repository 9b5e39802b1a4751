// SPDX-License-Identifier: GPL-2.0
/* pepadm monitor: events of flows, connections and limits, as they happen. */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/pep.h>

#include "conn.h"
#include "flow.h"
#include "genl.h"
#include "names-gen.h"
#include "out.h"
#include "subscriber.h"

/* Room for messages that come faster than they are printed, bytes. */
#define QUEUE_LEN (8 << 20)

/* Room for one of them, bytes. */
#define MESSAGE_LEN 32768

/**
 * struct what - which events are shown
 * @new: flows that are established
 * @closed: flows that have ended
 * @limits: limits that are reached, and draining that is done
 * @conns: connections that are followed no longer; these have their own group
 */
struct what {
	bool new;
	bool closed;
	bool limits;
	bool conns;
};

/* Events of a flow after its SYN, about in the order of time. */
static const struct {
	__u16 attr;
	const char *key;
	const char *label;
} times[] = {
	{ PEP_A_FLOW_TIME_SYN_OUT, "syn_out_ns", "syn-out" },
	{ PEP_A_FLOW_TIME_ANSWERED, "answered_ns", "answered" },
	{ PEP_A_FLOW_TIME_ACCEPTED, "accepted_ns", "accepted" },
	{ PEP_A_FLOW_TIME_ESTABLISHED, "established_ns", "established" },
	{ PEP_A_FLOW_TIME_FIRST_TO_WIRELESS, "first_to_wireless_ns",
	  "first-to-wireless" },
	{ PEP_A_FLOW_TIME_FIRST_TO_SERVER, "first_to_server_ns",
	  "first-to-server" },
	{ PEP_A_FLOW_TIME_FIN_FROM_WIRELESS, "fin_from_wireless_ns",
	  "fin-from-wireless" },
	{ PEP_A_FLOW_TIME_FIN_TO_SERVER, "fin_to_server_ns",
	  "fin-to-server" },
	{ PEP_A_FLOW_TIME_FIN_FROM_SERVER, "fin_from_server_ns",
	  "fin-from-server" },
	{ PEP_A_FLOW_TIME_FIN_TO_WIRELESS, "fin_to_wireless_ns",
	  "fin-to-wireless" },
	{ PEP_A_FLOW_TIME_RST_FROM_WIRELESS, "rst_from_wireless_ns",
	  "rst-from-wireless" },
	{ PEP_A_FLOW_TIME_RST_TO_SERVER, "rst_to_server_ns",
	  "rst-to-server" },
	{ PEP_A_FLOW_TIME_RST_FROM_SERVER, "rst_from_server_ns",
	  "rst-from-server" },
	{ PEP_A_FLOW_TIME_RST_TO_WIRELESS, "rst_to_wireless_ns",
	  "rst-to-wireless" },
	{ PEP_A_FLOW_TIME_CLOSED, "closed_ns", "closed" },
};

/*
 * Show the times of the events of a flow that has ended; in text with details
 * the SYN's in seconds since 1970, and the others' relative to it.
 */
static void show_times(const struct nlattr **tb)
{
	__u64 syn = pep_nl_uint(tb[PEP_A_FLOW_TIME_SYN]), at;
	char text[32];
	size_t i;

	if (pep_out_detail(""))
		pep_out_newline("    ");
	snprintf(text, sizeof(text), "%llu.%09u",
		 (unsigned long long)(syn / 1000000000),
		 (unsigned int)(syn % 1000000000));
	pep_out_string(NULL, pep_out_detail("syn"), text);
	pep_out_open_object("times");
	pep_out_uint("syn_ns", NULL, syn);
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		if (!tb[times[i].attr])
			continue;
		at = pep_nl_uint(tb[times[i].attr]);
		pep_out_uint(times[i].key, NULL, at);
		/* The clock may have been set meanwhile. */
		pep_out_usec(NULL, pep_out_detail(times[i].label),
			     at > syn ? (at - syn) / 1000 : 0);
	}
	pep_out_close_object();
}

/* Is an event to be shown? */
static bool wanted(const struct what *what, __u8 cmd)
{
	switch (cmd) {
	case PEP_CMD_FLOW_NEW_NTF:
		return what->new;
	case PEP_CMD_FLOW_CLOSED_NTF:
		return what->closed;
	case PEP_CMD_OVERLOAD_NTF:
	case PEP_CMD_DRAINED_NTF:
		return what->limits;
	case PEP_CMD_CONN_CLOSED_NTF:
		return what->conns;
	default:
		return false;
	}
}

/* Show an event of a flow. */
static void show_flow(const struct nlmsghdr *nlh, bool closed)
{
	const struct nlattr *tb[PEP_A_FLOW_MAX + 1];

	pep_genl_parse(nlh, tb, PEP_A_FLOW_MAX);
	pep_out_string("event", "", closed ? "closed" : "new");
	if (closed)
		pep_out_string("cause", "cause",
			       pep_genl_name(names_flow_cause,
					     ARRAY_SIZE(names_flow_cause),
					     tb[PEP_A_FLOW_CAUSE]));
	pep_flow_show(tb);
	if (closed)
		show_times(tb);
}

/* Show the record of a connection that was followed. */
static void show_conn(const struct nlmsghdr *nlh)
{
	const struct nlattr *tb[PEP_A_CONN_MAX + 1];

	pep_genl_parse(nlh, tb, PEP_A_CONN_MAX);
	pep_out_string("event", "", "closed");
	pep_out_string("cause", "cause",
		       pep_genl_name(names_conn_cause,
				     ARRAY_SIZE(names_conn_cause),
				     tb[PEP_A_CONN_CAUSE]));
	pep_conn_show(tb);
}

/* Show an event of limits. */
static void show_limit(const struct nlmsghdr *nlh, bool overload)
{
	const struct nlattr *tb[PEP_A_LIMIT_MAX + 1];
	char text[PEP_SUBSCRIBER_LEN];

	pep_genl_parse(nlh, tb, PEP_A_LIMIT_MAX);
	pep_out_string("event", "", overload ? "overload" : "drained");
	if (!overload)
		return;
	pep_out_string("counter", "counter",
		       pep_nl_string(tb[PEP_A_LIMIT_COUNTER]));
	pep_out_uint("flows", "flows", pep_nl_uint(tb[PEP_A_LIMIT_LIVE]));
	if (!tb[PEP_A_LIMIT_SUBSCRIBER_ADDR])
		return;
	pep_subscriber_text(tb[PEP_A_LIMIT_SUBSCRIBER_ADDR],
			    tb[PEP_A_LIMIT_SUBSCRIBER_PREFIX], text);
	pep_out_string("subscriber", "subscriber", text);
}

/* Show one event. */
static enum pep_exit show_event(const struct nlmsghdr *nlh,
				const struct what *what)
{
	const struct genlmsghdr *ghdr = mnl_nlmsg_get_payload(nlh);
	__u8 cmd = ghdr->cmd;

	if (!wanted(what, cmd))
		return PEP_OK;
	pep_out_open_object(NULL);
	if (cmd == PEP_CMD_OVERLOAD_NTF || cmd == PEP_CMD_DRAINED_NTF)
		show_limit(nlh, cmd == PEP_CMD_OVERLOAD_NTF);
	else if (cmd == PEP_CMD_CONN_CLOSED_NTF)
		show_conn(nlh);
	else
		show_flow(nlh, cmd == PEP_CMD_FLOW_CLOSED_NTF);
	pep_out_close_object();
	pep_out_newline("");
	return pep_out_finish(PEP_OK);
}

/* Report that events were lost. */
static enum pep_exit show_lost(void)
{
	pep_out_open_object(NULL);
	pep_out_string("event", "", "lost");
	pep_out_close_object();
	pep_out_newline("");
	return pep_out_finish(PEP_OK);
}

/* End when the module is gone: its successor has other groups. */
static enum pep_exit check_family(const struct nlmsghdr *nlh, __u16 family)
{
	const struct genlmsghdr *ghdr = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[CTRL_ATTR_FAMILY_ID + 1];

	pep_genl_parse(nlh, tb, CTRL_ATTR_FAMILY_ID);
	if (ghdr->cmd != CTRL_CMD_DELFAMILY ||
	    pep_nl_uint(tb[CTRL_ATTR_FAMILY_ID]) != family)
		return PEP_OK;
	return pep_err_failed("the pep module has gone");
}

/* Show the events in a datagram. */
static enum pep_exit show_datagram(const char *buf, int len, __u16 family,
				   const struct what *what)
{
	const struct nlmsghdr *nlh = (const void *)buf;
	enum pep_exit err = PEP_OK;

	while (!err && mnl_nlmsg_ok(nlh, len)) {
		if (nlh->nlmsg_type == family)
			err = show_event(nlh, what);
		else if (nlh->nlmsg_type == GENL_ID_CTRL)
			err = check_family(nlh, family);
		nlh = mnl_nlmsg_next(nlh, &len);
	}
	return err;
}

/* Show events until something fails. */
static enum pep_exit watch(struct pep_genl *genl, const struct what *what,
			   char *buf)
{
	enum pep_exit err = PEP_OK;
	ssize_t got;

	while (!err) {
		got = mnl_socket_recvfrom(genl->nl.sock, buf, MESSAGE_LEN);
		if (got >= 0)
			err = show_datagram(buf, (int)got, genl->family, what);
		else if (errno == ENOBUFS)
			err = show_lost();
		else if (errno != EINTR)
			err = pep_err_failed("netlink: %s", strerror(errno));
	}
	return err;
}

/* Become a member of a group and show its events. */
static enum pep_exit listen_and_watch(struct pep_genl *genl,
				      const struct what *what)
{
	int fd = mnl_socket_get_fd(genl->nl.sock), room = QUEUE_LEN;
	__u32 control = GENL_ID_CTRL;	/* the number of its group, too */
	__u32 group = what->conns ? genl->conns : genl->flows;
	enum pep_exit err;
	char *buf;

	if (!group)
		return pep_err_failed("the pep module has no such events, it is older than pepadm");
	/* As much as possible: the larger buffer needs a privilege. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (mnl_socket_setsockopt(genl->nl.sock, NETLINK_ADD_MEMBERSHIP,
				  &group, sizeof(group)) ||
	    mnl_socket_setsockopt(genl->nl.sock, NETLINK_ADD_MEMBERSHIP,
				  &control, sizeof(control)))
		return pep_err_failed("%s", strerror(errno));
	buf = malloc(MESSAGE_LEN);
	if (!buf)
		return pep_err_failed("%s", strerror(errno));
	err = watch(genl, what, buf);
	free(buf);
	return err;
}

static enum pep_exit monitor(struct pep_args *args, const struct what *what)
{
	struct pep_genl genl;
	enum pep_exit err;

	err = pep_args_end(args);
	if (!err)
		err = pep_genl_open(&genl);
	if (err)
		return err;
	err = listen_and_watch(&genl, what);
	pep_genl_close(&genl);
	return err;
}

static enum pep_exit monitor_all(struct pep_args *args)
{
	static const struct what what = {
		.new = true, .closed = true, .limits = true,
	};

	return monitor(args, &what);
}

static enum pep_exit monitor_new(struct pep_args *args)
{
	static const struct what what = { .new = true };

	return monitor(args, &what);
}

static enum pep_exit monitor_closed(struct pep_args *args)
{
	static const struct what what = { .closed = true };

	return monitor(args, &what);
}

static enum pep_exit monitor_limits(struct pep_args *args)
{
	static const struct what what = { .limits = true };

	return monitor(args, &what);
}

static enum pep_exit monitor_conns(struct pep_args *args)
{
	static const struct what what = { .conns = true };

	return monitor(args, &what);
}

static const struct pep_cmd_verb monitor_verbs[] = {
	{ "all", monitor_all },
	{ "new", monitor_new },
	{ "closed", monitor_closed },
	{ "limits", monitor_limits },
	{ "conns", monitor_conns },
	{ "show", monitor_all },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_monitor_object = {
	.name = "monitor",
	.verbs = monitor_verbs,
	.show = monitor_all,
	.usage =
	"pepadm monitor [ all | new | closed | limits | conns ]\n",
};
