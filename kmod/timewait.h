/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_TIMEWAIT_H
#define _PEP_TIMEWAIT_H

struct pep_net;

void pep_timewait_init(struct pep_net *pn);
void pep_timewait_schedule(struct pep_net *pn);
void pep_timewait_stop(struct pep_net *pn);

#endif
