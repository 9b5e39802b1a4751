/* SPDX-License-Identifier: GPL-2.0 */
/* When a connection that is followed is split. */
#ifndef _PEPADM_SPLIT_H
#define _PEPADM_SPLIT_H

#include <stdbool.h>

#include <linux/types.h>

#include "err.h"

/* Room for triggers as text. */
#define PEP_SPLIT_LEN 32

/**
 * struct pep_split - events at which a connection is taken over
 * @trigger: flags of enum pep_split_trigger, 0 for never
 * @bytes: payload of either end that PEP_SPLIT_TRIGGER_BYTES waits for, bytes;
 *	PEP_SPLIT_BYTES_DEFAULT without that flag
 */
struct pep_split {
	__u32 trigger;
	__u32 bytes;
};

enum pep_exit pep_split_read(const char *field, const char *text,
			     struct pep_split *split);
enum pep_exit pep_split_check(const char *field, const char *text);
void pep_split_write(char *text, const struct pep_split *split);
bool pep_split_usual(const struct pep_split *split);
void pep_split_show(const char *label, const struct pep_split *split);

#endif
