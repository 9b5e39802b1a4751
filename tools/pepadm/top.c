// SPDX-License-Identifier: GPL-2.0
/*
 * The busiest flows, again and again. Two dumps some time apart give the
 * payload that each flow has relayed in between; flows are found again by their
 * number, which is the order of a dump.
 */
#include "top.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/pep.h>

#include "end.h"
#include "filter.h"
#include "genl.h"
#include "out.h"

#define DEFAULT_DELAY 2
#define MAX_DELAY 3600

/* Rows of the screen that are no flows: two heads, and one for the cursor. */
#define OTHER_ROWS 3
#define DEFAULT_ROWS 24

/**
 * struct row - one flow
 * @id: its number
 * @down: payload relayed to the wireless leg, bytes
 * @up: payload relayed to the server leg, bytes
 * @down_rate: increase of @down since the dump before, bytes
 * @up_rate: the same for @up
 * @age_ms: its age, milliseconds
 * @retrans: segments sent again by both legs
 * @ends: "SUBSCRIBER  SERVER"
 */
struct row {
	__u32 id;
	__u64 down;
	__u64 up;
	__u64 down_rate;
	__u64 up_rate;
	__u64 age_ms;
	__u64 retrans;
	char ends[2][PEP_END_LEN];
};

/**
 * struct dump - all flows that a filter matches, in the order of their numbers
 * @rows: the flows
 * @n: how many
 * @at: when they were requested, ns of the monotonic clock
 * @failed: memory ran out
 */
struct dump {
	struct row *rows;
	size_t n;
	__u64 at;
	bool failed;
};

static __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * 1000000000 + (__u64)ts.tv_nsec;
}

/* Segments that a leg, if there is one, has sent again. */
static __u64 leg_retrans(const struct nlattr *nest)
{
	const struct nlattr *tb[PEP_A_LEG_MAX + 1];

	if (!nest)
		return 0;
	pep_nl_parse_nested(nest, tb, PEP_A_LEG_MAX);
	return pep_nl_uint(tb[PEP_A_LEG_RETRANS]);
}

/* Keep one flow. */
static int keep_flow(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_FLOW_MAX + 1];
	struct pep_end subscriber, server;
	struct dump *dump = data;
	struct row *row;

	/* Grow in steps of a power of two. */
	if (!(dump->n & (dump->n - 1))) {
		row = reallocarray(dump->rows, dump->n ? 2 * dump->n : 1,
				   sizeof(*row));
		dump->failed = dump->failed || !row;
		dump->rows = row ? row : dump->rows;
	}
	if (dump->failed)
		return MNL_CB_OK;

	pep_genl_parse(nlh, tb, PEP_A_FLOW_MAX);
	row = &dump->rows[dump->n++];
	*row = (struct row){
		.id = (__u32)pep_nl_uint(tb[PEP_A_FLOW_ID]),
		.down = pep_nl_uint(tb[PEP_A_FLOW_BYTES_TO_WIRELESS]),
		.up = pep_nl_uint(tb[PEP_A_FLOW_BYTES_TO_SERVER]),
		.age_ms = pep_nl_uint(tb[PEP_A_FLOW_AGE_MS]),
		.retrans = leg_retrans(tb[PEP_A_FLOW_WIRELESS]) +
			   leg_retrans(tb[PEP_A_FLOW_SERVER]),
	};
	pep_end_read(tb, &subscriber, &server);
	pep_end_text(&subscriber, row->ends[0]);
	pep_end_text(&server, row->ends[1]);
	return MNL_CB_OK;
}

/* Request the flows; @dump has to be freed in any case. */
static enum pep_exit take_dump(struct pep_genl *genl,
			       const struct pep_filter *filter,
			       struct dump *dump)
{
	struct pep_nl_request req;
	enum pep_exit err;

	*dump = (struct dump){ .at = now_ns() };
	pep_genl_request(genl, &req, PEP_CMD_FLOW_GET, NLM_F_DUMP);
	pep_filter_put(&req, filter);
	err = pep_genl_talk(genl, &req, keep_flow, dump);
	if (!err && dump->failed)
		err = pep_err_failed("Cannot allocate memory");
	return err;
}

static int by_id(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_rate(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	__u64 of_x = x->down_rate + x->up_rate, of_y = y->down_rate + y->up_rate;

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return by_id(a, b);
}

/* Compute the payload that each flow has relayed since the dump before. */
static void compare(struct dump *dump, const struct dump *before)
{
	const struct row *was;
	struct row *row;

	for (row = dump->rows; row < dump->rows + dump->n; row++) {
		was = before->n ? bsearch(row, before->rows, before->n,
					  sizeof(*row), by_id) : NULL;
		row->down_rate = row->down - (was ? was->down : 0);
		row->up_rate = row->up - (was ? was->up : 0);
	}
}

/* How many flows fit the terminal; all when there is none. */
static size_t rows_that_fit(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return SIZE_MAX;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ||
	    size.ws_row <= OTHER_ROWS)
		return DEFAULT_ROWS - OTHER_ROWS;
	return (size_t)(size.ws_row - OTHER_ROWS);
}

/* Print a table; @sorted is a copy of @dump for that. */
static void print_table(const struct dump *dump, struct row *sorted,
			double seconds)
{
	double down = 0, up = 0, to_mbit = 8 / seconds / 1e6;
	size_t i, fit = rows_that_fit();

	if (dump->n) {
		memcpy(sorted, dump->rows, dump->n * sizeof(*sorted));
		qsort(sorted, dump->n, sizeof(*sorted), by_rate);
	}
	for (i = 0; i < dump->n; i++) {
		down += (double)sorted[i].down_rate;
		up += (double)sorted[i].up_rate;
	}
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	printf("flows %zu  to subscribers %.2f Mbit/s  to servers %.2f Mbit/s\n",
	       dump->n, down * to_mbit, up * to_mbit);
	printf("%8s %10s %10s %8s %8s  %s\n", "FLOW", "DOWN-Mbit", "UP-Mbit",
	       "AGE-s", "RETRANS", "SUBSCRIBER  SERVER");
	for (i = 0; i < dump->n && i < fit; i++)
		printf("%8u %10.2f %10.2f %8.1f %8llu  %s  %s\n",
		       sorted[i].id, (double)sorted[i].down_rate * to_mbit,
		       (double)sorted[i].up_rate * to_mbit,
		       (double)sorted[i].age_ms / 1000,
		       (unsigned long long)sorted[i].retrans, sorted[i].ends[0],
		       sorted[i].ends[1]);
}

/* Show the changes since the dump before. */
static enum pep_exit show(struct dump *dump, const struct dump *before)
{
	struct row *sorted = calloc(dump->n + 1, sizeof(*sorted));

	if (!sorted)
		return pep_err_failed("Cannot allocate memory");
	compare(dump, before);
	print_table(dump, sorted, (double)(dump->at - before->at) / 1e9);
	free(sorted);
	return pep_out_finish(PEP_OK);
}

/* Take "delay" and "count" off the command line, where they come first. */
static enum pep_exit take_times(struct pep_args *args, __u32 *delay,
				__u32 *count)
{
	enum pep_exit err = PEP_OK;
	const char *word;
	__u32 *number;

	while (!err && pep_args_left(args)) {
		word = args->argv[0];
		number = !strcmp(word, "delay") ? delay :
			 !strcmp(word, "count") ? count : NULL;
		if (!number)
			break;
		args->argv++;
		args->argc--;
		err = pep_args_u32(args, word, number);
	}
	if (!err && *delay > MAX_DELAY)
		err = pep_err_usage("delay: \"%u\" is not a number from 1 to %d",
				    *delay, MAX_DELAY);
	return err;
}

/* Show table after table; @count of them, 0 for no end. */
static enum pep_exit run(struct pep_genl *genl, const struct pep_filter *filter,
			 __u32 delay, __u32 count)
{
	struct dump before, dump;
	enum pep_exit err;

	err = take_dump(genl, filter, &before);
	for (__u32 i = 0; !err && (!count || i < count); i++) {
		sleep(delay);
		err = take_dump(genl, filter, &dump);
		if (!err)
			err = show(&dump, &before);
		free(before.rows);
		before = dump;
	}
	free(before.rows);
	return err;
}

/**
 * pep_top() - show the flows that relay most, again and again
 * @args: the words: "delay SECONDS", "count N", then a filter
 *
 * Rates are of the payload since the table before, in Mbit/s, 10^6 bits. On a
 * terminal each table takes the place of the one before.
 *
 * Return: PEP_OK after the last table, or another one after a message.
 */
enum pep_exit pep_top(struct pep_args *args)
{
	__u32 delay = DEFAULT_DELAY, count = 0;
	struct pep_filter filter;
	struct pep_genl genl;
	enum pep_exit err;

	if (pep_out_json())
		return pep_err_usage("not with -j, which flow show has");
	err = take_times(args, &delay, &count);
	if (!err)
		err = pep_filter_take(args, &filter);
	if (!err)
		err = pep_genl_open(&genl);
	if (err)
		return err;
	err = run(&genl, &filter, delay, count);
	pep_genl_close(&genl);
	return err;
}
