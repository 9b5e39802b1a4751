/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_IPSEC_H
#define _PEP_IPSEC_H

#include <linux/types.h>

struct sk_buff;

bool pep_ipsec_admits(struct sk_buff *skb);
bool pep_ipsec_own(struct sk_buff *skb);

#endif
