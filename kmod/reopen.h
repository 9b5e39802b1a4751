/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_REOPEN_H
#define _PEP_REOPEN_H

#include "follow.h"

enum pep_follow_verdict pep_reopen(struct pep_net *pn, struct sk_buff *skb,
				   const struct pep_packet *pkt);

#endif
