/* SPDX-License-Identifier: GPL-2.0 */
/* Taking the words of a command line apart. */
#ifndef _PEPADM_ARGS_H
#define _PEPADM_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "err.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/**
 * struct pep_args - the words that are still to be read
 * @argc: how many
 * @argv: the words
 */
struct pep_args {
	int argc;
	char **argv;
};

/**
 * struct pep_args_option - one "WORD VALUE" pair of a command
 * @word: the keyword
 * @choices: the values allowed, indexed by number, NULL where a number has no
 *	word; NULL for a free name or number
 * @n_choices: number of entries in @choices
 * @numeric: the value may be a number
 * @rate: that number is a rate, bytes per second
 * @percent: that number is a share, 1/10,000, given in percent
 * @min: the smallest number allowed
 * @max: the largest number allowed
 * @check: further check of a free name, or NULL
 * @required: the command needs it
 * @gone: a value that was removed, or NULL
 * @instead: the one to use instead of it
 * @text: the value as given, NULL when it was not given
 * @number: the number given, or the index of the value in @choices
 *
 * The command fills in all but the last two members, pep_args_options() fills
 * in those.
 */
struct pep_args_option {
	const char *word;
	const char * const *choices;
	size_t n_choices;
	bool numeric;
	bool rate;
	bool percent;
	__u64 min;
	__u64 max;
	enum pep_exit (*check)(const char *field, const char *value);
	bool required;
	const char *gone;
	const char *instead;
	const char *text;
	__u64 number;
};

bool pep_args_left(const struct pep_args *args);
enum pep_exit pep_args_name(struct pep_args *args, const char *field,
			    const char **value);
enum pep_exit pep_args_check_name(const char *field, const char *value);
enum pep_exit pep_args_check_profile(const char *field, const char *value);
enum pep_exit pep_args_u32(struct pep_args *args, const char *field,
			   __u32 *value);
enum pep_exit pep_args_options(struct pep_args *args,
			       struct pep_args_option *options, size_t n);
enum pep_exit pep_args_end(const struct pep_args *args);

#endif
