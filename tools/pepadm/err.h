/* SPDX-License-Identifier: GPL-2.0 */
/* Messages for the user, and the exit codes. */
#ifndef _PEPADM_ERR_H
#define _PEPADM_ERR_H

#include <stdbool.h>

#define __printf(a, b) __attribute__((format(printf, \
					     a, b)))

/**
 * enum pep_exit - exit code of pepadm
 * @PEP_OK: The command was carried out.
 * @PEP_FAILED: The kernel refused, or something else failed on the way.
 * @PEP_USAGE: The command line is wrong; the kernel got no request.
 */
enum pep_exit {
	PEP_OK = 0,
	PEP_FAILED = 1,
	PEP_USAGE = 2,
};

void pep_err_quiet(bool on);
void pep_err_place(const char *file, unsigned int line);
void pep_err_context(const char *object, const char *verb);

__printf(1, 2)
enum pep_exit pep_err_failed(const char *fmt, ...);

__printf(1, 2)
enum pep_exit pep_err_usage(const char *fmt, ...);

__printf(1, 2)
void pep_err_warning(const char *fmt, ...);

#endif
