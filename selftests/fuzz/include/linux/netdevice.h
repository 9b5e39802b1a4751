/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: devices, which no function under test reads. */
#ifndef _FUZZ_LINUX_NETDEVICE_H
#define _FUZZ_LINUX_NETDEVICE_H

#include <linux/types.h>

struct net;

struct net_device {
	int ifindex;
};

static inline bool netif_is_l3_slave(const struct net_device *dev)
{
	return false;
}

static inline bool netif_is_l3_master(const struct net_device *dev)
{
	return false;
}

#endif
