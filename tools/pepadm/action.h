/* SPDX-License-Identifier: GPL-2.0 */
/* The tc actions of a namespace that hand packets to the module. */
#ifndef _PEPADM_ACTION_H
#define _PEPADM_ACTION_H

#include <linux/types.h>

#include "nl.h"

/* How many sides there are, enum pep_side. */
#define PEP_ACTION_SIDES 2

int pep_action_filters(struct pep_nl *nl, __u64 *filters);

#endif
