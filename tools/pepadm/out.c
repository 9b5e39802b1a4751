// SPDX-License-Identifier: GPL-2.0
/*
 * Commands describe their output once: arrays and objects with keys for JSON,
 * labels and line ends for text. A value has a key and a label: without the key
 * it is left out of JSON, without the label out of text; an empty label shows
 * it bare. Labels of values that few users need are there with an option only;
 * JSON always has everything.
 */
#include "out.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

/* Chosen on the command line. */
static bool json_mode;
static bool pretty_mode;
static bool with_statistics;
static bool with_details;

/* Columns by which the contents of an array or object are indented. */
#define INDENT 4

/* JSON: something stands before the next value in its array or object. */
static bool need_comma;

/* JSON: outermost opening bracket, written with the first value. */
static char root_bracket;

/* JSON: closing brackets of the arrays and objects that are open. */
static char closing[8];
static unsigned int depth;

/* Text: a word stands before the next one on its line. */
static bool need_space;

/**
 * pep_out_init() - choose the form of the output
 * @json: JSON when true, else text
 * @pretty: JSON with a line for each value
 */
void pep_out_init(bool json, bool pretty)
{
	json_mode = json;
	pretty_mode = pretty;
}

/**
 * pep_out_more() - choose additional values for text
 * @statistics: more counters and measurements
 * @details: values that are usual, numbers that only few need
 */
void pep_out_more(bool statistics, bool details)
{
	with_statistics = statistics;
	with_details = details;
}

/**
 * pep_out_statistic() - label a value that text has with statistics only
 * @label: the label
 *
 * Return: the label, or NULL for JSON only.
 */
const char *pep_out_statistic(const char *label)
{
	return with_statistics ? label : NULL;
}

/**
 * pep_out_detail() - label a value that text has with details only
 * @label: the label
 *
 * Return: the label, or NULL for JSON only.
 */
const char *pep_out_detail(const char *label)
{
	return with_details ? label : NULL;
}

/**
 * pep_out_json() - which form was chosen
 *
 * Return: true for JSON.
 */
bool pep_out_json(void)
{
	return json_mode;
}

/* JSON: begin a line, indented for the contents of the innermost brackets. */
static void json_line(void)
{
	if (pretty_mode)
		printf("\n%*s", (int)(INDENT * depth), "");
}

/* Write a JSON string (RFC 8259) with its quotation marks. */
static void json_string(const char *s)
{
	size_t len;

	putchar('"');
	while (*s) {
		len = pep_utf8_len(s);
		if (!len) {
			/* A device's name may be any bytes: replace these. */
			fputs("\\ufffd", stdout);
			len = 1;
		} else if (*s == '"' || *s == '\\') {
			printf("\\%c", *s);
		} else if ((unsigned char)*s < ' ') {
			printf("\\u%04x", (unsigned int)*s);
		} else {
			fwrite(s, 1, len, stdout);
		}
		s += len;
	}
	putchar('"');
}

/* Write the text that has to stand before a JSON value. */
static void json_lead(const char *key)
{
	if (root_bracket) {
		putchar(root_bracket);
		root_bracket = '\0';
	}
	if (need_comma)
		putchar(',');
	need_comma = true;
	if (depth)
		json_line();
	if (key) {
		json_string(key);
		fputs(pretty_mode ? ": " : ":", stdout);
	}
}

/*
 * The outermost bracket waits for the first value, so that a command that
 * fails before it has anything to show prints nothing.
 */
static void json_open(const char *key, char open, char close)
{
	if (!json_mode || depth == sizeof(closing))
		return;
	if (depth) {
		json_lead(key);
		putchar(open);
	} else {
		root_bracket = open;
	}
	closing[depth++] = close;
	need_comma = false;
}

static void json_close(void)
{
	char bracket;

	if (!depth)
		return;
	if (root_bracket) {
		putchar(root_bracket);
		root_bracket = '\0';
	}
	bracket = closing[--depth];
	/* Nothing stands between the brackets of an empty array or object. */
	if (need_comma)
		json_line();
	putchar(bracket);
	need_comma = true;
	if (!depth) {
		putchar('\n');
		need_comma = false;
	}
}

/**
 * pep_out_open_array() - begin a JSON array
 * @key: its key in the object around it, NULL when there is none
 *
 * Nothing is written before the first value, or the end, of the outermost
 * array or object.
 */
void pep_out_open_array(const char *key)
{
	json_open(key, '[', ']');
}

/**
 * pep_out_close_array() - end the JSON array opened last
 */
void pep_out_close_array(void)
{
	json_close();
}

/**
 * pep_out_open_object() - begin a JSON object
 * @key: its key in the object around it, NULL when there is none
 */
void pep_out_open_object(const char *key)
{
	json_open(key, '{', '}');
}

/**
 * pep_out_close_object() - end the JSON object opened last
 */
void pep_out_close_object(void)
{
	json_close();
}

/*
 * Write the label of a value that is shown as text.
 *
 * Return: false when text does not show the value.
 */
static bool text_lead(const char *label)
{
	if (!label)
		return false;
	if (*label)
		pep_out_word(label);
	return true;
}

/**
 * pep_out_string() - show a string
 * @key: key for JSON, NULL for text only
 * @label: word before it in text, "" for none, NULL for JSON only
 * @value: the string
 */
void pep_out_string(const char *key, const char *label, const char *value)
{
	if (!json_mode) {
		if (text_lead(label))
			pep_out_word(value);
	} else if (key) {
		json_lead(key);
		json_string(value);
	}
}

/**
 * pep_out_item() - write a string that belongs to a JSON array only
 * @value: the string
 */
void pep_out_item(const char *value)
{
	if (!json_mode)
		return;
	json_lead(NULL);
	json_string(value);
}

/*
 * Show a number: as it is in JSON; in text divided by 1000, with three
 * decimal places and a unit, when @unit is given.
 */
static void number(const char *key, const char *label, __u64 value,
		   const char *unit)
{
	char text[32];

	if (json_mode) {
		if (key) {
			json_lead(key);
			printf("%llu", (unsigned long long)value);
		}
		return;
	}

	if (unit)
		snprintf(text, sizeof(text), "%llu.%03u%s",
			 (unsigned long long)(value / 1000),
			 (unsigned int)(value % 1000), unit);
	else
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)value);
	if (text_lead(label))
		pep_out_word(text);
}

/**
 * pep_out_uint() - show a number
 * @key: key for JSON, NULL for text only
 * @label: word before it in text, "" for none, NULL for JSON only
 * @value: the number
 */
void pep_out_uint(const char *key, const char *label, __u64 value)
{
	number(key, label, value, NULL);
}

/**
 * pep_out_real() - show a number that was estimated, with three digits in text
 * @key: key for JSON, NULL for text only
 * @label: word before it in text, "" for none, NULL for JSON only
 * @value: the number, finite
 */
void pep_out_real(const char *key, const char *label, double value)
{
	char text[32];

	if (json_mode) {
		if (key) {
			json_lead(key);
			printf("%.6g", value);
		}
		return;
	}
	snprintf(text, sizeof(text), "%.3g", value);
	if (text_lead(label))
		pep_out_word(text);
}

/**
 * pep_out_usec() - show a time of microseconds; milliseconds in text
 * @key: key for JSON, NULL for text only
 * @label: word before it in text, "" for none, NULL for JSON only
 * @us: the time, microseconds
 */
void pep_out_usec(const char *key, const char *label, __u64 us)
{
	number(key, label, us, "ms");
}

/**
 * pep_out_msec() - show a time of milliseconds; seconds in text
 * @key: key for JSON, NULL for text only
 * @label: word before it in text, "" for none, NULL for JSON only
 * @ms: the time, milliseconds
 */
void pep_out_msec(const char *key, const char *label, __u64 ms)
{
	number(key, label, ms, "s");
}

/**
 * pep_out_word() - write a word that belongs to text only
 * @word: the word; control characters are shown as a question mark
 */
void pep_out_word(const char *word)
{
	if (json_mode)
		return;
	if (need_space)
		putchar(' ');
	for (; *word; word++)
		putchar((unsigned char)*word < ' ' || *word == 0x7f ?
			'?' : *word);
	need_space = true;
}

/**
 * pep_out_newline() - end a line of text
 * @indent: beginning of the next line, "" for nothing
 */
void pep_out_newline(const char *indent)
{
	if (json_mode)
		return;
	printf("\n%s", indent);
	need_space = false;
}

/**
 * pep_out_finish() - end the output
 * @result: result of the command
 *
 * The output of a command that failed half way is completed, so that it can be
 * read as JSON. Nothing is written when there was no output.
 *
 * Return: @result, or PEP_FAILED after a message when not all of the output could
 * be written.
 */
enum pep_exit pep_out_finish(enum pep_exit result)
{
	bool failed;

	if (!root_bracket)
		while (depth)
			json_close();

	errno = 0;
	failed = fflush(stdout) || ferror(stdout);
	if (failed && result == PEP_OK)
		result = pep_err_failed("standard output: %s",
					strerror(errno ? errno : EIO));
	return result;
}
