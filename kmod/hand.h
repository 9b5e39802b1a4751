/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_HAND_H
#define _PEP_HAND_H

#include <linux/skbuff.h>

#include "stat.h"

struct pep_net;
struct pep_packet;
struct sock;

bool pep_hand_leg(struct pep_net *pn, struct sock *sk, struct sk_buff *skb,
		  struct pep_packet *pkt);
enum pep_stat pep_hand_socket(struct pep_net *pn, struct sock *sk,
			      struct sk_buff *skb, struct pep_packet *pkt);
void pep_hand_over(struct pep_net *pn, struct sk_buff *skb,
		   const struct pep_packet *pkt);

#endif
