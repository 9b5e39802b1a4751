/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_FIND_H
#define _PEP_FIND_H

#include <linux/types.h>

struct pep_conn;
struct pep_net;
struct pep_packet;
struct sk_buff;
struct sock;

struct sock *pep_find_leg(const struct pep_conn *conn, int vrf,
			  const struct pep_packet *pkt);
bool pep_find_over(struct pep_net *pn, const struct sk_buff *skb,
		   const struct pep_packet *pkt);

#endif
