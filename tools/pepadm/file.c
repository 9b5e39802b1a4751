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

#include "hold.h"

/* Write to an open file, and close it. */
static enum pep_exit write_open(int fd, const char *path, bool sync,
				pep_file_fn *write)
{
	FILE *file = fdopen(fd, "w");
	enum pep_exit err;

	if (!file) {
		close(fd);
		return pep_err_failed("%.256s: %s", path, strerror(errno));
	}
	err = write(file);
	/* An error in the middle may leave no other trace. */
	if (!err && ferror(file))
		err = pep_err_failed("%.256s: not all could be written", path);
	if (!err && (fflush(file) || (sync && fsync(fd))))
		err = pep_err_failed("%.256s: %s", path, strerror(errno));
	if (fclose(file) && !err)
		err = pep_err_failed("%.256s: %s", path, strerror(errno));
	return err;
}

/*
 * Give a new file the owner and the mode of the one that it replaces; the mode
 * comes last, as a change of owner clears bits of it.
 */
static bool become(int fd, const struct stat *like)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if ((st.st_uid != like->st_uid || st.st_gid != like->st_gid) &&
	    fchown(fd, like->st_uid, like->st_gid))
		return false;
	return !fchmod(fd, like->st_mode & 07777);
}

/*
 * Write to a new file beside another, which it then replaces; @like is NULL
 * when there is no other yet, and the new one gets @mode.
 */
static enum pep_exit write_beside(const char *path, const struct stat *like,
				  mode_t mode, pep_file_fn *write)
{
	char draft[PATH_MAX + sizeof(".XXXXXX")];
	enum pep_exit err;
	int fd;

	snprintf(draft, sizeof(draft), "%s.XXXXXX", path);
	fd = mkstemp(draft);
	if (fd < 0)
		return pep_err_failed("%.256s: %s", path, strerror(errno));
	if (like ? become(fd, like) : !fchmod(fd, mode)) {
		err = write_open(fd, path, true, write);
	} else {
		err = pep_err_failed("%.256s: %s", path, strerror(errno));
		close(fd);
	}
	if (!err && rename(draft, path))
		err = pep_err_failed("%.256s: %s", path, strerror(errno));
	if (err)
		unlink(draft);
	return err;
}

/* The same, with signals held back, so that no draft stays behind. */
static enum pep_exit write_whole(const char *path, const struct stat *like,
				 mode_t mode, pep_file_fn *write)
{
	enum pep_exit err;
	sigset_t old;

	pep_hold_begin(&old);
	err = write_beside(path, like, mode, write);
	pep_hold_end(&old);
	return err;
}

/**
 * pep_file_write() - write to the file or device of a path
 * @path: path of a new file, of an existing one, or of a device
 * @mode: mode of a new file
 * @write: writes the contents
 *
 * A file is always complete, the old or the new one; it keeps its owner, group
 * and mode, and a symbolic link to it stays one.
 *
 * Return: result of @write, or PEP_FAILED after a message when the file cannot
 * be written.
 */
enum pep_exit pep_file_write(const char *path, mode_t mode, pep_file_fn *write)
{
	char real[PATH_MAX];
	struct stat st;
	int fd;

	if (stat(path, &st)) {
		if (errno != ENOENT || strlen(path) >= sizeof(real))
			return pep_err_failed("%.256s: %s", path,
					      strerror(errno));
		return write_whole(path, NULL, mode, write);
	}
	if (S_ISREG(st.st_mode)) {
		if (!realpath(path, real))
			return pep_err_failed("%.256s: %s", path,
					      strerror(errno));
		return write_whole(real, &st, mode, write);
	}
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return pep_err_failed("%.256s: %s", path, strerror(errno));
	return write_open(fd, path, false, write);
}
