/* SPDX-License-Identifier: GPL-2.0 */
/* Subscribers as text. */
#ifndef _PEPADM_SUBSCRIBER_H
#define _PEPADM_SUBSCRIBER_H

#include <arpa/inet.h>

struct nlattr;

/* Room for any "ADDR/BITS" that the kernel may send. */
#define PEP_SUBSCRIBER_LEN (INET6_ADDRSTRLEN + sizeof("/4294967295"))

void pep_subscriber_text(const struct nlattr *addr, const struct nlattr *prefix,
			 char text[PEP_SUBSCRIBER_LEN]);

#endif
