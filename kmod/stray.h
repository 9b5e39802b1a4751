/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_STRAY_H
#define _PEP_STRAY_H

#include <linux/types.h>

struct pep_net;

void pep_stray_init(struct pep_net *pn);
void pep_stray_start(struct pep_net *pn);
bool pep_stray_note(struct pep_net *pn, int ifindex);
bool pep_stray_attach(struct pep_net *pn, int ifindex);
void pep_stray_detach(struct pep_net *pn, int ifindex);
void pep_stray_stop(struct pep_net *pn);

#endif
