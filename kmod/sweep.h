/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_SWEEP_H
#define _PEP_SWEEP_H

#include <linux/types.h>

struct pep_conn;
struct pep_net;

bool pep_sweep_silent(const struct pep_conn *conn, unsigned int stage);
void pep_sweep_start(struct pep_net *pn);
void pep_sweep_purge(struct pep_net *pn);

#endif
