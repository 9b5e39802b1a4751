// SPDX-License-Identifier: GPL-2.0
#include "wait.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include <linux/rtnetlink.h>

#include "link.h"

/* Longest message about a device, bytes. */
#define MESSAGE_LEN 32768

/* The present, ms of a clock that cannot be set. */
static __u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * 1000 + (__u64)ts.tv_nsec / 1000000;
}

/**
 * pep_wait_end() - compute the end of a wait that begins now
 * @seconds: its length
 *
 * Return: the end, for pep_wait_link() and pep_wait_over().
 */
__u64 pep_wait_end(__u32 seconds)
{
	return now() + seconds * 1000ULL;
}

/**
 * pep_wait_over() - has the end of a wait come?
 * @end: from pep_wait_end()
 *
 * Return: true when it has.
 */
bool pep_wait_over(__u64 end)
{
	return now() >= end;
}

/* Sleep until a device changes; the caller has to find out the change. */
static int next_change(struct pep_nl *events, __u64 end)
{
	struct pollfd fd = {
		.fd = mnl_socket_get_fd(events->sock), .events = POLLIN,
	};
	char buf[MESSAGE_LEN];
	__u64 left = now();

	left = left < end ? end - left : 0;
	switch (poll(&fd, 1, left < INT_MAX ? (int)left : INT_MAX)) {
	case 0:
		return left < INT_MAX ? -ETIMEDOUT : 0;
	case 1:
		/* Lost messages indicate a change as well. */
		if (mnl_socket_recvfrom(events->sock, buf, sizeof(buf)) < 0 &&
		    errno != ENOBUFS)
			return -errno;
		return 0;
	default:
		return -errno;
	}
}

/* Look for a device until it is there. */
static enum pep_exit until_found(struct pep_nl *nl, struct pep_nl *events,
				 const char *name, __u64 end)
{
	struct pep_link link;
	bool told = false;
	int err;

	for (;;) {
		err = pep_link_by_name(nl, name, &link);
		if (err != -ENODEV)
			return err ? pep_nl_failed(nl, NULL) : PEP_OK;
		if (!told)
			pep_err_warning("waiting for device \"%s\"", name);
		told = true;
		err = next_change(events, end);
		if (err == -ETIMEDOUT)
			return pep_err_failed("Cannot find device \"%s\"", name);
		if (err && err != -EINTR)
			return pep_err_failed("netlink: %s", strerror(-err));
	}
}

/**
 * pep_wait_link() - wait until there is a device
 * @name: its name, 1 to 15 characters
 * @end: from pep_wait_end()
 *
 * It warns once when it has to wait.
 *
 * Return: PEP_OK, PEP_FAILED after a message when there is none at the end.
 */
enum pep_exit pep_wait_link(const char *name, __u64 end)
{
	__u32 group = RTNLGRP_LINK;
	struct pep_nl nl, events;
	enum pep_exit err;

	err = pep_nl_open(&events, NETLINK_ROUTE);
	if (err)
		return err;
	err = pep_nl_open(&nl, NETLINK_ROUTE);
	if (err)
		goto out;
	/* Join the group before looking, so that no change is missed. */
	if (mnl_socket_setsockopt(events.sock, NETLINK_ADD_MEMBERSHIP, &group,
				  sizeof(group)))
		err = pep_err_failed("netlink: %s", strerror(errno));
	else
		err = until_found(&nl, &events, name, end);
	pep_nl_close(&nl);
out:
	pep_nl_close(&events);
	return err;
}
