/* SPDX-License-Identifier: GPL-2.0 */
/* The subscribers that use most of their shares. */
#ifndef _PEPADM_SHARE_H
#define _PEPADM_SHARE_H

#include <linux/types.h>

#include "args.h"
#include "err.h"

/**
 * struct pep_share_limits - a subscriber's shares
 * @connections: in the table of connections
 * @flows: flows
 * @memory: memory of these, bytes
 */
struct pep_share_limits {
	__u64 connections;
	__u64 flows;
	__u64 memory;
};

enum pep_exit pep_share_top(struct pep_args *args,
			    const struct pep_share_limits *limits);

#endif
