/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_STEER_H
#define _PEP_STEER_H

#include <linux/skbuff.h>

struct pep_profile;

bool pep_steer(struct sk_buff *skb, struct pep_profile *profile,
	       unsigned int side);

#endif
