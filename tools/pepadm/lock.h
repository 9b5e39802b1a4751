/* SPDX-License-Identifier: GPL-2.0 */
/* One change of the configuration at a time. */
#ifndef _PEPADM_LOCK_H
#define _PEPADM_LOCK_H

int pep_lock_take(void);
void pep_lock_release(int fd);

#endif
