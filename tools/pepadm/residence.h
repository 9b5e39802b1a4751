/* SPDX-License-Identifier: GPL-2.0 */
/* Samples of the residence of payload. */
#ifndef _PEPADM_RESIDENCE_H
#define _PEPADM_RESIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

struct nlattr;

__u64 pep_residence_samples(const struct nlattr *attr, size_t width,
			    size_t bucket);
void pep_residence_show(const struct nlattr *attr, size_t width, bool text);

#endif
