// SPDX-License-Identifier: GPL-2.0
#include "genl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <linux/genetlink.h>
#include <linux/pep.h>

#include "out.h"

/* Note the number of a multicast group that pepadm uses. */
static void keep_group(struct pep_genl *genl, const struct nlattr *nest)
{
	const struct nlattr *tb[CTRL_ATTR_MCAST_GRP_MAX + 1];
	const char *name;
	__u32 id;

	pep_nl_parse_nested(nest, tb, CTRL_ATTR_MCAST_GRP_MAX);
	name = pep_nl_string(tb[CTRL_ATTR_MCAST_GRP_NAME]);
	id = (__u32)pep_nl_uint(tb[CTRL_ATTR_MCAST_GRP_ID]);
	if (!strcmp(name, PEP_MCGRP_FLOWS))
		genl->flows = id;
	else if (!strcmp(name, PEP_MCGRP_CONNS))
		genl->conns = id;
}

/* Note the number of the family, and of its groups. */
static int keep_family(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[CTRL_ATTR_MCAST_GROUPS + 1];
	struct pep_genl *genl = data;
	const struct nlattr *group;

	pep_genl_parse(nlh, tb, CTRL_ATTR_MCAST_GROUPS);
	genl->family = (__u16)pep_nl_uint(tb[CTRL_ATTR_FAMILY_ID]);
	if (tb[CTRL_ATTR_MCAST_GROUPS])
		mnl_attr_for_each_nested(group, tb[CTRL_ATTR_MCAST_GROUPS])
			keep_group(genl, group);
	return MNL_CB_OK;
}

/**
 * pep_genl_open() - open a socket to the pep module
 * @genl: the socket
 *
 * The kernel tries to load a module for an unknown family.
 *
 * Return: PEP_OK, or PEP_FAILED after a message.
 */
enum pep_exit pep_genl_open(struct pep_genl *genl)
{
	struct pep_nl_request req;
	struct genlmsghdr *ghdr;
	enum pep_exit err;

	err = pep_nl_open(&genl->nl, NETLINK_GENERIC);
	if (err)
		return err;

	genl->family = 0;
	genl->flows = 0;
	genl->conns = 0;
	ghdr = pep_nl_request(&req, GENL_ID_CTRL, 0, sizeof(*ghdr));
	ghdr->cmd = CTRL_CMD_GETFAMILY;
	ghdr->version = 1;
	pep_nl_put_string(&req, CTRL_ATTR_FAMILY_NAME, PEP_FAMILY_NAME, NULL);
	if (!pep_nl_talk(&genl->nl, &req, keep_family, genl) && genl->family)
		return PEP_OK;

	if (genl->nl.error == ENOENT)
		pep_err_failed("netlink family \"%s\" not found; %s",
			       PEP_FAMILY_NAME, PEP_GENL_HINT);
	else
		pep_nl_failed(&genl->nl, NULL);
	pep_genl_close(genl);
	return PEP_FAILED;
}

/**
 * pep_genl_close() - close a socket to the pep module
 * @genl: a socket that pep_genl_open() succeeded for
 */
void pep_genl_close(struct pep_genl *genl)
{
	pep_nl_close(&genl->nl);
}

/**
 * pep_genl_request() - begin a request to the pep module
 * @genl: the socket
 * @req: the request
 * @cmd: PEP_CMD_*
 * @flags: NLM_F_DUMP or 0
 */
void pep_genl_request(const struct pep_genl *genl, struct pep_nl_request *req,
		      __u8 cmd, __u16 flags)
{
	struct genlmsghdr *ghdr;

	ghdr = pep_nl_request(req, genl->family, flags, sizeof(*ghdr));
	ghdr->cmd = cmd;
	ghdr->version = PEP_FAMILY_VERSION;
}

/**
 * pep_genl_talk() - send a request to the pep module and read the answer
 * @genl: the socket
 * @req: the request
 * @cb: called for every message of the answer, or NULL
 * @data: for @cb
 *
 * Return: PEP_OK, or PEP_FAILED after a message.
 */
enum pep_exit pep_genl_talk(struct pep_genl *genl, struct pep_nl_request *req,
			    mnl_cb_t cb, void *data)
{
	switch (pep_nl_talk(&genl->nl, req, cb, data)) {
	case 0:
		return PEP_OK;
	case -EINTR:
		return pep_err_failed("changed meanwhile, entries may be missing or shown twice");
	default:
		return pep_nl_failed(&genl->nl, NULL);
	}
}

/**
 * pep_genl_ask() - send a request without attributes and read the answer
 * @cmd: PEP_CMD_*
 * @flags: NLM_F_DUMP or 0
 * @cb: called with each message of the answer
 * @data: handed to @cb
 *
 * Return: PEP_OK, or PEP_FAILED after a message.
 */
enum pep_exit pep_genl_ask(__u8 cmd, __u16 flags, mnl_cb_t cb, void *data)
{
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;

	err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, cmd, flags);
	err = pep_genl_talk(&genl, &req, cb, data);
	pep_genl_close(&genl);
	return err;
}

/**
 * pep_genl_show() - send a request without attributes and show the answer
 * @cmd: PEP_CMD_*
 * @flags: NLM_F_DUMP or 0
 * @show: shows one message of the answer
 *
 * Return: PEP_OK, or PEP_FAILED after a message.
 */
enum pep_exit pep_genl_show(__u8 cmd, __u16 flags, mnl_cb_t show)
{
	enum pep_exit err;

	if (flags & NLM_F_DUMP)
		pep_out_open_array(NULL);
	err = pep_genl_ask(cmd, flags, show, NULL);
	if (!err && (flags & NLM_F_DUMP))
		pep_out_close_array();
	return err;
}

/**
 * pep_genl_parse() - sort the attributes of an answer by number
 * @nlh: the answer
 * @tb: result, @max + 1 entries
 * @max: the highest number wanted
 */
void pep_genl_parse(const struct nlmsghdr *nlh, const struct nlattr **tb,
		    __u16 max)
{
	pep_nl_parse(nlh, sizeof(struct genlmsghdr), tb, max);
}

/**
 * pep_genl_name() - find the name of a number
 * @names: the names, indexed by number; NULL for numbers without one
 * @n: number of entries in @names
 * @attr: the attribute with the number, or NULL for "-"
 *
 * Return: the name; the number itself when it has none, in memory that the
 * next call uses again.
 */
const char *pep_genl_name(const char * const *names, size_t n,
			  const struct nlattr *attr)
{
	static char text[24];
	__u64 number;

	if (!attr)
		return "-";
	number = pep_nl_uint(attr);
	if (number < n && names[number])
		return names[number];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return text;
}
