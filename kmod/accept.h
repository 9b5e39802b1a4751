/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_ACCEPT_H
#define _PEP_ACCEPT_H

#include "listener.h"
#include "pool.h"

void pep_accept_take(struct pep_listener *l, struct sock *child,
		     struct pep_sock *shell, u8 dsfield, u64 syn_at);

#endif
