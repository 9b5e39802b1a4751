// SPDX-License-Identifier: GPL-2.0
#include "end.h"

#include <arpa/inet.h>
#include <stdio.h>

#include <linux/pep.h>

/**
 * pep_end_get() - read address and port of one end
 * @end: where to
 * @family: AF_INET6, anything else for AF_INET
 * @addr: attribute with the address, NULL when the kernel sent none
 * @port: attribute with the port, NULL for 0
 */
void pep_end_get(struct pep_end *end, __u64 family, const struct nlattr *addr,
		 const struct nlattr *port)
{
	size_t want = family == AF_INET6 ? sizeof(struct in6_addr) :
					   sizeof(struct in_addr);

	end->family = family == AF_INET6 ? AF_INET6 : AF_INET;
	end->port = ntohs((__u16)pep_nl_uint(port));
	if (!addr || mnl_attr_get_payload_len(addr) != want ||
	    !inet_ntop(end->family, mnl_attr_get_payload(addr), end->addr,
		       sizeof(end->addr)))
		snprintf(end->addr, sizeof(end->addr), "-");
}

/**
 * pep_end_read() - read both ends of a flow
 * @tb: its attributes, by PEP_A_FLOW_*
 * @subscriber: the one on the wireless side
 * @server: the one on the server side
 */
void pep_end_read(const struct nlattr **tb, struct pep_end *subscriber,
		  struct pep_end *server)
{
	__u64 family = pep_nl_uint(tb[PEP_A_FLOW_FAMILY]);

	pep_end_get(subscriber, family, tb[PEP_A_FLOW_SUBSCRIBER_ADDR],
		    tb[PEP_A_FLOW_SUBSCRIBER_PORT]);
	pep_end_get(server, family, tb[PEP_A_FLOW_SERVER_ADDR],
		    tb[PEP_A_FLOW_SERVER_PORT]);
}

/**
 * pep_end_text() - write an end as "ADDR:PORT" or "[ADDR]:PORT"
 * @end: the end
 * @text: where to, PEP_END_LEN bytes
 */
void pep_end_text(const struct pep_end *end, char *text)
{
	snprintf(text, PEP_END_LEN,
		 end->family == AF_INET6 ? "[%s]:%u" : "%s:%u",
		 end->addr, end->port);
}
