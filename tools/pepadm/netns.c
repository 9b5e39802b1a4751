// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where ip-netns(8) keeps the named ones. */
#define NETNS_DIR "/run/netns"

static const char *entered;

/**
 * pep_netns_enter() - work in another network namespace from here on
 * @name: name of ip-netns(8), or the path of a file such as /proc/PID/ns/net
 *
 * Return: PEP_OK, PEP_USAGE for an invalid name, or PEP_FAILED, both after a
 * message.
 */
enum pep_exit pep_netns_enter(const char *name)
{
	char path[PATH_MAX];
	enum pep_exit err = PEP_OK;
	int fd;

	if (!*name || strlen(name) > NAME_MAX)
		return pep_err_usage("NETNS: empty or longer than %d characters",
				     NAME_MAX);
	snprintf(path, sizeof(path), "%s%s",
		 strchr(name, '/') ? "" : NETNS_DIR "/", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return pep_err_failed("netns \"%.64s\": %s", name,
				      strerror(errno));
	if (setns(fd, CLONE_NEWNET))
		err = pep_err_failed("netns \"%.64s\": %s", name,
				     strerror(errno));
	close(fd);
	entered = name;
	return err;
}

/**
 * pep_netns_name() - get the name of the network namespace
 *
 * Return: the name of the last call of pep_netns_enter(), NULL without one.
 */
const char *pep_netns_name(void)
{
	return entered;
}
