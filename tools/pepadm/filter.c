// SPDX-License-Identifier: GPL-2.0
#include "filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pep.h>

#include "link.h"
#include "names-gen.h"

/**
 * struct pep_filter_word - a word that chooses flows, or connections
 * @option: describes its value
 * @put: adds it to a request
 * @attr: its attribute
 * @prefix: attribute of the number of bits that count, for an address
 */
struct pep_filter_word {
	struct pep_args_option option;
	void (*put)(struct pep_nl_request *req,
		    const struct pep_filter_word *word,
		    const struct pep_args_option *option);
	__u16 attr;
	__u16 prefix;
};

/* Read an address and the number of its bits that count; false when wrong. */
static bool read_prefix(const char *text, unsigned char *addr, int *family,
			unsigned int *bits)
{
	char copy[INET6_ADDRSTRLEN + sizeof("/128")], *slash, *end;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return false;
	slash = strchr(copy, '/');
	if (slash)
		*slash++ = '\0';
	*family = strchr(copy, ':') ? AF_INET6 : AF_INET;
	*bits = *family == AF_INET6 ? 128 : 32;
	if (inet_pton(*family, copy, addr) != 1)
		return false;
	if (slash) {
		unsigned long n = strtoul(slash, &end, 10);

		if (*slash < '0' || *slash > '9' || *end || n > *bits)
			return false;
		*bits = (unsigned int)n;
	}
	return true;
}

/* Read a decimal number of 64 bits; false when it is none. */
static bool read_u64(const char *text, __u64 *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

static enum pep_exit check_prefix(const char *field, const char *value)
{
	unsigned char addr[sizeof(struct in6_addr)];
	unsigned int bits;
	int family;

	if (read_prefix(value, addr, &family, &bits))
		return PEP_OK;
	return pep_err_usage("%s: \"%.64s\" is not an address or ADDR/BITS",
			     field, value);
}

static enum pep_exit check_port(const char *field, const char *value)
{
	__u64 number;

	if (read_u64(value, &number) && number && number <= UINT16_MAX)
		return PEP_OK;
	return pep_err_usage("%s: \"%.64s\" is not a number from 1 to 65535",
			     field, value);
}

static enum pep_exit check_seconds(const char *field, const char *value)
{
	__u64 number;

	if (read_u64(value, &number) && number <= UINT32_MAX)
		return PEP_OK;
	return pep_err_usage("%s: \"%.64s\" is not a number from 0 to %u",
			     field, value, UINT32_MAX);
}

static enum pep_exit check_bytes(const char *field, const char *value)
{
	__u64 number;

	if (read_u64(value, &number))
		return PEP_OK;
	return pep_err_usage("%s: \"%.64s\" is not a number from 0 to %llu",
			     field, value, ULLONG_MAX);
}

static void put_prefix(struct pep_nl_request *req,
		       const struct pep_filter_word *word,
		       const struct pep_args_option *option)
{
	unsigned char addr[sizeof(struct in6_addr)];
	unsigned int bits;
	int family;

	read_prefix(option->text, addr, &family, &bits);
	pep_nl_put(req, word->attr, addr,
		   family == AF_INET6 ? sizeof(struct in6_addr) :
					sizeof(struct in_addr), option->word);
	pep_nl_put_u32(req, word->prefix, bits, option->word);
}

static void put_port(struct pep_nl_request *req,
		     const struct pep_filter_word *word,
		     const struct pep_args_option *option)
{
	__be16 port = htons((__u16)atoi(option->text));

	pep_nl_put(req, word->attr, &port, sizeof(port), option->word);
}

static void put_number(struct pep_nl_request *req,
		       const struct pep_filter_word *word,
		       const struct pep_args_option *option)
{
	pep_nl_put_u32(req, word->attr, option->number, option->word);
}

static void put_name(struct pep_nl_request *req,
		     const struct pep_filter_word *word,
		     const struct pep_args_option *option)
{
	pep_nl_put_string(req, word->attr, option->text, option->word);
}

/* The kernel takes milliseconds. */
static void put_seconds(struct pep_nl_request *req,
			const struct pep_filter_word *word,
			const struct pep_args_option *option)
{
	__u64 number;

	read_u64(option->text, &number);
	number *= 1000;
	pep_nl_put(req, word->attr, &number, sizeof(number), option->word);
}

static void put_bytes(struct pep_nl_request *req,
		      const struct pep_filter_word *word,
		      const struct pep_args_option *option)
{
	__u64 number;

	read_u64(option->text, &number);
	pep_nl_put(req, word->attr, &number, sizeof(number), option->word);
}

/* find_dev() has looked up the number of "dev". */
static const struct pep_filter_word flow_words[PEP_FILTER_WORDS] = {
	{ { .word = "subscriber", .check = check_prefix }, put_prefix,
	  PEP_A_FLOW_SUBSCRIBER_ADDR, PEP_A_FLOW_SUBSCRIBER_PREFIX },
	{ { .word = "subscriber-port", .check = check_port }, put_port,
	  PEP_A_FLOW_SUBSCRIBER_PORT, 0 },
	{ { .word = "server", .check = check_prefix }, put_prefix,
	  PEP_A_FLOW_SERVER_ADDR, PEP_A_FLOW_SERVER_PREFIX },
	{ { .word = "server-port", .check = check_port }, put_port,
	  PEP_A_FLOW_SERVER_PORT, 0 },
	{ { .word = "state", .choices = names_flow_state,
	    .n_choices = ARRAY_SIZE(names_flow_state) }, put_number,
	  PEP_A_FLOW_STATE, 0 },
	{ { .word = "profile", .check = pep_args_check_profile }, put_name,
	  PEP_A_FLOW_PROFILE, 0 },
	{ { .word = "dev", .check = pep_args_check_name }, put_number,
	  PEP_A_FLOW_IFINDEX, 0 },
	{ { .word = "older", .check = check_seconds }, put_seconds,
	  PEP_A_FLOW_OLDER_MS, 0 },
	{ { .word = "bytes", .check = check_bytes }, put_bytes,
	  PEP_A_FLOW_BYTES_MIN, 0 },
};

/* The same for connections. */
static const struct pep_filter_word conn_words[PEP_FILTER_WORDS] = {
	{ { .word = "subscriber", .check = check_prefix }, put_prefix,
	  PEP_A_CONN_SUBSCRIBER_ADDR, PEP_A_CONN_SUBSCRIBER_PREFIX },
	{ { .word = "subscriber-port", .check = check_port }, put_port,
	  PEP_A_CONN_SUBSCRIBER_PORT, 0 },
	{ { .word = "server", .check = check_prefix }, put_prefix,
	  PEP_A_CONN_SERVER_ADDR, PEP_A_CONN_SERVER_PREFIX },
	{ { .word = "server-port", .check = check_port }, put_port,
	  PEP_A_CONN_SERVER_PORT, 0 },
	{ { .word = "stage", .choices = names_conn_stage,
	    .n_choices = ARRAY_SIZE(names_conn_stage) }, put_number,
	  PEP_A_CONN_STAGE, 0 },
	{ { .word = "opener", .choices = names_side,
	    .n_choices = ARRAY_SIZE(names_side) }, put_number,
	  PEP_A_CONN_OPENER, 0 },
	{ { .word = "dev", .check = pep_args_check_name }, put_number,
	  PEP_A_CONN_IFINDEX, 0 },
	{ { .word = "older", .check = check_seconds }, put_seconds,
	  PEP_A_CONN_OLDER_MS, 0 },
	{ { .word = "bytes", .check = check_bytes }, put_bytes,
	  PEP_A_CONN_BYTES_MIN, 0 },
};

/* The same for the known properties of links. */
static const struct pep_filter_word path_words[] = {
	{ { .word = "subscriber", .check = check_prefix }, put_prefix,
	  PEP_A_PATH_SUBSCRIBER_ADDR, PEP_A_PATH_SUBSCRIBER_PREFIX },
};

/* Find the number of a device. */
static enum pep_exit find_dev(struct pep_args_option *option)
{
	struct pep_link link;
	enum pep_exit err;
	struct pep_nl nl;

	err = pep_link_open(&nl, option->text, &link);
	if (err)
		return err;
	option->number = link.ifindex;
	pep_nl_close(&nl);
	return PEP_OK;
}

/* Is the next word the number of a flow? */
static bool is_id(const struct pep_args *args)
{
	return args->argc && args->argv[0][0] >= '0' && args->argv[0][0] <= '9';
}

/* Take the words that are left: "all", or pairs of a word and its value. */
static enum pep_exit take_words(struct pep_args *args,
				const struct pep_filter_word *words, size_t n,
				struct pep_filter *filter)
{
	enum pep_exit err;
	size_t i;

	*filter = (struct pep_filter){ .words = words, .n = n };
	for (i = 0; i < n; i++)
		filter->options[i] = words[i].option;
	if (args->argc == 1 && !strcmp(args->argv[0], "all"))
		return PEP_OK;
	err = pep_args_options(args, filter->options, n);
	for (i = 0; i < n && !err; i++)
		if (filter->options[i].text &&
		    !strcmp(words[i].option.word, "dev"))
			err = find_dev(&filter->options[i]);
	return err;
}

/**
 * pep_filter_take() - take all words that are left, which choose flows
 * @args: the words: the number of a flow, "all", or pairs of a word and its
 *	value; none for all
 * @filter: result
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_filter_take(struct pep_args *args, struct pep_filter *filter)
{
	enum pep_exit err;

	if (!is_id(args))
		return take_words(args, flow_words, PEP_FILTER_WORDS, filter);
	*filter = (struct pep_filter){ .words = flow_words };
	err = pep_args_u32(args, "ID", &filter->id);
	return err ? err : pep_args_end(args);
}

/**
 * pep_filter_take_conns() - take all words that are left, which choose connections
 * @args: the words: "all", or pairs of a word and its value; none for all
 * @filter: result
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_filter_take_conns(struct pep_args *args,
				    struct pep_filter *filter)
{
	return take_words(args, conn_words, PEP_FILTER_WORDS, filter);
}

/**
 * pep_filter_take_paths() - take all words that are left, which choose subscribers
 * @args: the words: "all", or pairs of a word and its value; none for all
 * @filter: result
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_filter_take_paths(struct pep_args *args,
				    struct pep_filter *filter)
{
	return take_words(args, path_words, ARRAY_SIZE(path_words), filter);
}

/**
 * pep_filter_put() - add a filter to a request
 * @req: the request
 * @filter: the filter
 *
 * Return: true when something was added, false when the filter matches all.
 */
bool pep_filter_put(struct pep_nl_request *req, const struct pep_filter *filter)
{
	const struct pep_filter_word *words = filter->words;
	bool some = false;
	size_t i;

	if (filter->id) {
		pep_nl_put_u32(req, PEP_A_FLOW_ID, filter->id, "ID");
		some = true;
	}
	for (i = 0; i < filter->n; i++) {
		if (!filter->options[i].text)
			continue;
		words[i].put(req, &words[i], &filter->options[i]);
		some = true;
	}
	return some;
}
