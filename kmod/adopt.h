/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_ADOPT_H
#define _PEP_ADOPT_H

#include "stat-gen.h"
#include "track.h"

bool pep_adopt_ready(const struct pep_conn *conn);
void pep_adopt_prepare(const struct pep_conn *conn);
void pep_adopt_give_up(struct pep_net *pn, struct pep_conn *conn,
		       enum pep_stat reason);
void pep_adopt_outdated(struct pep_net *pn, struct pep_conn *conn);
void pep_adopt_ended(struct pep_flow *flow, enum pep_stat cause);
void pep_adopt_own(struct pep_conn *conn, struct pep_flow *flow);
unsigned int pep_adopt_run(struct pep_job *job, struct pep_queue *queue);

#endif
