/* SPDX-License-Identifier: GPL-2.0 */
/* The present or intended configuration of a namespace, as lines of words. */
#ifndef _PEPADM_CONFIG_H
#define _PEPADM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "args.h"
#include "dev.h"
#include "err.h"

/**
 * enum pep_config_kind - kind of a line's object
 * @PEP_CONFIG_PROFILE: a profile
 * @PEP_CONFIG_LIMIT: the limits
 * @PEP_CONFIG_DEV: a device
 */
enum pep_config_kind {
	PEP_CONFIG_PROFILE,
	PEP_CONFIG_LIMIT,
	PEP_CONFIG_DEV,
};

/**
 * struct pep_config_line - a line of a configuration
 * @number: its number in the file
 * @kind: kind of its object
 * @words: its words, with the object
 * @n_words: how many
 * @name: name of the profile or device, "" for limits
 * @dev: configuration of a device
 */
struct pep_config_line {
	unsigned int number;
	enum pep_config_kind kind;
	char **words;
	int n_words;
	const char *name;
	struct pep_dev_conf dev;
};

/**
 * struct pep_config - a configuration
 * @file: name of its file, for messages; NULL for the configuration in force
 * @lines: its lines
 * @n: how many
 */
struct pep_config {
	const char *file;
	struct pep_config_line *lines;
	size_t n;
};

enum pep_exit pep_config_read(FILE *file, const char *name,
			      struct pep_config *conf);
enum pep_exit pep_config_resolve(struct pep_config *conf);
enum pep_exit pep_config_now(struct pep_config *conf);
enum pep_exit pep_config_write(FILE *file, bool tell);
void pep_config_free(struct pep_config *conf);
struct pep_args pep_config_args(const struct pep_config_line *line);
void pep_config_place(const struct pep_config *conf,
		      const struct pep_config_line *line);
const struct pep_config_line *pep_config_find(const struct pep_config *conf,
					      enum pep_config_kind kind,
					      const char *name);

#endif
