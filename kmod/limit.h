/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_LIMIT_H
#define _PEP_LIMIT_H

#include "net.h"

struct pep_gen;

/* Defaults: about 2 GiB of flows at most, 64 MiB of those being opened. */
#define PEP_LIMIT_FLOWS		262144
#define PEP_LIMIT_PENDING	4096

/* Default bits of an address that make a subscriber: one host, and what a subscriber
 * of IPv6 has at least.
 */
#define PEP_LIMIT_PREFIX4	32
#define PEP_LIMIT_PREFIX6	64

void pep_limit_init(struct pep_net *pn);
void pep_limit_refused(struct pep_net *pn, unsigned int counter);
void pep_limit_ended(struct pep_net *pn);
void pep_limit_drain(struct pep_net *pn, bool on);
unsigned int pep_limit_check(const struct pep_gen *gen);
bool pep_limit_pending(struct pep_net *pn);

#endif
