/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_EDGE_H
#define _PEP_EDGE_H

#include <linux/tcp.h>
#include <uapi/linux/pep.h>

struct pep_conn;
struct pep_flow;
struct pep_packet;
struct sk_buff;

void pep_edge_cut(struct pep_conn *conn, const struct pep_flow *flow);
void pep_edge_offered(struct pep_conn *conn, enum pep_side side,
		      const struct tcp_sock *tp);
void pep_edge_back(struct pep_conn *conn, const struct pep_flow *flow);
void pep_edge_raise(struct pep_conn *conn, enum pep_side side,
		    struct sk_buff *skb, struct pep_packet *pkt);

#endif
