/* SPDX-License-Identifier: GPL-2.0 */
/* Waiting for network devices. */
#ifndef _PEPADM_WAIT_H
#define _PEPADM_WAIT_H

#include <linux/types.h>

#include "err.h"

__u64 pep_wait_end(__u32 seconds);
bool pep_wait_over(__u64 end);
enum pep_exit pep_wait_link(const char *name, __u64 end);

#endif
