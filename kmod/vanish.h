/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_VANISH_H
#define _PEP_VANISH_H

struct pep_net;

void pep_vanish_init(struct pep_net *pn);
void pep_vanish_schedule(struct pep_net *pn);
void pep_vanish_stop(struct pep_net *pn);

#endif
