// SPDX-License-Identifier: GPL-2.0
#include "err.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* The current command: two words that every message starts with, or NULL. */
static const char *context_object;
static const char *context_verb;

/* File and line of the command, NULL for the command line. */
static const char *place_file;
static unsigned int place_line;

/* Nothing is printed. */
static bool quiet;

/**
 * pep_err_quiet() - print no messages for a while
 * @on: true to begin, false to end
 */
void pep_err_quiet(bool on)
{
	quiet = on;
}

/**
 * pep_err_place() - set the file and line of the commands that follow
 * @file: name of a file; kept, not copied; NULL for none
 * @line: line in it, from 1
 */
void pep_err_place(const char *file, unsigned int line)
{
	place_file = file;
	place_line = line;
}

/**
 * pep_err_context() - name the command that later messages are about
 * @object: word such as "profile", or NULL for none; kept, not copied
 * @verb: word such as "add", or NULL for none; kept, not copied
 */
void pep_err_context(const char *object, const char *verb)
{
	context_object = object;
	context_verb = verb;
}

/* Make a text one line that does not control the terminal. */
static void tame(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/*
 * Print one line. In the text and in the name of a file, which may come from
 * the user or the kernel, control characters are shown as a question mark, and
 * bytes over 1023 are cut.
 */
__printf(2, 0)
static void print_line(const char *kind, const char *fmt, va_list ap)
{
	char text[1024];

	if (quiet)
		return;
	fputs("pepadm: ", stderr);
	if (place_file) {
		snprintf(text, sizeof(text), "%s", place_file);
		tame(text);
		fprintf(stderr, "%s:%u: ", text, place_line);
	}
	if (context_object)
		fprintf(stderr, "%s%s%s: ", context_object,
			context_verb ? " " : "",
			context_verb ? context_verb : "");
	vsnprintf(text, sizeof(text), fmt, ap);
	tame(text);
	fprintf(stderr, "%s%s\n", kind, text);
}

/**
 * pep_err_failed() - report that the command could not be carried out
 * @fmt: as for printf(), without a newline
 *
 * Return: PEP_FAILED.
 */
enum pep_exit pep_err_failed(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line("", fmt, ap);
	va_end(ap);
	return PEP_FAILED;
}

/**
 * pep_err_usage() - report that the command line is wrong
 * @fmt: as for printf(), without a newline; names the argument
 *
 * Return: PEP_USAGE.
 */
enum pep_exit pep_err_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line("", fmt, ap);
	va_end(ap);
	return PEP_USAGE;
}

/**
 * pep_err_warning() - report something that did not stop the command
 * @fmt: as for printf(), without a newline
 */
void pep_err_warning(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line("warning: ", fmt, ap);
	va_end(ap);
}
