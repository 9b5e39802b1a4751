/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_STRAY_H
#define _PEP_STRAY_H

struct pep_net;

void pep_stray_init(struct pep_net *pn);
void pep_stray_schedule(struct pep_net *pn);
void pep_stray_stop(struct pep_net *pn);

#endif
