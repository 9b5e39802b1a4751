/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: there are no VRFs. */
#ifndef _FUZZ_NET_L3MDEV_H
#define _FUZZ_NET_L3MDEV_H

#include <linux/netdevice.h>

static inline int l3mdev_master_ifindex_rcu(const struct net_device *dev)
{
	return 0;
}

#endif
