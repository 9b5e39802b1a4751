/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_FRAGMENT_H
#define _PEP_FRAGMENT_H

#include <linux/skbuff.h>

#include "net.h"

bool pep_fragment_gather(struct pep_net *pn, struct sk_buff *skb);

#endif
