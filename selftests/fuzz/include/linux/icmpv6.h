/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: which ICMPv6 messages are errors that the kernel knows, RFC 4443. */
#ifndef _FUZZ_LINUX_ICMPV6_H
#define _FUZZ_LINUX_ICMPV6_H

#include_next <linux/icmpv6.h>
#include <linux/types.h>

static inline bool icmpv6_is_err(int type)
{
	return type >= ICMPV6_DEST_UNREACH && type <= ICMPV6_PARAMPROB;
}

#endif
