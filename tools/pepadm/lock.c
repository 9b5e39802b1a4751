// SPDX-License-Identifier: GPL-2.0
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

/* What is locked; a folder, and root's, so that nobody else can. */
#define LOCKED "/run/pep"

/**
 * pep_lock_take() - wait until nobody else changes the configuration
 *
 * That it waits is told. Who may not make or open what is locked goes on
 * without.
 *
 * Return: what to give to pep_lock_release().
 */
int pep_lock_take(void)
{
	int fd;

	if (mkdir(LOCKED, 0700) && errno != EEXIST)
		return -1;
	fd = open(LOCKED, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		pep_err_warning("waiting for another pepadm that changes the configuration");
		flock(fd, LOCK_EX);
	}
	return fd;
}

/**
 * pep_lock_release() - let others change the configuration
 * @fd: from pep_lock_take()
 */
void pep_lock_release(int fd)
{
	if (fd >= 0)
		close(fd);
}
