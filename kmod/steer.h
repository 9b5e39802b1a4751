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

#endif
