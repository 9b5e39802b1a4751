/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_LEAVE_H
#define _PEP_LEAVE_H

#include <net/dst.h>

#include "net.h"

void pep_leave_init(struct pep_net *pn);
void pep_leave_clear(struct pep_net *pn);
int pep_leave_note(struct pep_net *pn, int ifindex);
bool pep_leave_any(const struct pep_net *pn);
bool pep_leave_soon(struct pep_net *pn, int ifindex);
bool pep_leave_route(struct pep_net *pn, const struct dst_entry *dst);

#endif
