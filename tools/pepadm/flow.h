/* SPDX-License-Identifier: GPL-2.0 */
/* Flows, as events show them, too. */
#ifndef _PEPADM_FLOW_H
#define _PEPADM_FLOW_H

#include "nl.h"

void pep_flow_show(const struct nlattr **tb);

#endif
