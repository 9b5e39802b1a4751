/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_REPAIR_H
#define _PEP_REPAIR_H

#include "flow.h"
#include "queue.h"
#include "track.h"

enum pep_stat pep_repair_leg(struct pep_flow *flow, const struct pep_conn *conn,
			     enum pep_side side, struct pep_queue *queue);
void pep_repair_end(struct pep_flow *flow, enum pep_stat cause);

#endif
