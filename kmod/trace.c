// SPDX-License-Identifier: GPL-2.0
/*
 * The code of the tracepoints that trace.h defines. Callers only pass pointers;
 * this code reads the structures that they point to.
 */

#include "trace.h"

#include <linux/in.h>
#include <net/tcp.h>

#include "flow.h"
#include "name.h"
#include "net.h"
#include "path.h"
#include "track.h"
#include "tuple.h"

/* One end of a connection as a socket address. */
static void pep_trace_addr(void *to, u32 family, const union pep_addr *addr,
			   __be16 port)
{
	memset(to, 0, sizeof(struct sockaddr_in6));
	if (family == AF_INET6) {
		struct sockaddr_in6 *sin6 = to;

		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = port;
		sin6->sin6_addr = addr->v6;
	} else {
		struct sockaddr_in *sin = to;

		sin->sin_family = AF_INET;
		sin->sin_port = port;
		sin->sin_addr.s_addr = addr->v4;
	}
}

/* Round trip time of a leg, us; 0 before a sample and without a socket. */
static u32 pep_trace_srtt(const struct pep_leg *leg)
{
	return leg->sk ? READ_ONCE(tcp_sk(leg->sk)->srtt_us) >> 3 : 0;
}

/* Congestion window of a leg, segments. */
static u32 pep_trace_cwnd(const struct pep_leg *leg)
{
	return tcp_snd_cwnd(tcp_sk(leg->sk));
}

/* Segments that a leg has sent again. */
static u32 pep_trace_retrans(const struct pep_leg *leg)
{
	return leg->sk ? READ_ONCE(tcp_sk(leg->sk)->total_retrans) : 0;
}

/* Including the header again generates the code. */
#define CREATE_TRACE_POINTS
#include "trace.h"
