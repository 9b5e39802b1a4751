// SPDX-License-Identifier: GPL-2.0
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

/* The folder that is locked; it is root's, so that nobody else can lock it. */
#define LOCKED "/run/pep"

/**
 * pep_lock_take() - wait until nobody else changes the configuration
 *
 * It warns when it has to wait. A user that may not make or open the folder
 * goes on without the lock.
 *
 * Return: lock for pep_lock_release().
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
