/* SPDX-License-Identifier: GPL-2.0 */
/* Netlink: requests, answers, and the kernel's messages about errors. */
#ifndef _PEPADM_NL_H
#define _PEPADM_NL_H

#include <stdbool.h>
#include <stddef.h>

#include <libmnl/libmnl.h>
#include <linux/types.h>

#include "err.h"

/* Bytes that a request can have; the longest has a few hundred. */
#define PEP_NL_REQUEST_LEN 1024

/* Attributes of one request for which the user has a name. */
#define PEP_NL_FIELDS 40

/**
 * struct pep_nl_request - a request being put together
 * @nlh: its header, at the start of @buf
 * @n_fields: number of entries in use in @fields
 * @fields: the attributes for which the user has a name
 * @fields.offset: where the attribute starts, bytes from @nlh
 * @fields.name: word of the command line that its value came from
 * @buf: the request, aligned as a header has to be
 */
struct pep_nl_request {
	struct nlmsghdr *nlh;
	unsigned int n_fields;
	struct {
		__u32 offset;
		const char *name;
	} fields[PEP_NL_FIELDS];
	struct nlmsghdr buf[PEP_NL_REQUEST_LEN / sizeof(struct nlmsghdr)];
};

/**
 * struct pep_nl - a netlink socket with the last error
 * @sock: the socket
 * @seq: sequence number of the last request
 * @error: errno value of the last refusal
 * @field: word of the command line that the kernel refused, or NULL
 * @own: the text came from the pep module rather than from the kernel
 * @text: the kernel's message about it; empty when there is none
 */
struct pep_nl {
	struct mnl_socket *sock;
	__u32 seq;
	int error;
	const char *field;
	bool own;
	char text[256];
};

enum pep_exit pep_nl_open(struct pep_nl *nl, int bus);
void pep_nl_close(struct pep_nl *nl);

void *pep_nl_request(struct pep_nl_request *req, __u16 type,
		     __u16 flags, size_t header_len);
void pep_nl_put_string(struct pep_nl_request *req, __u16 type,
		       const char *value, const char *field);
void pep_nl_put(struct pep_nl_request *req, __u16 type, const void *data,
		size_t len, const char *field);
void pep_nl_put_u32(struct pep_nl_request *req, __u16 type,
		    __u32 value, const char *field);

int pep_nl_talk(struct pep_nl *nl, struct pep_nl_request *req, mnl_cb_t cb,
		void *data);
enum pep_exit pep_nl_failed(const struct pep_nl *nl, const char *hint);

void pep_nl_parse(const struct nlmsghdr *nlh, size_t header_len,
		  const struct nlattr **tb, __u16 max);
void pep_nl_parse_nested(const struct nlattr *nest, const struct nlattr **tb,
			 __u16 max);
__u64 pep_nl_uint(const struct nlattr *attr);
const char *pep_nl_string(const struct nlattr *attr);

#endif
