// SPDX-License-Identifier: GPL-2.0
/* Subscribers as text: an address, or a network of so many bits. */
#include "subscriber.h"

#include <stdio.h>

#include "nl.h"

/**
 * pep_subscriber_text() - write a subscriber
 * @addr: attribute with the address, 4 or 16 bytes
 * @prefix: attribute with the number of bits that count
 * @text: result
 */
void pep_subscriber_text(const struct nlattr *addr, const struct nlattr *prefix,
			 char text[PEP_SUBSCRIBER_LEN])
{
	bool v6 = mnl_attr_get_payload_len(addr) == sizeof(struct in6_addr);
	unsigned int bits = pep_nl_uint(prefix);
	char name[INET6_ADDRSTRLEN];

	text[0] = '\0';
	if (!inet_ntop(v6 ? AF_INET6 : AF_INET, mnl_attr_get_payload(addr), name,
		       sizeof(name)))
		return;
	if (bits < 8 * mnl_attr_get_payload_len(addr))
		snprintf(text, PEP_SUBSCRIBER_LEN, "%s/%u", name, bits);
	else
		snprintf(text, PEP_SUBSCRIBER_LEN, "%s", name);
}
