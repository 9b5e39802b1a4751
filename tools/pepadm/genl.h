/* SPDX-License-Identifier: GPL-2.0 */
/* Generic netlink: the family of the pep module. */
#ifndef _PEPADM_GENL_H
#define _PEPADM_GENL_H

#include <stddef.h>

#include <linux/types.h>

#include "nl.h"

/**
 * struct pep_genl - a socket to the pep module
 * @nl: the netlink socket
 * @family: number that the kernel gave the module's family
 * @flows: number that it gave the multicast group of flows, 0 for none
 * @conns: the same for the group of connections that are followed
 */
struct pep_genl {
	struct pep_nl nl;
	__u16 family;
	__u32 flows;
	__u32 conns;
};

/* Hint for a user whose kernel does not have our family. */
#define PEP_GENL_HINT "is the pep module loaded? (modprobe pep)"

enum pep_exit pep_genl_open(struct pep_genl *genl);
void pep_genl_close(struct pep_genl *genl);
void pep_genl_request(const struct pep_genl *genl, struct pep_nl_request *req,
		      __u8 cmd, __u16 flags);
enum pep_exit pep_genl_talk(struct pep_genl *genl, struct pep_nl_request *req,
			    mnl_cb_t cb, void *data);
enum pep_exit pep_genl_ask(__u8 cmd, __u16 flags, mnl_cb_t cb, void *data);
enum pep_exit pep_genl_show(__u8 cmd, __u16 flags, mnl_cb_t show);
void pep_genl_parse(const struct nlmsghdr *nlh, const struct nlattr **tb,
		    __u16 max);
const char *pep_genl_name(const char * const *names, size_t n,
			  const struct nlattr *attr);

#endif
