/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: the length of a TCP header. */
#ifndef _FUZZ_LINUX_TCP_H
#define _FUZZ_LINUX_TCP_H

#include_next <linux/tcp.h>
#include <linux/skbuff.h>

static inline unsigned int __tcp_hdrlen(const struct tcphdr *th)
{
	return th->doff * 4;
}

#endif
