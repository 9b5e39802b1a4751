/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_UNHEARD_H
#define _PEP_UNHEARD_H

#include "leg.h"
#include "track.h"

void pep_unheard_note(struct pep_leg *leg, bool fresh);
bool pep_unheard_arrived(const struct pep_conn *conn, const struct pep_flow *flow,
			 enum pep_side side);
bool pep_unheard_only(const struct pep_conn *conn, const struct pep_flow *flow);
bool pep_unheard_repeat(const struct pep_conn *conn, struct pep_flow *flow);

#endif
