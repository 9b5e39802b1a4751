/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: which ICMP messages are errors, RFC 792. */
#ifndef _FUZZ_LINUX_ICMP_H
#define _FUZZ_LINUX_ICMP_H

#include_next <linux/icmp.h>
#include <linux/types.h>

static inline bool icmp_is_err(int type)
{
	return type == ICMP_DEST_UNREACH || type == ICMP_SOURCE_QUENCH ||
	       type == ICMP_REDIRECT || type == ICMP_TIME_EXCEEDED ||
	       type == ICMP_PARAMETERPROB;
}

#endif
