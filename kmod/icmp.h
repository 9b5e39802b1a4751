/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_ICMP_H
#define _PEP_ICMP_H

#include <linux/skbuff.h>

#include "net.h"
#include "packet.h"
#include "stat-gen.h"

enum pep_stat pep_icmp_error(struct pep_net *pn, struct sk_buff *skb,
			     const struct pep_packet *pkt, unsigned long sides);

#endif
