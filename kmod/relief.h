/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_RELIEF_H
#define _PEP_RELIEF_H

struct pep_flow;
struct pep_net;

void pep_relief_note(struct pep_flow *flow);
void pep_relief_init(struct pep_net *pn);
void pep_relief_stop(struct pep_net *pn);

#endif
