/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_STAMP_H
#define _PEP_STAMP_H

struct pep_flow;
struct sock;

void pep_stamp(struct pep_flow *flow, unsigned int time);
void pep_stamp_leg(struct pep_flow *flow, const struct sock *sk);

#endif
