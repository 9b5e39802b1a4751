/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_WINDOW_H
#define _PEP_WINDOW_H

#include <uapi/linux/pep.h>

#include "flow.h"

void pep_window_wait(struct pep_leg *leg);
void pep_window_begin(struct pep_leg *leg);
void pep_window_hold(struct pep_leg *leg);
void pep_window_couple(struct pep_flow *flow, enum pep_side from, u32 done);
void pep_window_tell(struct pep_flow *flow);
void pep_window_renew(struct pep_flow *flow, enum pep_side to);

#endif
