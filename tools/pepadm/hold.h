/* SPDX-License-Identifier: GPL-2.0 */
/* Holding back the signals that end the program. */
#ifndef _PEPADM_HOLD_H
#define _PEPADM_HOLD_H

#include <signal.h>

void pep_hold_begin(sigset_t *old);
void pep_hold_end(const sigset_t *old);

#endif
