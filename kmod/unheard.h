/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_UNHEARD_H
#define _PEP_UNHEARD_H

#include "leg.h"
#include "track.h"

struct pep_packet;

void pep_unheard_note(const struct pep_conn *conn, enum pep_side side,
		      const struct pep_packet *pkt);
bool pep_unheard_arrived(const struct pep_conn *conn, const struct pep_flow *flow,
			 enum pep_side side);
bool pep_unheard_repeat(const struct pep_conn *conn, struct pep_flow *flow);

#endif
