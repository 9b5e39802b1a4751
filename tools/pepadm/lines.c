// SPDX-License-Identifier: GPL-2.0
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Words that a line can have; the longest command, and connection, has fewer. */
#define MAX_WORDS 128

/* Split a line into words, up to a comment. Return: their number, or -1. */
static int split(char *line, char **words)
{
	char *word, *rest = line;
	int n = 0;

	while ((word = strtok_r(rest, " \t\r\n", &rest)) && *word != '#') {
		if (n == MAX_WORDS)
			return -1;
		words[n++] = word;
	}
	words[n] = NULL;
	return n;
}

/* Carry out one line of so many bytes, which may have no words. */
static enum pep_exit run_line(char *line, size_t len, unsigned int number,
			      pep_lines_fn *run, void *data)
{
	char *words[MAX_WORDS + 1];
	struct pep_args args = { .argv = words };

	/* After a loss of power a file can be all zeros. */
	if (memchr(line, '\0', len))
		return pep_err_usage("a zero byte, this is no text");
	args.argc = split(line, words);
	if (args.argc < 0)
		return pep_err_usage("more than %d words", MAX_WORDS);
	return args.argc ? run(&args, number, data) : PEP_OK;
}

/**
 * pep_lines_read() - split the lines of an open file into words, one by one
 * @file: the file
 * @name: its name in messages; NULL to name no line in them
 * @run: called with the words of each line that has some; they are invalid
 *	after it has returned
 * @data: handed to @run
 *
 * A word that begins with "#" begins a comment. Reading ends at the first line
 * that fails.
 *
 * Return: result of the last line, PEP_FAILED when the file cannot be read.
 */
enum pep_exit pep_lines_read(FILE *file, const char *name, pep_lines_fn *run,
			     void *data)
{
	enum pep_exit err = PEP_OK;
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	while (!err && (len = getline(&line, &size, file)) != -1) {
		pep_err_place(name, ++number);
		err = run_line(line, (size_t)len, number, run, data);
	}
	pep_err_place(NULL, 0);
	/* Without memory getline() ends as at the end of the file. */
	if (!err && !feof(file))
		err = pep_err_failed("%.256s: %s", name ? name : "",
				     strerror(errno));
	free(line);
	return err;
}

/**
 * pep_lines_open() - open a file of lines
 * @path: its name, "-" for standard input
 *
 * Return: the file, for pep_lines_close(), or NULL after a message.
 */
FILE *pep_lines_open(const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;

	if (!file)
		pep_err_failed("%.256s: %s", path, strerror(errno));
	return file;
}

/**
 * pep_lines_close() - close a file of lines
 * @file: from pep_lines_open()
 */
void pep_lines_close(FILE *file)
{
	if (file != stdin)
		fclose(file);
}
