/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: TCP's options. */
#ifndef _FUZZ_NET_TCP_H
#define _FUZZ_NET_TCP_H

#include <linux/tcp.h>

#define TCP_MAX_WSCALE		14U

#define TCPOPT_EOL		0
#define TCPOPT_NOP		1
#define TCPOPT_MSS		2
#define TCPOPT_WINDOW		3
#define TCPOPT_SACK_PERM	4
#define TCPOPT_TIMESTAMP	8
#define TCPOPT_MD5SIG		19
#define TCPOPT_FASTOPEN		34
#define TCPOPT_EXP		254

#define TCPOLEN_MSS		4
#define TCPOLEN_WINDOW		3
#define TCPOLEN_SACK_PERM	2
#define TCPOLEN_TIMESTAMP	10

#endif
