/* SPDX-License-Identifier: GPL-2.0 */
/* Rates in the way of iproute2. */
#ifndef _PEPADM_RATE_H
#define _PEPADM_RATE_H

#include <stdbool.h>

#include <linux/types.h>

/* Room for a rate as text. */
#define PEP_RATE_LEN 32

bool pep_rate_read(const char *text, __u64 *rate);
void pep_rate_write(char *text, __u64 rate);
void pep_rate_brief(char *text, __u64 rate);

#endif
