/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_EDGE_H
#define _PEP_EDGE_H

#include <uapi/linux/pep.h>

struct pep_conn;
struct pep_flow;
struct pep_leg;
struct pep_packet;
struct sk_buff;

void pep_edge_cut(const struct pep_conn *conn, struct pep_flow *flow);
void pep_edge_offered(const struct pep_conn *conn, enum pep_side side,
		      struct pep_leg *leg);
void pep_edge_back(struct pep_conn *conn, struct pep_flow *flow);
void pep_edge_raise(struct pep_conn *conn, enum pep_side side,
		    struct sk_buff *skb, struct pep_packet *pkt);

#endif
