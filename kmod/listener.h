/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_LISTENER_H
#define _PEP_LISTENER_H

#include <linux/net.h>
#include <uapi/linux/pep.h>

#include "queue.h"

struct pep_gen;
struct pep_sock;
struct sock;

/**
 * struct pep_listener - accepts the openers of one family on one side
 * @job: accepts connections that have completed their handshake
 * @gen: generation whose settings the connections get
 * @sock: the listening socket; NULL when the host lacks the family
 * @sk: the same socket for softirq; NULL when closed; RCU
 * @family: AF_INET or AF_INET6
 * @opener: side of the openers, enum pep_side
 *
 * Aligned: sk_user_data keeps flags in the lowest bits of its address.
 */
struct pep_listener {
	struct pep_job job;
	struct pep_gen *gen;
	struct socket *sock;
	struct sock __rcu *sk;
	u16 family;
	u8 opener;
} __aligned(8);

/**
 * typedef pep_listener_take - take a connection that a listener accepted
 * @l: listener
 * @child: the connection, with a reference that is consumed
 * @shell: socket to graft it on; consumed
 *
 * Context: softirq, RCU read side.
 */
typedef void pep_listener_take(struct pep_listener *l, struct sock *child,
			       struct pep_sock *shell);

void pep_listener_set_take(pep_listener_take *take);
int pep_listener_open(struct pep_listener *l, struct pep_gen *gen, int family,
		      enum pep_side opener);
void pep_listener_hide(struct pep_listener *l);
void pep_listener_close(struct pep_listener *l);
void pep_listener_settle(struct pep_listener *l);
bool pep_listener_owns(const struct sock *sk);

#endif
