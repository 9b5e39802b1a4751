/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_STATE_H
#define _PEP_STATE_H

#include <linux/types.h>

struct pep_conn;
struct pep_net;
struct sk_buff;

bool pep_state_whole(const struct pep_conn *conn);
int pep_state_fill(struct sk_buff *skb, const struct pep_net *pn,
		   const struct pep_conn *conn);

#endif
