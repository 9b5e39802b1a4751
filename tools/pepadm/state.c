// SPDX-License-Identifier: GPL-2.0
#include "state.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pep.h>

#include "end.h"
#include "genl.h"
#include "names-gen.h"

/**
 * enum kind - form of a value in a line, and type of its attribute
 * @NUMBER: a number of 32 bits
 * @COUNT: a number of 64 bits
 * @NAME: a word for a number of 32 bits
 * @FLAGS: words with commas, "-" for none, for a mask of 32 bits
 * @TEXT: a string
 * @ADDR: an address
 * @PORT: a port in network byte order
 */
enum kind {
	NUMBER,
	COUNT,
	NAME,
	FLAGS,
	TEXT,
	ADDR,
	PORT,
};

/**
 * struct field - a value of a connection, or of one of its ends
 * @word: word before it
 * @attr: its attribute
 * @kind: its form
 * @optional: it may be absent
 * @min: smallest number
 * @max: largest number
 * @names: words for numbers or flags, NULL for invalid ones
 * @n_names: entries in @names
 */
struct field {
	const char *word;
	__u16 attr;
	enum kind kind;
	bool optional;
	__u64 min;
	__u64 max;
	const char * const *names;
	size_t n_names;
};

/* Stages that a connection in a file can have. */
static const char * const stages[] = {
	[PEP_CONN_STAGE_FOLLOWED] = "followed",
	[PEP_CONN_STAGE_CLOSING] = "closing",
};

/* Values of a connection; the addresses come first. */
static const struct field conn_fields[] = {
	{ .word = "subscriber", .attr = PEP_A_CONN_SUBSCRIBER_ADDR,
	  .kind = ADDR },
	{ .word = "server", .attr = PEP_A_CONN_SERVER_ADDR, .kind = ADDR },
	{ .word = "subscriber-port", .attr = PEP_A_CONN_SUBSCRIBER_PORT,
	  .kind = PORT, .min = 1, .max = 65535 },
	{ .word = "server-port", .attr = PEP_A_CONN_SERVER_PORT, .kind = PORT,
	  .min = 1, .max = 65535 },
	{ .word = "opener", .attr = PEP_A_CONN_OPENER, .kind = NAME,
	  .names = names_side, .n_names = ARRAY_SIZE(names_side) },
	{ .word = "vrf", .attr = PEP_A_CONN_VRF, .kind = TEXT,
	  .optional = true },
	{ .word = "stage", .attr = PEP_A_CONN_STAGE, .kind = NAME,
	  .names = stages, .n_names = ARRAY_SIZE(stages) },
	{ .word = "age-ms", .attr = PEP_A_CONN_AGE_MS, .kind = COUNT },
	{ .word = "idle-ms", .attr = PEP_A_CONN_IDLE_MS, .kind = NUMBER,
	  .max = UINT32_MAX },
	{ .word = "isn", .attr = PEP_A_CONN_ISN, .kind = NUMBER,
	  .max = UINT32_MAX },
};

/* Longest silence that the kernel takes, ms: it refuses a day as expired. */
#define IDLE_MOST	(24 * 3600 * 1000)
#define N_CONN ARRAY_SIZE(conn_fields)

/* Values of an end; the words begin with its side. */
static const struct field end_fields[] = {
	{ .word = "bytes", .attr = PEP_A_END_BYTES, .kind = COUNT },
	{ .word = "repeated", .attr = PEP_A_END_REPEATED, .kind = NUMBER,
	  .max = UINT32_MAX },
	{ .word = "rtt-us", .attr = PEP_A_END_RTT_US, .kind = NUMBER,
	  .optional = true, .max = 200000000 },
	{ .word = "mss", .attr = PEP_A_END_MSS, .kind = NUMBER, .min = 1,
	  .max = 65535 },
	{ .word = "wscale", .attr = PEP_A_END_WSCALE, .kind = NUMBER,
	  .max = 14 },
	{ .word = "flags", .attr = PEP_A_END_FLAGS, .kind = FLAGS,
	  .names = names_conn_flag, .n_names = ARRAY_SIZE(names_conn_flag) },
	{ .word = "high", .attr = PEP_A_END_HIGH, .kind = NUMBER,
	  .max = UINT32_MAX },
	{ .word = "ack", .attr = PEP_A_END_ACK, .kind = NUMBER,
	  .max = UINT32_MAX },
	{ .word = "edge", .attr = PEP_A_END_EDGE, .kind = NUMBER,
	  .max = UINT32_MAX },
	{ .word = "tsval", .attr = PEP_A_END_TSVAL, .kind = NUMBER,
	  .max = UINT32_MAX },
	{ .word = "dev", .attr = PEP_A_END_DEV, .kind = TEXT,
	  .optional = true },
};

#define N_END ARRAY_SIZE(end_fields)

/* Room for a word of an end. */
#define WORD_LEN 32

/* The attribute with the values of the end on a side. */
static const __u16 end_attrs[] = {
	[PEP_SIDE_WIRELESS] = PEP_A_CONN_WIRELESS,
	[PEP_SIDE_SERVER] = PEP_A_CONN_SERVER,
};

#define N_ENDS ARRAY_SIZE(end_attrs)

/* Write the words of flags. */
static void write_flags(FILE *file, const struct field *field, __u64 flags)
{
	const char *comma = "";

	for (size_t i = 0; i < field->n_names; i++) {
		if (!(flags & 1ULL << i))
			continue;
		fprintf(file, "%s%s", comma, field->names[i]);
		comma = ",";
	}
	if (!*comma)
		fputc('-', file);
}

/* Write the value of an attribute. */
static void write_value(FILE *file, const struct field *field,
			const struct nlattr *attr)
{
	struct pep_end end;

	switch (field->kind) {
	case NAME:
		fputs(pep_genl_name(field->names, field->n_names, attr), file);
		break;
	case FLAGS:
		write_flags(file, field, pep_nl_uint(attr));
		break;
	case TEXT:
		fputs(pep_nl_string(attr), file);
		break;
	case ADDR:
		pep_end_get(&end, mnl_attr_get_payload_len(attr) ==
			    sizeof(struct in6_addr) ? AF_INET6 : AF_INET, attr,
			    NULL);
		fputs(end.addr, file);
		break;
	case PORT:
		fprintf(file, "%u", ntohs((__u16)pep_nl_uint(attr)));
		break;
	default:
		fprintf(file, "%llu", (unsigned long long)pep_nl_uint(attr));
	}
}

/* Can the value stand in a line? A name that begins a comment cannot. */
static bool writable(const struct field *field, const struct nlattr *attr)
{
	return attr && (field->kind != TEXT ||
			(*pep_nl_string(attr) && *pep_nl_string(attr) != '#'));
}

/* Write some values, each after its word; @side NULL for the connection's. */
static void write_fields(FILE *file, const char *side,
			 const struct field *fields, size_t n,
			 const struct nlattr **tb)
{
	for (; n--; fields++) {
		const struct nlattr *attr = tb[fields->attr];

		if (!writable(fields, attr))
			continue;
		fprintf(file, " %s%s%s ", side ? side : "", side ? "-" : "",
			fields->word);
		write_value(file, fields, attr);
	}
}

/**
 * pep_state_write() - write a connection as words of a line
 * @file: open file
 * @nlh: message of PEP_CMD_FLOW_EXPORT
 */
void pep_state_write(FILE *file, const struct nlmsghdr *nlh)
{
	const struct nlattr *conn[PEP_A_CONN_MAX + 1];
	const struct nlattr *end[PEP_A_END_MAX + 1];

	pep_genl_parse(nlh, conn, PEP_A_CONN_MAX);
	write_fields(file, NULL, conn_fields, N_CONN, conn);
	for (size_t side = 0; side < N_ENDS; side++) {
		pep_nl_parse_nested(conn[end_attrs[side]], end, PEP_A_END_MAX);
		write_fields(file, names_side[side], end_fields, N_END, end);
	}
	fputc('\n', file);
}

/* Read a number of 64 bits; false when it is none. */
static bool read_count(const char *word, __u64 *value)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(word, &end, 10);
	*value = number;
	return *word >= '0' && *word <= '9' && !*end && !errno;
}

static enum pep_exit check_count(const char *field, const char *value)
{
	__u64 number;

	if (read_count(value, &number))
		return PEP_OK;
	return pep_err_usage("%s: \"%.64s\" is not a number", field, value);
}

/* Read an address; its family, or 0 when it is none. */
static int read_addr(const char *word, unsigned char *addr)
{
	int family = strchr(word, ':') ? AF_INET6 : AF_INET;

	return inet_pton(family, word, addr) == 1 ? family : 0;
}

static enum pep_exit check_addr(const char *field, const char *value)
{
	unsigned char addr[sizeof(struct in6_addr)];

	if (read_addr(value, addr))
		return PEP_OK;
	return pep_err_usage("%s: \"%.64s\" is not an address", field, value);
}

/* Read flags as words with commas; false when one of them is no flag. */
static bool read_flags(const char *words, __u32 *flags)
{
	size_t i, len;

	*flags = 0;
	if (!strcmp(words, "-"))
		return true;
	for (;; words += len + 1) {
		len = strcspn(words, ",");
		for (i = 0; i < ARRAY_SIZE(names_conn_flag); i++)
			if (strlen(names_conn_flag[i]) == len &&
			    !memcmp(names_conn_flag[i], words, len))
				break;
		if (i == ARRAY_SIZE(names_conn_flag))
			return false;
		*flags |= 1U << i;
		if (!words[len])
			return true;
	}
}

static enum pep_exit check_flags(const char *field, const char *value)
{
	__u32 flags;

	if (read_flags(value, &flags))
		return PEP_OK;
	return pep_err_usage("%s: \"%.64s\" is neither - nor flags with commas",
			     field, value);
}

/* The option that reads a value from a line, where its word stands before it. */
static struct pep_args_option option_of(const struct field *field,
					const char *word)
{
	struct pep_args_option option = {
		.word = word, .required = !field->optional,
		.min = field->min, .max = field->max,
	};

	switch (field->kind) {
	case NUMBER:
	case PORT:
		option.numeric = true;
		break;
	case NAME:
		option.choices = field->names;
		option.n_choices = field->n_names;
		break;
	case COUNT:
		option.check = check_count;
		break;
	case FLAGS:
		option.check = check_flags;
		break;
	case ADDR:
		option.check = check_addr;
		break;
	case TEXT:
		option.check = pep_args_check_name;
		break;
	}
	return option;
}

/* Add a value that was checked to a request. */
static void put_value(struct pep_nl_request *req, const struct field *field,
		      const struct pep_args_option *option)
{
	unsigned char addr[sizeof(struct in6_addr)];
	__u64 count;
	__u32 flags;
	__be16 port;

	switch (field->kind) {
	case NUMBER:
	case NAME:
		pep_nl_put_u32(req, field->attr, (__u32)option->number, NULL);
		break;
	case COUNT:
		read_count(option->text, &count);
		pep_nl_put(req, field->attr, &count, sizeof(count), NULL);
		break;
	case FLAGS:
		read_flags(option->text, &flags);
		pep_nl_put_u32(req, field->attr, flags, NULL);
		break;
	case TEXT:
		pep_nl_put_string(req, field->attr, option->text, NULL);
		break;
	case ADDR:
		pep_nl_put(req, field->attr, addr,
			   read_addr(option->text, addr) == AF_INET6 ?
			   sizeof(struct in6_addr) : sizeof(struct in_addr),
			   NULL);
		break;
	case PORT:
		port = htons((__u16)option->number);
		pep_nl_put(req, field->attr, &port, sizeof(port), NULL);
		break;
	}
}

/* Add the values that were given to a request. */
static void put_fields(struct pep_nl_request *req, const struct field *fields,
		       size_t n, const struct pep_args_option *options)
{
	for (size_t i = 0; i < n; i++)
		if (options[i].text)
			put_value(req, &fields[i], &options[i]);
}

/* Add some ms to a time, up to @most. */
static __u64 later(__u64 time, __u64 elapsed, __u64 most)
{
	return elapsed >= most || time > most - elapsed ? most : time + elapsed;
}

/* Add the present values of a connection to a request. */
static void put_conn(struct pep_nl_request *req, int family, __u64 elapsed,
		     struct pep_args_option *options)
{
	char age[24];
	__u64 count;

	for (size_t i = 0; i < N_CONN; i++) {
		if (conn_fields[i].attr == PEP_A_CONN_IDLE_MS)
			options[i].number = later(options[i].number, elapsed,
						  IDLE_MOST);
		if (conn_fields[i].attr != PEP_A_CONN_AGE_MS)
			continue;
		read_count(options[i].text, &count);
		snprintf(age, sizeof(age), "%llu", (unsigned long long)
			 later(count, elapsed, UINT64_MAX));
		options[i].text = age;
	}
	pep_nl_put_u32(req, PEP_A_CONN_FAMILY, (__u32)family, NULL);
	put_fields(req, conn_fields, N_CONN, options);
}

/**
 * pep_state_read() - read a connection from the words of a line
 * @args: the words
 * @elapsed: how long ago they were written, ms, at most UINT32_MAX
 * @req: request of PEP_CMD_FLOW_IMPORT without attributes, which are added
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_state_read(struct pep_args *args, __u64 elapsed,
			     struct pep_nl_request *req)
{
	struct pep_args_option options[N_CONN + N_ENDS * N_END];
	struct pep_args_option *ends = options + N_CONN;
	unsigned char addr[sizeof(struct in6_addr)];
	char words[N_ENDS * N_END][WORD_LEN];
	struct nlattr *nest;
	enum pep_exit err;
	int family;

	for (size_t i = 0; i < N_CONN; i++)
		options[i] = option_of(&conn_fields[i], conn_fields[i].word);
	for (size_t i = 0; i < N_ENDS * N_END; i++) {
		snprintf(words[i], WORD_LEN, "%s-%s", names_side[i / N_END],
			 end_fields[i % N_END].word);
		ends[i] = option_of(&end_fields[i % N_END], words[i]);
	}
	err = pep_args_options(args, options, ARRAY_SIZE(options));
	if (err)
		return err;
	family = read_addr(options[0].text, addr);
	if (family != read_addr(options[1].text, addr))
		return pep_err_usage("server: of another family than subscriber");
	put_conn(req, family, elapsed, options);
	for (size_t side = 0; side < N_ENDS; side++) {
		nest = mnl_attr_nest_start(req->nlh, end_attrs[side]);
		put_fields(req, end_fields, N_END, ends + side * N_END);
		mnl_attr_nest_end(req->nlh, nest);
	}
	return PEP_OK;
}
