/* SPDX-License-Identifier: GPL-2.0 */
/* The network namespace to work in. */
#ifndef _PEPADM_NETNS_H
#define _PEPADM_NETNS_H

#include "err.h"

enum pep_exit pep_netns_enter(const char *name);
const char *pep_netns_name(void);

#endif
