/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_HANDSHAKE_H
#define _PEP_HANDSHAKE_H

#include "flow.h"
#include "packet.h"

/* An opener that gets SYN-ACKs gives up by then (tcp_synack_retries 5). */
#define PEP_HANDSHAKE_TIMEOUT	(64 * HZ)

struct pep_flow *pep_handshake_flow(struct sock *sk);
struct pep_flow *pep_handshake_find(struct net *net,
				    const struct pep_tuple *tuple, int bound);
bool pep_handshake_give_up(struct pep_flow *flow, unsigned int cause);
void pep_handshake_offer(struct pep_gen *gen, unsigned int opener,
			 struct sk_buff *skb);
void pep_handshake_copy_dscp(const struct pep_flow *flow, struct sock *sk,
			     u8 dsfield);
bool pep_handshake_synack(struct sock *sk, struct sk_buff *skb,
			  const struct tcphdr *th);
bool pep_handshake_mirror(struct pep_net *pn, struct sock *sk,
			  struct sk_buff *skb, bool icmp);
bool pep_handshake_opener_reset(struct pep_net *pn, struct sock *req,
				struct sk_buff *skb,
				const struct pep_packet *pkt);
void pep_handshake_opener_speaks(struct pep_gen *gen, unsigned int opener,
				 const struct sk_buff *skb,
				 const struct pep_packet *pkt);
bool pep_handshake_awaits(struct pep_gen *gen, unsigned int opener,
			  const struct sk_buff *skb,
			  const struct pep_packet *pkt);
void pep_handshake_run(struct pep_flow *flow);

#endif
