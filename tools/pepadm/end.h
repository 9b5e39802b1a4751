/* SPDX-License-Identifier: GPL-2.0 */
/* The ends of a connection. */
#ifndef _PEPADM_END_H
#define _PEPADM_END_H

#include <netinet/in.h>

#include <linux/types.h>

#include "nl.h"

/* Room for "[ADDR]:PORT". */
#define PEP_END_LEN (INET6_ADDRSTRLEN + sizeof("[]:65535"))

/**
 * struct pep_end - one end of a connection
 * @family: AF_INET or AF_INET6
 * @addr: address as text, "-" when the kernel sent none
 * @port: port, host byte order
 */
struct pep_end {
	int family;
	char addr[INET6_ADDRSTRLEN];
	__u16 port;
};

void pep_end_get(struct pep_end *end, __u64 family, const struct nlattr *addr,
		 const struct nlattr *port);
void pep_end_read(const struct nlattr **tb, struct pep_end *subscriber,
		  struct pep_end *server);
void pep_end_text(const struct pep_end *end, char *text);
void pep_end_show(const char *key, const struct pep_end *end);
void pep_end_show_both(const struct pep_end *subscriber,
		       const struct pep_end *server, __u64 opener);
void pep_end_show_dev(const struct nlattr *ifindex, const struct nlattr *dev);

#endif
