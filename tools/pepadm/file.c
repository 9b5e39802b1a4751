// SPDX-License-Identifier: GPL-2.0
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Write to an open file, and close that. */
static enum pep_exit write_open(int fd, const char *path, bool sync,
				pep_file_fn *write)
{
	FILE *file = fdopen(fd, "w");
	enum pep_exit err;
	bool failed;

	if (!file) {
		close(fd);
		return pep_err_failed("%.256s: %s", path, strerror(errno));
	}
	err = write(file);
	failed = fflush(file) || (sync && fsync(fd));
	failed |= fclose(file) != 0;
	if (!err && failed)
		err = pep_err_failed("%.256s: %s", path, strerror(errno));
	return err;
}

/* Write to a new file beside another, whose place that then takes. */
static enum pep_exit write_beside(const char *path, mode_t mode,
				  pep_file_fn *write)
{
	char draft[PATH_MAX + sizeof(".XXXXXX")];
	enum pep_exit err;
	int fd;

	snprintf(draft, sizeof(draft), "%s.XXXXXX", path);
	fd = mkstemp(draft);
	if (fd < 0)
		return pep_err_failed("%.256s: %s", path, strerror(errno));
	fchmod(fd, mode);
	err = write_open(fd, path, true, write);
	if (!err && rename(draft, path))
		err = pep_err_failed("%.256s: %s", path, strerror(errno));
	if (err)
		unlink(draft);
	return err;
}

/**
 * pep_file_write() - write to what a path stands for
 * @path: that of a new file, of one that is there, or of a device
 * @write: writes the contents
 *
 * A file is always a whole one, the old or the new; it keeps its mode, and a
 * symbolic link to it stays one.
 *
 * Return: how @write ended, PEP_FAILED after a message when the file cannot be
 * written.
 */
enum pep_exit pep_file_write(const char *path, pep_file_fn *write)
{
	char real[PATH_MAX];
	struct stat st;
	int fd;

	if (stat(path, &st)) {
		if (errno != ENOENT || strlen(path) >= sizeof(real))
			return pep_err_failed("%.256s: %s", path,
					      strerror(errno));
		return write_beside(path, 0644, write);
	}
	if (S_ISREG(st.st_mode) && realpath(path, real))
		return write_beside(real, st.st_mode & 07777, write);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return pep_err_failed("%.256s: %s", path, strerror(errno));
	return write_open(fd, path, false, write);
}
