/* SPDX-License-Identifier: GPL-2.0 */
/* How many tc actions use profiles. */
#ifndef _PEPADM_USES_H
#define _PEPADM_USES_H

#include <linux/types.h>

#include "err.h"

enum pep_exit pep_uses(const char *profile, __u64 *n);

#endif
