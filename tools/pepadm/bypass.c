// SPDX-License-Identifier: GPL-2.0
/* pepadm bypass: destinations that are not split for a while. */
#include "cmd.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <linux/pep.h>

#include "end.h"
#include "genl.h"
#include "names-gen.h"
#include "out.h"

/* Show whose connections pass: an address, an IPv6 network, or "any". */
static void show_opener(const struct nlattr *family,
			const struct nlattr *addr)
{
	char text[sizeof("/64") + sizeof(((struct pep_end *)0)->addr)];
	struct pep_end opener;

	if (!addr) {
		pep_out_string("opener", "opener", "any");
		return;
	}
	pep_end_get(&opener, pep_nl_uint(family), addr, NULL);
	snprintf(text, sizeof(text), "%s%s", opener.addr,
		 opener.family == AF_INET6 ? "/64" : "");
	pep_out_string("opener", "opener", text);
}

/* Show one destination. */
static int show_bypass(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_BYPASS_MAX + 1];
	struct pep_end destination;
	char text[PEP_END_LEN];

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_BYPASS_MAX);
	pep_end_get(&destination, pep_nl_uint(tb[PEP_A_BYPASS_FAMILY]),
		    tb[PEP_A_BYPASS_ADDR], tb[PEP_A_BYPASS_PORT]);
	pep_end_text(&destination, text);

	pep_out_open_object(NULL);
	pep_out_string("addr", NULL, destination.addr);
	pep_out_uint("port", NULL, destination.port);
	pep_out_string(NULL, "bypass", text);
	show_opener(tb[PEP_A_BYPASS_FAMILY], tb[PEP_A_BYPASS_OPENER]);
	pep_out_string("reason", "reason",
		       pep_genl_name(names_bypass_reason,
				     ARRAY_SIZE(names_bypass_reason),
				     tb[PEP_A_BYPASS_REASON]));
	pep_out_uint("left_s", "left-s",
		     pep_nl_uint(tb[PEP_A_BYPASS_LEFT]));
	pep_out_uint("hits", "hits", pep_nl_uint(tb[PEP_A_BYPASS_HITS]));
	pep_out_close_object();
	pep_out_newline("");
	return MNL_CB_OK;
}

static enum pep_exit bypass_show(struct pep_args *args)
{
	enum pep_exit err = pep_args_end(args);

	return err ? err : pep_genl_show(PEP_CMD_BYPASS_GET, NLM_F_DUMP,
				   show_bypass);
}

/* Carry out the forgetting of one destination, or of all without an address. */
static enum pep_exit forget(const char *addr, __be16 port)
{
	struct pep_nl_request req;
	struct in6_addr binary;
	struct pep_genl genl;
	enum pep_exit err;
	int family = AF_INET;

	if (addr && strchr(addr, ':'))
		family = AF_INET6;
	if (addr && inet_pton(family, addr, &binary) != 1)
		return pep_err_usage("ADDR: \"%.64s\" is not an IPv4 or IPv6 address",
				     addr);
	err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, PEP_CMD_BYPASS_DEL, 0);
	if (addr) {
		pep_nl_put_u32(&req, PEP_A_BYPASS_FAMILY, family, "ADDR");
		pep_nl_put(&req, PEP_A_BYPASS_ADDR, &binary,
			   family == AF_INET6 ? sizeof(struct in6_addr) :
						sizeof(struct in_addr),
			   "ADDR");
		pep_nl_put(&req, PEP_A_BYPASS_PORT, &port, sizeof(port), "PORT");
	}
	err = pep_genl_talk(&genl, &req, NULL, NULL);
	pep_genl_close(&genl);
	return err;
}

static enum pep_exit bypass_del(struct pep_args *args)
{
	enum pep_exit err;
	const char *addr;
	__u32 port = 0;

	if (!pep_args_left(args))
		return pep_err_usage("ADDR: missing");
	addr = *args->argv++;
	args->argc--;
	err = pep_args_u32(args, "PORT", &port);
	if (!err && port > 65535)
		err = pep_err_usage("PORT: \"%u\" is not a number from 1 to 65535",
				    port);
	if (!err)
		err = pep_args_end(args);
	return err ? err : forget(addr, htons((__u16)port));
}

static enum pep_exit bypass_flush(struct pep_args *args)
{
	enum pep_exit err = pep_args_end(args);

	return err ? err : forget(NULL, 0);
}

static const struct pep_cmd_verb bypass_verbs[] = {
	{ "del", bypass_del },
	{ "flush", bypass_flush },
	{ "show", bypass_show },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_bypass_object = {
	.name = "bypass",
	.verbs = bypass_verbs,
	.show = bypass_show,
	.usage =
	"pepadm bypass del ADDR PORT\n"
	"pepadm bypass flush\n"
	"pepadm bypass show\n",
};
