// SPDX-License-Identifier: GPL-2.0
#include "hold.h"

#include <stddef.h>

/**
 * pep_hold_begin() - hold back the signals that end the program
 * @old: for pep_hold_end()
 */
void pep_hold_begin(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, old);
}

/**
 * pep_hold_end() - deliver the signals that have been held back
 * @old: from pep_hold_begin()
 */
void pep_hold_end(const sigset_t *old)
{
	sigprocmask(SIG_SETMASK, old, NULL);
}
