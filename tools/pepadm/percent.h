/* SPDX-License-Identifier: GPL-2.0 */
/* Shares in percent. */
#ifndef _PEPADM_PERCENT_H
#define _PEPADM_PERCENT_H

#include <stdbool.h>

#include <linux/types.h>

bool pep_percent_read(const char *text, __u64 *share);
void pep_percent_write(char *text, __u64 share);

#endif
