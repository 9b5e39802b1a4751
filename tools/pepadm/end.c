// SPDX-License-Identifier: GPL-2.0
#include "end.h"

#include <arpa/inet.h>
#include <stdio.h>

#include <linux/pep.h>

#include "out.h"

/**
 * pep_end_get() - read address and port of one end
 * @end: result
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
 * @subscriber: the end on the wireless side
 * @server: the end on the server side
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
 * @text: result, PEP_END_LEN bytes
 */
void pep_end_text(const struct pep_end *end, char *text)
{
	snprintf(text, PEP_END_LEN,
		 end->family == AF_INET6 ? "[%s]:%u" : "%s:%u",
		 end->addr, end->port);
}

/**
 * pep_end_show() - show one end
 * @key: its key in JSON
 * @end: the end
 *
 * It is an object in JSON, "ADDR:PORT" in text.
 */
void pep_end_show(const char *key, const struct pep_end *end)
{
	char text[PEP_END_LEN];

	pep_end_text(end, text);
	pep_out_open_object(key);
	pep_out_string("addr", NULL, end->addr);
	pep_out_uint("port", NULL, end->port);
	pep_out_close_object();
	pep_out_string(NULL, "", text);
}

/**
 * pep_end_show_both() - show both ends of a connection, and their family
 * @subscriber: the end on the wireless side
 * @server: the end on the server side
 * @opener: side of the end that opened the connection, the first one in text
 */
void pep_end_show_both(const struct pep_end *subscriber,
		       const struct pep_end *server, __u64 opener)
{
	pep_out_string("family", NULL,
		       server->family == AF_INET6 ? "inet6" : "inet");
	if (opener == PEP_SIDE_SERVER) {
		pep_end_show("server", server);
		pep_out_word("->");
		pep_end_show("subscriber", subscriber);
	} else {
		pep_end_show("subscriber", subscriber);
		pep_out_word("->");
		pep_end_show("server", server);
	}
}

/**
 * pep_end_show_dev() - show the device of an end, when it is known
 * @ifindex: attribute with its number, or NULL
 * @dev: attribute with its name, NULL when the device is gone
 */
void pep_end_show_dev(const struct nlattr *ifindex, const struct nlattr *dev)
{
	char gone[sizeof("if4294967295")];

	if (!ifindex)
		return;
	snprintf(gone, sizeof(gone), "if%u",
		 (unsigned int)pep_nl_uint(ifindex));
	pep_out_string(NULL, pep_out_detail("dev"),
		       dev ? pep_nl_string(dev) : gone);
	if (dev)
		pep_out_string("dev", NULL, pep_nl_string(dev));
	pep_out_uint("ifindex", NULL, pep_nl_uint(ifindex));
}
