/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_EDGE_H
#define _PEP_EDGE_H

#include <uapi/linux/pep.h>

struct pep_conn;
struct pep_flow;
struct pep_packet;
struct sk_buff;

void pep_edge_promised(struct pep_conn *conn, const struct pep_flow *flow);
void pep_edge_imported(struct pep_conn *conn);
void pep_edge_raise(const struct pep_conn *conn, enum pep_side side,
		    struct sk_buff *skb, struct pep_packet *pkt);

#endif
