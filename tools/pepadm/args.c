// SPDX-License-Identifier: GPL-2.0
#include "args.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pep.h>

#include "percent.h"
#include "rate.h"

/* Room for a list of the words allowed somewhere; longer ones are cut. */
#define LIST_LEN 512

/**
 * pep_args_left() - check whether words are left
 * @args: the words
 *
 * Return: true when there is at least one.
 */
bool pep_args_left(const struct pep_args *args)
{
	return args->argc > 0;
}

/* Take the next word, NULL when there is none. */
static const char *next(struct pep_args *args)
{
	if (!args->argc)
		return NULL;
	args->argc--;
	return *args->argv++;
}

/* Append ", WORD" to a list of LIST_LEN bytes. */
static void list_add(char *list, const char *word)
{
	size_t used = strlen(list);

	snprintf(list + used, LIST_LEN - used, "%s%s", used ? ", " : "", word);
}

/*
 * Check the length of a name: those of devices, profiles and congestion controls
 * all have 1 to 15 characters.
 */
static enum pep_exit check_length(const char *field, const char *value)
{
	size_t len = strlen(value);

	if (!len)
		return pep_err_usage("%s: empty, not 1 to %d characters long",
				     field, PEP_NAME_LEN - 1);
	if (len >= PEP_NAME_LEN)
		return pep_err_usage("%s: \"%.64s\" is longer than %d characters",
				     field, value, PEP_NAME_LEN - 1);
	return PEP_OK;
}

/**
 * pep_args_check_name() - check a name that a line of a file can have
 * @field: purpose of the name, in the words of the usage text
 * @value: the name
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_args_check_name(const char *field, const char *value)
{
	if (*value == '#')
		return pep_err_usage("%s: \"%.64s\" starts with #, as comments in files do",
				     field, value);
	return check_length(field, value);
}

/**
 * pep_args_check_profile() - check the name of a profile
 * @field: purpose of the name, in the words of the usage text
 * @value: the name
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_args_check_profile(const char *field, const char *value)
{
	enum pep_exit err = pep_args_check_name(field, value);
	const char *c;

	if (err)
		return err;
	if (*value == '-')
		return pep_err_usage("%s: \"%.64s\" starts with a hyphen", field,
				     value);
	c = value;
	while (isalnum((unsigned char)*c) || (*c && strchr("._-", *c)))
		c++;
	if (*c)
		return pep_err_usage("%s: \"%.64s\" has other characters than A-Z a-z 0-9 . _ -",
				     field, value);
	return PEP_OK;
}

/**
 * pep_args_name() - take a name of 1 to 15 characters
 * @args: the words
 * @field: purpose of the name, in the words of the usage text
 * @value: where the name goes
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_args_name(struct pep_args *args, const char *field,
			    const char **value)
{
	*value = next(args);
	if (!*value)
		return pep_err_usage("%s: missing", field);
	return check_length(field, *value);
}

/**
 * pep_args_u32() - take a decimal number from 1 to 4294967295
 * @args: the words
 * @field: name of the number, in the words of the usage text
 * @value: where the number goes
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_args_u32(struct pep_args *args, const char *field,
			   __u32 *value)
{
	const char *word = next(args);
	unsigned long long number;
	char *end;

	if (!word)
		return pep_err_usage("%s: missing", field);

	errno = 0;
	number = strtoull(word, &end, 10);
	if (*word < '0' || *word > '9' || *end || errno ||
	    !number || number > UINT32_MAX)
		return pep_err_usage("%s: \"%.64s\" is not a number from 1 to %u",
				     field, word, UINT32_MAX);
	*value = (__u32)number;
	return PEP_OK;
}

/* Read a number, decimal or hexadecimal after 0x; false when it is none. */
static bool read_u32(const char *word, __u64 *value)
{
	bool hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
	unsigned long long number;
	char *end;

	if (!isxdigit((unsigned char)word[hex ? 2 : 0]))
		return false;
	errno = 0;
	number = strtoull(word, &end, hex ? 16 : 10);
	if (*end || errno || number > UINT32_MAX)
		return false;
	*value = number;
	return true;
}

/* Read a number in the form that an option takes. */
static bool read_value(const struct pep_args_option *option, const char *word,
		       __u64 *number)
{
	if (option->rate)
		return pep_rate_read(word, number);
	if (option->percent)
		return pep_percent_read(word, number);
	return read_u32(word, number);
}

/* Write a number in the same form; PEP_RATE_LEN bytes. */
static void write_value(const struct pep_args_option *option, char *text,
			__u64 number)
{
	if (option->rate)
		pep_rate_write(text, number);
	else if (option->percent)
		pep_percent_write(text, number);
	else
		snprintf(text, PEP_RATE_LEN, "%llu",
			 (unsigned long long)number);
}

/* Read the number of an option; false when it is none, or not an allowed one. */
static bool read_number(struct pep_args_option *option, const char *word)
{
	__u64 number;

	if (!read_value(option, word, &number))
		return false;
	option->number = number;
	/* The number of a word is as good as the word. */
	if (number < option->n_choices && option->choices[number])
		return true;
	return number >= option->min && number <= option->max;
}

/* Name of the kind of a numeric value. */
static const char *number_kind(const struct pep_args_option *option)
{
	if (option->rate)
		return "rate";
	return option->percent ? "share" : "number";
}

/* Append ", a number from MIN to MAX" to a list. */
static void list_add_range(char *list, const struct pep_args_option *option)
{
	char min[PEP_RATE_LEN], max[PEP_RATE_LEN];
	char text[2 * PEP_RATE_LEN + 24];

	write_value(option, min, option->min);
	write_value(option, max, option->max);
	snprintf(text, sizeof(text), "a %s from %s to %s",
		 number_kind(option), min, max);
	list_add(list, text);
}

/* Take the value of an option whose keyword has been read. */
static enum pep_exit option_value(struct pep_args *args,
				  struct pep_args_option *option)
{
	const char *value = next(args);
	char list[LIST_LEN] = "";
	size_t i;

	for (i = 0; i < option->n_choices; i++)
		if (option->choices[i])
			list_add(list, option->choices[i]);
	if (option->numeric)
		list_add_range(list, option);

	if (!value)
		return pep_err_usage("%s: value missing%s%s%s", option->word,
				     *list ? ", " : "",
				     option->n_choices ? "one of: " : "", list);

	option->text = value;
	if (!option->choices && !option->numeric)
		return option->check(option->word, value);

	for (i = 0; i < option->n_choices; i++) {
		if (option->choices[i] && !strcmp(value, option->choices[i])) {
			option->number = i;
			return PEP_OK;
		}
	}
	if (option->numeric && read_number(option, value))
		return PEP_OK;
	if (option->gone && !strcmp(value, option->gone))
		return pep_err_usage("%s: \"%s\" has gone, use %s",
				     option->word, value, option->instead);
	return pep_err_usage("%s: \"%.64s\" is not %s%s", option->word, value,
			     option->n_choices ? "one of: " : "", list);
}

/* Find the option of a keyword, NULL after a message. */
static struct pep_args_option *find_option(struct pep_args_option *options,
					   size_t n, const char *word)
{
	char list[LIST_LEN] = "";
	size_t i;

	for (i = 0; i < n; i++) {
		if (!strcmp(word, options[i].word))
			return &options[i];
		list_add(list, options[i].word);
	}
	pep_err_usage("\"%.64s\" is not one of: %s", word, list);
	return NULL;
}

/**
 * pep_args_options() - take all words that are left as "WORD VALUE" pairs
 * @args: the words
 * @options: the pairs of the command; each may be given once
 * @n: number of entries in @options
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_args_options(struct pep_args *args,
			       struct pep_args_option *options, size_t n)
{
	struct pep_args_option *option;
	enum pep_exit err;
	const char *word;
	size_t i;

	while ((word = next(args))) {
		option = find_option(options, n, word);
		if (!option)
			return PEP_USAGE;
		if (option->text)
			return pep_err_usage("%s: given twice", option->word);
		err = option_value(args, option);
		if (err)
			return err;
	}

	for (i = 0; i < n; i++)
		if (options[i].required && !options[i].text)
			return pep_err_usage("%s: missing", options[i].word);
	return PEP_OK;
}

/**
 * pep_args_end() - insist that no words are left
 * @args: the words
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_args_end(const struct pep_args *args)
{
	if (args->argc)
		return pep_err_usage("\"%.64s\": unexpected word", args->argv[0]);
	return PEP_OK;
}
