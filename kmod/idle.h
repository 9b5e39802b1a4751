/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_IDLE_H
#define _PEP_IDLE_H

#include <linux/types.h>

struct pep_flow;

unsigned long pep_idle_time(struct pep_flow *flow);
bool pep_idle_over(struct pep_flow *flow);
bool pep_idle_lasts(const struct pep_flow *flow);
unsigned long pep_idle_again(const struct pep_flow *flow, unsigned long wait);

#endif
