/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_LIMIT_H
#define _PEP_LIMIT_H

#include "net.h"
#include "stat-gen.h"

struct pep_gen;
struct pep_path;

/* Memory that a connection in the table takes, bytes. */
#define PEP_LIMIT_FOLLOWED_SIZE	256

void pep_limit_defaults(struct pep_limits *limits);
void pep_limit_refused(struct pep_net *pn, enum pep_stat counter,
		       const struct pep_path *path);
void pep_limit_ended(struct pep_net *pn);
void pep_limit_drain(struct pep_net *pn, bool on);
enum pep_stat pep_limit_check(const struct pep_gen *gen);
bool pep_limit_pending(struct pep_net *pn);

#endif
