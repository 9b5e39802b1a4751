// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of each CPU: a table with a row for each counter that any CPU
 * has, in JSON an array with an object for each CPU.
 */
#include "percpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pep.h>

#include "args.h"
#include "genl.h"
#include "names-gen.h"
#include "out.h"

/* Room for a counter, or the head of its column, with its zero byte. */
#define CELL_LEN 24
#define NAME_LEN 40

/**
 * struct column - counters of one CPU
 * @cpu: its number
 * @counts: counters by PEP_A_STAT_*
 */
struct column {
	__u32 cpu;
	__u64 counts[PEP_A_STAT_MAX + 1];
};

/**
 * struct table - counters of all CPUs
 * @columns: the CPUs
 * @n: how many
 * @failed: memory ran out
 */
struct table {
	struct column *columns;
	size_t n;
	bool failed;
};

/* Keep the counters of one CPU. */
static int keep_cpu(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_STAT_MAX + 1];
	struct table *table = data;
	struct column *column;
	size_t i;

	column = reallocarray(table->columns, table->n + 1, sizeof(*column));
	if (!column) {
		table->failed = true;
		return MNL_CB_OK;
	}
	table->columns = column;
	column += table->n++;
	pep_genl_parse(nlh, tb, PEP_A_STAT_MAX);
	*column = (struct column){
		.cpu = (__u32)pep_nl_uint(tb[PEP_A_STAT_CPU]),
	};
	for (i = 1; i < ARRAY_SIZE(names_stat); i++)
		if (*names_stat[i] && i != PEP_A_STAT_CPU)
			column->counts[i] = pep_nl_uint(tb[i]);
	return MNL_CB_OK;
}

/* Has any CPU counted this? */
static bool counted(const struct table *table, size_t stat)
{
	size_t i;

	for (i = 0; i < table->n; i++)
		if (table->columns[i].counts[stat])
			return true;
	return false;
}

/* Show an object for each CPU. */
static void show_json(const struct table *table)
{
	const struct column *column;
	size_t i, stat;

	pep_out_open_array(NULL);
	for (i = 0; i < table->n; i++) {
		column = &table->columns[i];
		pep_out_open_object(NULL);
		pep_out_uint("cpu", NULL, column->cpu);
		pep_out_open_object("counters");
		for (stat = 1; stat < ARRAY_SIZE(names_stat); stat++)
			if (column->counts[stat])
				pep_out_uint(names_stat[stat], NULL,
					     column->counts[stat]);
		pep_out_close_object();
		pep_out_close_object();
	}
	pep_out_close_array();
}

/* Write a cell of a column, as wide as its widest one. */
static void show_cell(const struct column *column, size_t stat)
{
	char text[CELL_LEN], widest[CELL_LEN];
	__u64 most = 0;
	size_t i, width;

	for (i = 1; i < ARRAY_SIZE(names_stat); i++)
		if (column->counts[i] > most)
			most = column->counts[i];
	snprintf(widest, sizeof(widest), "%llu", (unsigned long long)most);
	snprintf(text, sizeof(text), "CPU%u", column->cpu);
	width = strlen(widest) > strlen(text) ? strlen(widest) : strlen(text);
	if (stat)
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)column->counts[stat]);
	snprintf(widest, sizeof(widest), "%*s", (int)width, text);
	pep_out_word(widest);
}

/* Length of the longest name of a counter. */
static size_t name_width(void)
{
	size_t width = 0;

	for (size_t i = 1; i < ARRAY_SIZE(names_stat); i++)
		if (strlen(names_stat[i]) > width)
			width = strlen(names_stat[i]);
	return width;
}

/* Show a row for each counter, below the CPUs' numbers. */
static void show_text(const struct table *table)
{
	int width = (int)name_width();
	char name[NAME_LEN];
	size_t i, stat;

	for (stat = 0; stat < ARRAY_SIZE(names_stat); stat++) {
		if (stat && !counted(table, stat))
			continue;
		snprintf(name, sizeof(name), "%-*s", width,
			 stat ? names_stat[stat] : "NAME");
		pep_out_word(name);
		for (i = 0; i < table->n; i++)
			show_cell(&table->columns[i], stat);
		pep_out_newline("");
	}
}

/**
 * pep_percpu_show() - show the counters of each CPU
 *
 * Return: PEP_OK, or PEP_FAILED after a message.
 */
enum pep_exit pep_percpu_show(void)
{
	struct table table = { 0 };
	enum pep_exit err;

	err = pep_genl_ask(PEP_CMD_STAT_GET, NLM_F_DUMP, keep_cpu, &table);
	if (!err && table.failed)
		err = pep_err_failed("Cannot allocate memory");
	if (!err && pep_out_json())
		show_json(&table);
	else if (!err)
		show_text(&table);
	free(table.columns);
	return err;
}
