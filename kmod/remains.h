/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_REMAINS_H
#define _PEP_REMAINS_H

struct pep_net;

void pep_remains_init(struct pep_net *pn);
void pep_remains_schedule(struct pep_net *pn);
void pep_remains_stop(struct pep_net *pn);

#endif
