/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_SOCKET_H
#define _PEP_SOCKET_H

#include <uapi/linux/pep.h>

struct pep_gen;
struct sock;
struct socket;

/*
 * Payload that a leg may hold unsent, bytes: enough to keep a fast link busy
 * between two softirqs; more would only wait.
 */
#define PEP_SOCKET_NOTSENT	(256 * 1024)

int pep_socket_set_cc(struct pep_gen *gen, struct sock *sk, const char *cc);
int pep_socket_make(struct pep_gen *gen, int family, enum pep_side side,
		    struct socket **res);

#endif
