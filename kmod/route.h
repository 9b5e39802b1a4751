/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_ROUTE_H
#define _PEP_ROUTE_H

#include <net/dst.h>

#include "tuple.h"

bool pep_route_uses(const struct dst_entry *dst, struct net_device *dev);
struct dst_entry *pep_route_out(struct net *net, const struct pep_tuple *tuple,
				int oif, u32 mark, u8 dsfield);

#endif
