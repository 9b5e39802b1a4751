/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: VLAN tags that a device has taken off. */
#ifndef _FUZZ_LINUX_IF_VLAN_H
#define _FUZZ_LINUX_IF_VLAN_H

#include <linux/skbuff.h>

static inline bool skb_vlan_tag_present(const struct sk_buff *skb)
{
	return skb->tagged;
}

#endif
