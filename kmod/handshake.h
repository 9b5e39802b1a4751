/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_HANDSHAKE_H
#define _PEP_HANDSHAKE_H

#include <uapi/linux/pep.h>

#include "packet.h"
#include "stat-gen.h"

struct pep_conn;
struct pep_gen;
struct pep_net;

struct pep_conn *pep_handshake_new(struct pep_net *pn, enum pep_side side,
				   const struct sk_buff *skb,
				   const struct pep_packet *pkt,
				   enum pep_stat *reason);
void pep_handshake_syn(struct pep_gen *gen, enum pep_side side,
		       struct sk_buff *skb, const struct pep_packet *pkt,
		       enum pep_stat reason);
void pep_handshake_answer(struct pep_net *pn, struct pep_conn *conn,
			  enum pep_side side, struct sk_buff *skb,
			  const struct pep_packet *pkt);
void pep_handshake_complete(struct pep_net *pn, const struct pep_gen *gen,
			    struct pep_conn *conn);

#endif
