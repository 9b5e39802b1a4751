/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_SOURCE_H
#define _PEP_SOURCE_H

#include <linux/skbuff.h>

#include "packet.h"
#include "stat-gen.h"

enum pep_stat pep_source_check(struct net *net, struct sk_buff *skb,
			       const struct pep_packet *pkt);

#endif
