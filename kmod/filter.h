/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_FILTER_H
#define _PEP_FILTER_H

#include <uapi/linux/pep.h>

#include "flow.h"

struct genl_info;

/**
 * struct pep_filter_end - condition for an end of a connection
 * @addr: address
 * @prefix: number of its significant bits
 * @port: port, 0 for any
 */
struct pep_filter_end {
	union pep_addr addr;
	u8 prefix;
	__be16 port;
};

/**
 * struct pep_filter - selected flows: those that match all of it
 * @id: number of the flow, 0 for any
 * @family: AF_INET or AF_INET6, 0 for any
 * @end: ends, by the enum pep_side that they are on
 * @state: enum pep_flow_state, or U32_MAX for any
 * @profile: name of its profile, NULL for any
 * @ifindex: device that it receives from, 0 for any; a flow that is being opened and has
 *	no route to its target matches any device
 * @older: least age, ns
 * @bytes: least payload relayed, both ways together, bytes
 * @empty: the request sets no condition
 */
struct pep_filter {
	u32 id;
	u32 family;
	struct pep_filter_end end[2];
	u32 state;
	const char *profile;
	int ifindex;
	u64 older;
	u64 bytes;
	bool empty;
};

int pep_filter_parse_end(const struct genl_info *info, int addr, int prefix,
			 int port, const char *what, u32 *family,
			 struct pep_filter_end *end);
u64 pep_filter_uint(const struct genl_info *info, int attr);
u64 pep_filter_older(const struct genl_info *info, int attr);
int pep_filter_parse(const struct genl_info *info, struct pep_filter *filter);
bool pep_filter_ends(u32 family, const struct pep_filter_end *end,
		     enum pep_side opener, const struct pep_tuple *t);
bool pep_filter_match(const struct pep_flow *flow, const void *filter);

#endif
