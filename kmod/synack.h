/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_SYNACK_H
#define _PEP_SYNACK_H

struct pep_conn;
struct pep_net;
struct sk_buff;

void pep_synack_keep(struct pep_net *pn, struct pep_conn *conn,
		     const struct sk_buff *skb);
void pep_synack_stop(struct pep_net *pn);

#endif
