// SPDX-License-Identifier: GPL-2.0
/* pepadm limit show top: the subscribers that use most of their shares. */
#include "share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pep.h>

#include "genl.h"
#include "out.h"
#include "subscriber.h"

#define DEFAULT_ROWS 10
#define MAX_ROWS 1000

/**
 * struct row - a subscriber
 * @used: part that it uses of its most used share, per cent
 * @connections: its connections in the table
 * @flows: its flows
 * @memory: memory of the flows, bytes
 * @refused: connections and flows that it did not get
 * @name: address or network
 */
struct row {
	double used;
	__u64 connections;
	__u64 flows;
	__u64 memory;
	__u64 refused;
	char name[PEP_SUBSCRIBER_LEN];
};

/**
 * struct table - the subscribers that use most, the first one most of all
 * @limits: shares of each
 * @most: how many fit in @rows
 * @n: how many are there
 * @rows: the subscribers
 */
struct table {
	const struct pep_share_limits *limits;
	size_t most;
	size_t n;
	struct row *rows;
};

/* Does one subscriber come before another? */
static bool before(const struct row *a, const struct row *b)
{
	if (a->used != b->used)
		return a->used > b->used;
	return a->refused > b->refused;
}

/* Enter a subscriber in its place, if it has one. */
static void enter(struct table *table, const struct row *row)
{
	size_t i = table->n;

	while (i && before(row, &table->rows[i - 1]))
		i--;
	if (i == table->most)
		return;
	if (table->n < table->most)
		table->n++;
	memmove(&table->rows[i + 1], &table->rows[i],
		(table->n - i - 1) * sizeof(*row));
	table->rows[i] = *row;
}

static double percent(__u64 n, __u64 most)
{
	return 100.0 * (double)n / (double)most;
}

/* Read a subscriber, and enter it. */
static int take_row(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_PATH_MAX + 1];
	struct table *table = data;
	struct row row = { 0 };

	pep_genl_parse(nlh, tb, PEP_A_PATH_MAX);
	row.connections = pep_nl_uint(tb[PEP_A_PATH_CONNECTIONS]);
	row.flows = pep_nl_uint(tb[PEP_A_PATH_SPLIT]);
	row.refused = pep_nl_uint(tb[PEP_A_PATH_REFUSED]);
	row.memory = pep_nl_uint(tb[PEP_A_PATH_MEMORY]);
	if (!row.connections && !row.flows && !row.refused)
		return MNL_CB_OK;
	row.used = percent(row.connections, table->limits->connections);
	row.used = fmax(row.used, percent(row.flows, table->limits->flows));
	row.used = fmax(row.used, percent(row.memory, table->limits->memory));
	pep_subscriber_text(tb[PEP_A_PATH_SUBSCRIBER_ADDR],
			    tb[PEP_A_PATH_SUBSCRIBER_PREFIX], row.name);
	enter(table, &row);
	return MNL_CB_OK;
}

static void show_row(const struct row *row)
{
	char used[sizeof("1844674407370955161500.0%")];

	snprintf(used, sizeof(used), "%.1f%%", row->used);
	pep_out_open_object(NULL);
	pep_out_string("subscriber", "subscriber", row->name);
	pep_out_real("used_percent", NULL, row->used);
	pep_out_string(NULL, "used", used);
	pep_out_uint("connections", "connections", row->connections);
	pep_out_uint("flows", "flows", row->flows);
	pep_out_uint("memory", "memory", row->memory);
	pep_out_uint("refused", "refused", row->refused);
	pep_out_close_object();
	pep_out_newline("");
}

/* Request all subscribers, and show those that use most. */
static enum pep_exit show_table(struct table *table)
{
	enum pep_exit err;
	size_t i;

	err = pep_genl_ask(PEP_CMD_PATH_GET, NLM_F_DUMP, take_row, table);
	if (err)
		return err;
	pep_out_open_array(NULL);
	for (i = 0; i < table->n; i++)
		show_row(&table->rows[i]);
	pep_out_close_array();
	return PEP_OK;
}

/* Read the number of rows. */
static enum pep_exit read_rows(struct pep_args *args, __u32 *rows)
{
	struct pep_args_option option = {
		.word = "top",
		.numeric = true,
		.min = 1,
		.max = MAX_ROWS,
	};
	enum pep_exit err;

	*rows = DEFAULT_ROWS;
	/* "top" alone. */
	if (args->argc == 1)
		return PEP_OK;
	err = pep_args_options(args, &option, 1);
	*rows = (__u32)option.number;
	return err;
}

/**
 * pep_share_top() - show the subscribers that use most of their shares
 * @args: "top", and how many
 * @limits: shares of each
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_share_top(struct pep_args *args,
			    const struct pep_share_limits *limits)
{
	struct table table = { .limits = limits };
	enum pep_exit err;
	__u32 rows;

	err = read_rows(args, &rows);
	if (err)
		return err;
	table.most = rows;
	table.rows = calloc(rows, sizeof(*table.rows));
	if (!table.rows)
		return pep_err_failed("Cannot allocate memory");
	err = show_table(&table);
	free(table.rows);
	return err;
}
