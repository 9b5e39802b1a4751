/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_STEER_H
#define _PEP_STEER_H

#include <linux/skbuff.h>
#include <uapi/linux/pep.h>

#include "stat.h"

struct pep_net;
struct pep_packet;
struct pep_profile;

bool pep_steer(struct sk_buff *skb, struct pep_profile *profile,
	       enum pep_side side);
enum pep_stat pep_steer_socket(struct pep_net *pn, struct sock *sk,
			       struct sk_buff *skb, struct pep_packet *pkt);
enum pep_stat pep_steer_over(struct pep_net *pn, struct sk_buff *skb,
			     const struct pep_packet *pkt);

#endif
