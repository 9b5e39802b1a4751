// SPDX-License-Identifier: GPL-2.0
#include "nl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <linux/netlink.h>

#include "version.h"

/* Longest datagram that the kernel makes for a dump. */
#define ANSWER_LEN 32768

/* The beginning of the module's messages; ours name the program already. */
#define MODULE_PREFIX "pep: "

/**
 * pep_nl_open() - open a netlink socket in the current namespace
 * @nl: the socket
 * @bus: NETLINK_ROUTE or NETLINK_GENERIC
 *
 * Return: PEP_OK, or PEP_FAILED after a message.
 */
enum pep_exit pep_nl_open(struct pep_nl *nl, int bus)
{
	int on = 1;

	memset(nl, 0, sizeof(*nl));
	nl->sock = mnl_socket_open2(bus, SOCK_CLOEXEC);
	if (!nl->sock)
		return pep_err_failed("netlink socket: %s", strerror(errno));

	if (mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_setsockopt(nl->sock, NETLINK_EXT_ACK, &on,
				  sizeof(on)) ||
	    mnl_socket_setsockopt(nl->sock, NETLINK_CAP_ACK, &on,
				  sizeof(on))) {
		pep_err_failed("netlink socket: %s", strerror(errno));
		pep_nl_close(nl);
		return PEP_FAILED;
	}
	return PEP_OK;
}

/**
 * pep_nl_close() - close a netlink socket
 * @nl: a socket that pep_nl_open() succeeded for
 */
void pep_nl_close(struct pep_nl *nl)
{
	mnl_socket_close(nl->sock);
	nl->sock = NULL;
}

/**
 * pep_nl_request() - begin a request
 * @req: the request
 * @type: RTM_* or the number of the family
 * @flags: NLM_F_*; NLM_F_REQUEST, and NLM_F_ACK unless it is a dump, are
 *	added
 * @header_len: size of the header of the protocol, bytes
 *
 * Return: the header of the protocol, all zero.
 */
void *pep_nl_request(struct pep_nl_request *req, __u16 type,
		     __u16 flags, size_t header_len)
{
	if ((flags & NLM_F_DUMP) != NLM_F_DUMP)
		flags |= NLM_F_ACK;
	/* The library does not clear the padding between attributes. */
	memset(req, 0, sizeof(*req));
	req->nlh = mnl_nlmsg_put_header(req->buf);
	req->nlh->nlmsg_type = type;
	req->nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	return mnl_nlmsg_put_extra_header(req->nlh, header_len);
}

/* Note @field as the user's name for the attribute put next. */
static void note_field(struct pep_nl_request *req, const char *field)
{
	if (!field || req->n_fields == PEP_NL_FIELDS)
		return;
	req->fields[req->n_fields].offset = req->nlh->nlmsg_len;
	req->fields[req->n_fields].name = field;
	req->n_fields++;
}

/**
 * pep_nl_put_string() - add a string to a request
 * @req: the request
 * @type: number of the attribute
 * @value: the string, far shorter than PEP_NL_REQUEST_LEN
 * @field: the user's name for it, NULL when it is not the user's
 */
void pep_nl_put_string(struct pep_nl_request *req, __u16 type,
		       const char *value, const char *field)
{
	note_field(req, field);
	mnl_attr_put_strz(req->nlh, type, value);
}

/**
 * pep_nl_put_u32() - add a number to a request
 * @req: the request
 * @type: number of the attribute
 * @value: the number
 * @field: the user's name for it, NULL when it is not the user's
 */
void pep_nl_put_u32(struct pep_nl_request *req, __u16 type,
		    __u32 value, const char *field)
{
	note_field(req, field);
	mnl_attr_put_u32(req->nlh, type, value);
}

/**
 * pep_nl_put() - add binary data to a request
 * @req: the request
 * @type: number of the attribute
 * @data: the data
 * @len: its length, bytes, far less than PEP_NL_REQUEST_LEN
 * @field: the user's name for it, NULL when it is not the user's
 */
void pep_nl_put(struct pep_nl_request *req, __u16 type, const void *data,
		size_t len, const char *field)
{
	note_field(req, field);
	mnl_attr_put(req->nlh, type, len, data);
}

/* Keep one attribute of an extended acknowledgment. */
static void keep_ext_ack(struct pep_nl *nl, const struct pep_nl_request *req,
			 const struct nlattr *attr)
{
	const char *text;
	unsigned int i;
	__u64 offset;

	switch (mnl_attr_get_type(attr)) {
	case NLMSGERR_ATTR_MSG:
		text = pep_nl_string(attr);
		nl->own = !strncmp(text, MODULE_PREFIX, strlen(MODULE_PREFIX));
		if (nl->own)
			text += strlen(MODULE_PREFIX);
		snprintf(nl->text, sizeof(nl->text), "%s", text);
		break;
	case NLMSGERR_ATTR_OFFS:
		offset = pep_nl_uint(attr);
		for (i = 0; i < req->n_fields; i++)
			if (req->fields[i].offset == offset)
				nl->field = req->fields[i].name;
		break;
	default:
		break;
	}
}

/*
 * Read the end of a conversation: an acknowledgment, a refusal or the end of
 * a dump. @fixed is the size of the part before the attributes.
 *
 * Return: 0 or the negative errno value in it.
 */
static int read_end(struct pep_nl *nl, const struct pep_nl_request *req,
		    const struct nlmsghdr *nlh, size_t fixed)
{
	const struct nlattr *attr;
	int error;

	if (mnl_nlmsg_get_payload_len(nlh) < fixed)
		return nlh->nlmsg_type == NLMSG_DONE ? 0 : -EBADMSG;

	/* Both struct nlmsgerr and the end of a dump start with the value. */
	memcpy(&error, mnl_nlmsg_get_payload(nlh), sizeof(error));
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
		mnl_attr_for_each(attr, nlh, fixed)
			keep_ext_ack(nl, req, attr);
	return error > 0 ? -EBADMSG : error;
}

/**
 * struct conversation - one request and its answers
 * @nl: the socket
 * @req: the request
 * @cb: called for every answer, or NULL
 * @data: for @cb
 * @error: 0 or a negative errno value
 * @done: the answer is complete
 * @interrupted: the dumped objects changed meanwhile
 */
struct conversation {
	struct pep_nl *nl;
	const struct pep_nl_request *req;
	mnl_cb_t cb;
	void *data;
	int error;
	bool done;
	bool interrupted;
};

/* Read one message. */
static void read_message(struct conversation *talk, const struct nlmsghdr *nlh)
{
	if (nlh->nlmsg_seq != talk->nl->seq)
		return;
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		talk->interrupted = true;

	switch (nlh->nlmsg_type) {
	case NLMSG_NOOP:
		break;
	case NLMSG_ERROR:
		talk->error = read_end(talk->nl, talk->req, nlh,
				       sizeof(struct nlmsgerr));
		talk->done = true;
		break;
	case NLMSG_DONE:
		talk->error = read_end(talk->nl, talk->req, nlh, sizeof(int));
		talk->done = true;
		break;
	default:
		if (talk->cb)
			talk->cb(nlh, talk->data);
		break;
	}
}

/* Read datagrams until the answer is complete. */
static void read_answers(struct conversation *talk, char *buf)
{
	const struct nlmsghdr *nlh;
	ssize_t got;
	int len;

	while (!talk->done) {
		got = mnl_socket_recvfrom(talk->nl->sock, buf, ANSWER_LEN);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			talk->error = got ? -errno : -EPIPE;
			return;
		}
		len = (int)got;
		nlh = (const struct nlmsghdr *)buf;
		while (!talk->done && mnl_nlmsg_ok(nlh, len)) {
			read_message(talk, nlh);
			nlh = mnl_nlmsg_next(nlh, &len);
		}
	}
}

/**
 * pep_nl_talk() - send a request and read all of the answer
 * @nl: the socket
 * @req: the request
 * @cb: called for every message of the answer; its result is not used
 * @data: for @cb
 *
 * A message of the kernel that comes with success is shown as a warning.
 *
 * Return: 0; a negative errno value, which pep_nl_failed() explains; -EINTR
 * when a dump was complete but its objects changed meanwhile.
 */
int pep_nl_talk(struct pep_nl *nl, struct pep_nl_request *req, mnl_cb_t cb,
		void *data)
{
	struct conversation talk = {
		.nl = nl, .req = req, .cb = cb, .data = data,
	};
	char *buf;

	nl->error = 0;
	nl->field = NULL;
	nl->own = false;
	nl->text[0] = '\0';
	req->nlh->nlmsg_seq = ++nl->seq;

	buf = malloc(ANSWER_LEN);
	if (!buf)
		talk.error = -ENOMEM;
	else if (mnl_socket_sendto(nl->sock, req->nlh,
				   req->nlh->nlmsg_len) < 0)
		talk.error = -errno;
	else
		read_answers(&talk, buf);
	free(buf);

	if (!talk.error && talk.interrupted)
		talk.error = -EINTR;
	nl->error = -talk.error;
	if (!talk.error && nl->text[0])
		pep_err_warning("%s", nl->text);
	return talk.error;
}

/**
 * pep_nl_failed() - report why the last request failed
 * @nl: the socket
 * @hint: text to add, or NULL
 *
 * The word of the command line that caused the failure comes first, unless the
 * kernel's text starts with it already. A module of another version may not
 * support it: both versions come last then.
 *
 * Return: PEP_FAILED.
 */
enum pep_exit pep_nl_failed(const struct pep_nl *nl, const char *hint)
{
	const char *text = nl->text[0] ? nl->text : strerror(nl->error);
	const char *field = nl->field ? nl->field : "";
	size_t len = strlen(field);
	const char *module = pep_version_module();
	char versions[128] = "";

	if (!strncasecmp(text, field, len) && text[len] == ':')
		field = "";
	if (module && strcmp(module, PEPADM_VERSION))
		snprintf(versions, sizeof(versions),
			 "; pepadm has version %s, the module %s",
			 PEPADM_VERSION, module);
	return pep_err_failed("%s%s%s%s%s%s", field, *field ? ": " : "", text,
			      hint ? "; " : "", hint ? hint : "", versions);
}

/**
 * struct table - attributes by number, while they are being sorted
 * @tb: the attributes, NULL for those that are absent
 * @max: the highest number that @tb has room for
 */
struct table {
	const struct nlattr **tb;
	__u16 max;
};

static int sort_attr(const struct nlattr *attr, void *data)
{
	const struct table *table = data;
	__u16 type = mnl_attr_get_type(attr);

	/* A newer kernel has more attributes. */
	if (type <= table->max)
		table->tb[type] = attr;
	return MNL_CB_OK;
}

/**
 * pep_nl_parse() - sort the attributes of a message by number
 * @nlh: the message
 * @header_len: size of the header of the protocol, bytes
 * @tb: result, @max + 1 entries
 * @max: the highest number wanted; higher ones are left out
 */
void pep_nl_parse(const struct nlmsghdr *nlh, size_t header_len,
		  const struct nlattr **tb, __u16 max)
{
	struct table table = { .tb = tb, .max = max };

	memset(tb, 0, (max + 1u) * sizeof(*tb));
	mnl_attr_parse(nlh, (unsigned int)header_len, sort_attr, &table);
}

/**
 * pep_nl_parse_nested() - sort the attributes in another one by number
 * @nest: the attribute around them, or NULL, when none are found
 * @tb: result, @max + 1 entries
 * @max: the highest number wanted; higher ones are left out
 */
void pep_nl_parse_nested(const struct nlattr *nest, const struct nlattr **tb,
			 __u16 max)
{
	struct table table = { .tb = tb, .max = max };

	memset(tb, 0, (max + 1u) * sizeof(*tb));
	if (nest)
		mnl_attr_parse_nested(nest, sort_attr, &table);
}

/**
 * pep_nl_uint() - read a number of 1, 2, 4 or 8 bytes
 * @attr: the attribute, or NULL
 *
 * Return: the number, 0 when it is absent or has another size.
 */
__u64 pep_nl_uint(const struct nlattr *attr)
{
	__u64 u64;

	switch (attr ? mnl_attr_get_payload_len(attr) : 0) {
	case sizeof(__u8):
		return mnl_attr_get_u8(attr);
	case sizeof(__u16):
		return mnl_attr_get_u16(attr);
	case sizeof(__u32):
		return mnl_attr_get_u32(attr);
	case sizeof(__u64):
		/* Need not be aligned. */
		memcpy(&u64, mnl_attr_get_payload(attr), sizeof(u64));
		return u64;
	default:
		return 0;
	}
}

/**
 * pep_nl_string() - read a string
 * @attr: the attribute, or NULL
 *
 * Return: the string, "" when it is absent or not terminated.
 */
const char *pep_nl_string(const struct nlattr *attr)
{
	if (!attr || mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0)
		return "";
	return mnl_attr_get_str(attr);
}
