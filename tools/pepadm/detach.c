// SPDX-License-Identifier: GPL-2.0
#include "detach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "genl.h"
#include "link.h"
#include "release.h"
#include "tc.h"
#include "uses.h"

/*
 * Packets of ended flows that are still in flight are answered with resets as
 * long as the device is attached: give them this long, seconds.
 */
#define LATE_PACKETS	1

/* tc frees a filter a little after its deletion: tries, and us between them. */
#define FREED_TRIES	500
#define FREED_EVERY	10000

/**
 * struct progress - results of the work on all devices
 * @released: flows whose connections are being handed back to their ends
 * @killed: flows that were ended
 * @deleted: filters that were deleted, each with an action
 */
struct progress {
	__u64 released;
	__u64 killed;
	__u64 deleted;
};

/* An action on a device. */
typedef enum pep_exit dev_fn(struct pep_nl *nl, const struct pep_link *link,
			     struct progress *progress);

/* Take the number of flows that were ended, or are handed back. */
static int take_count(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_FLOW_MAX + 1];
	struct progress *progress = data;

	pep_genl_parse(nlh, tb, PEP_A_FLOW_MAX);
	progress->killed += pep_nl_uint(tb[PEP_A_FLOW_KILLED]);
	progress->released += pep_nl_uint(tb[PEP_A_FLOW_RELEASED]);
	return MNL_CB_OK;
}

/* Do something with the flows that use a device, unless it has lost our filters. */
static enum pep_exit order_flows(struct pep_nl *nl, const struct pep_link *link,
				 int cmd, struct progress *progress)
{
	struct pep_tc_found found;
	struct pep_nl_request req;
	struct pep_genl genl;
	enum pep_exit err;

	if (pep_tc_find(nl, link->ifindex, &found))
		return pep_nl_failed(nl, NULL);
	if (!found.mine[0] && !found.mine[1])
		return PEP_OK;
	err = pep_genl_open(&genl);
	if (err)
		return err;
	pep_genl_request(&genl, &req, cmd, 0);
	pep_nl_put_u32(&req, PEP_A_FLOW_IFINDEX, link->ifindex, "DEV");
	err = pep_genl_talk(&genl, &req, take_count, progress);
	pep_genl_close(&genl);
	return err;
}

static enum pep_exit release_flows(struct pep_nl *nl,
				   const struct pep_link *link,
				   struct progress *progress)
{
	return order_flows(nl, link, PEP_CMD_FLOW_RELEASE, progress);
}

static enum pep_exit kill_flows(struct pep_nl *nl, const struct pep_link *link,
				struct progress *progress)
{
	return order_flows(nl, link, PEP_CMD_FLOW_KILL, progress);
}

/* Delete our filters, and clsact when nobody else has filters there. The device may go just
 * then.
 */
static enum pep_exit delete_filters(struct pep_nl *nl,
				    const struct pep_link *link,
				    struct progress *progress)
{
	struct pep_tc_found found;
	int err;

	err = pep_tc_find(nl, link->ifindex, &found);
	for (unsigned int i = 0; i < PEP_TC_FILTERS && !err; i++) {
		if (!found.mine[i])
			continue;
		err = pep_tc_filter_del(nl, link->ifindex, i,
					found.preference[i]);
		progress->deleted += !err;
	}
	if (!err)
		err = pep_tc_clsact_del_unused(nl, link->ifindex);
	return err && err != -ENODEV ? pep_nl_failed(nl, NULL) : PEP_OK;
}

/**
 * struct devices - devices that are detached
 * @names: their names
 * @numbers: their numbers, which they keep when they are renamed; 0 for one that has not
 *	been there yet
 * @n: how many
 */
struct devices {
	const char * const *names;
	__u32 *numbers;
	size_t n;
};

/* Do something with each device that is still there, until it fails for one. */
static enum pep_exit each(const struct devices *devices, dev_fn *fn,
			  struct progress *progress)
{
	enum pep_exit err;
	struct pep_nl nl;

	err = pep_nl_open(&nl, NETLINK_ROUTE);
	if (err)
		return err;
	for (size_t i = 0; i < devices->n && !err; i++) {
		__u32 *number = &devices->numbers[i];
		struct pep_link link;

		switch (*number ? pep_link_by_index(&nl, *number, &link) :
				  pep_link_by_name(&nl, devices->names[i], &link)) {
		case 0:
			*number = link.ifindex;
			err = fn(&nl, &link, progress);
			break;
		case -ENODEV:
			break;
		default:
			err = pep_nl_failed(&nl, NULL);
			break;
		}
	}
	pep_nl_close(&nl);
	return err;
}

/* Wait until no more than so many actions use profiles. */
static enum pep_exit wait_freed(__u64 uses)
{
	enum pep_exit err;
	__u64 n;

	for (unsigned int i = 0; i < FREED_TRIES; i++) {
		err = pep_uses(NULL, &n);
		if (err || n <= uses)
			return err;
		usleep(FREED_EVERY);
	}
	return PEP_OK;
}

/* Request once that the connections of all devices be handed back. */
static enum pep_exit ask_release(void *data, __u64 *n)
{
	struct progress progress = { 0 };
	struct devices *devices = data;
	enum pep_exit err;

	err = each(devices, release_flows, &progress);
	*n = progress.released;
	return err;
}

static enum pep_exit detach(struct devices *devices, struct progress *progress)
{
	enum pep_exit err;
	__u64 uses;

	err = pep_release(ask_release, devices);
	if (!err)
		err = each(devices, kill_flows, progress);
	if (err)
		return err;
	if (progress->killed)
		sleep(LATE_PACKETS);
	err = pep_uses(NULL, &uses);
	if (!err)
		err = each(devices, delete_filters, progress);
	if (err)
		return err;
	return wait_freed(uses > progress->deleted ?
			  uses - progress->deleted : 0);
}

/**
 * pep_detach() - detach devices, which ends the flows that use them
 * @names: their names
 * @n: how many
 *
 * Connections that were taken over in mid-stream go back to their ends; other
 * flows end before the first device is detached. At the end the devices no
 * longer use their profiles, which can be deleted. A device that goes meanwhile
 * is detached by that.
 *
 * Return: PEP_OK, or another one after a message; flows may have ended then,
 * and some of the devices be detached.
 */
enum pep_exit pep_detach(const char * const *names, size_t n)
{
	struct devices devices = { names, calloc(n, sizeof(*devices.numbers)), n };
	struct progress progress = { 0 };
	enum pep_exit err;

	if (!devices.numbers)
		return pep_err_failed("%s", strerror(ENOMEM));
	err = detach(&devices, &progress);
	free(devices.numbers);
	return err;
}
