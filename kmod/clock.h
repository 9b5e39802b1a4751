/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_CLOCK_H
#define _PEP_CLOCK_H

#include <linux/types.h>
#include <uapi/linux/pep.h>

struct pep_flow;

bool pep_clock_goes_on(const struct pep_flow *flow, bool asked);
u32 pep_clock_seen(const struct pep_flow *flow, enum pep_side side);
bool pep_clock_shown(const struct pep_flow *flow);
bool pep_clock_ask(struct pep_flow *flow);
void pep_clock_advance(struct pep_flow *flow, enum pep_side side);

#endif
