/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_XMIT_H
#define _PEP_XMIT_H

struct sock;
struct tcphdr;

int pep_xmit_init(void);
void pep_xmit_attach(struct sock *sk);

#if IS_ENABLED(CONFIG_KUNIT)
void pep_xmit_unsack(struct tcphdr *th);
#endif

#endif
