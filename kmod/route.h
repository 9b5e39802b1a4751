/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_ROUTE_H
#define _PEP_ROUTE_H

#include <net/dst.h>

#include "tuple.h"

u32 pep_route_hash6(const struct sock *sk);
struct net_device *pep_route_receiver(struct net_device *dev);
bool pep_route_aside(const struct sock *sk, int ifindex, u8 dsfield);
bool pep_route_uses(struct net *net, const struct dst_entry *dst, int ifindex);
struct dst_entry *pep_route_out(struct net *net, const struct pep_tuple *tuple,
				int oif, u32 mark, u8 dsfield);

#endif
