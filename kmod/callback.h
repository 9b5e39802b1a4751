/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_CALLBACK_H
#define _PEP_CALLBACK_H

#include <linux/types.h>

struct pep_flow;
struct sock;

void pep_callback_attach(struct pep_flow *flow, struct sock *sk);
bool pep_callback_owns(const struct sock *sk);

#endif
