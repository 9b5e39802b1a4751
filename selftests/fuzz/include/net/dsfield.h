/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: the byte of DSCP and ECN. */
#ifndef _FUZZ_NET_DSFIELD_H
#define _FUZZ_NET_DSFIELD_H

#include <linux/ip.h>
#include <linux/ipv6.h>

static inline u8 ipv4_get_dsfield(const struct iphdr *iph)
{
	return iph->tos;
}

static inline u8 ipv6_get_dsfield(const struct ipv6hdr *iph)
{
	return iph->priority << 4 | iph->flow_lbl[0] >> 4;
}

#endif
