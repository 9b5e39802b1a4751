// SPDX-License-Identifier: GPL-2.0
#include "link.h"

#include <errno.h>
#include <stdio.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

/* Note number and name of a device. */
static int read_link(const struct nlmsghdr *nlh, void *data)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[IFLA_IFNAME + 1];
	struct pep_link *link = data;

	pep_nl_parse(nlh, sizeof(*ifi), tb, IFLA_IFNAME);
	link->ifindex = (__u32)ifi->ifi_index;
	snprintf(link->name, sizeof(link->name), "%s",
		 pep_nl_string(tb[IFLA_IFNAME]));
	return MNL_CB_OK;
}

/* Request one device, by name when @name is given, else by number. */
static int get_link(struct pep_nl *nl, const char *name, __u32 ifindex,
		    struct pep_link *link)
{
	struct pep_nl_request req;
	struct ifinfomsg *ifi;
	int err;

	ifi = pep_nl_request(&req, RTM_GETLINK, 0, sizeof(*ifi));
	ifi->ifi_index = (int)ifindex;
	if (name)
		pep_nl_put_string(&req, IFLA_IFNAME, name, NULL);
	link->ifindex = 0;
	err = pep_nl_talk(nl, &req, read_link, link);
	return !err && !link->ifindex ? -ENODEV : err;
}

/**
 * pep_link_by_name() - find a device by its name
 * @nl: rtnetlink socket
 * @name: the name, 1 to 15 characters
 * @link: the device found
 *
 * Uses netlink, as the ioctl() cuts a name at a colon and may load a module for
 * an unknown name.
 *
 * Return: 0; -ENODEV when there is none; another negative errno value.
 */
int pep_link_by_name(struct pep_nl *nl, const char *name,
		     struct pep_link *link)
{
	return get_link(nl, name, 0, link);
}

/**
 * pep_link_by_index() - find a device by its number
 * @nl: rtnetlink socket
 * @ifindex: the number, not 0
 * @link: the device found
 *
 * Return: 0; -ENODEV when there is none; another negative errno value.
 */
int pep_link_by_index(struct pep_nl *nl, __u32 ifindex,
		      struct pep_link *link)
{
	return get_link(nl, NULL, ifindex, link);
}

/**
 * pep_link_open() - open a socket to rtnetlink and find a device by its name
 * @nl: the socket; open only when this succeeds
 * @name: the name, 1 to 15 characters
 * @link: the device found
 *
 * Return: PEP_OK, or PEP_FAILED after a message.
 */
enum pep_exit pep_link_open(struct pep_nl *nl, const char *name,
			    struct pep_link *link)
{
	enum pep_exit err = pep_nl_open(nl, NETLINK_ROUTE);

	if (err)
		return err;
	switch (pep_link_by_name(nl, name, link)) {
	case 0:
		return PEP_OK;
	case -ENODEV:
		err = pep_err_failed("Cannot find device \"%s\"", name);
		break;
	default:
		err = pep_nl_failed(nl, NULL);
		break;
	}
	pep_nl_close(nl);
	return err;
}
