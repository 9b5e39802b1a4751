// SPDX-License-Identifier: GPL-2.0
/*
 * A line describes an object, "profile NAME OPTIONS", "limit OPTIONS" or
 * "dev DEV OPTIONS", in any order. The configuration in force is written in the
 * same form and read back.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pep.h>

#include "limit.h"
#include "lines.h"
#include "link.h"
#include "nl.h"
#include "profile.h"

static const char * const names_kind[] = {
	[PEP_CONFIG_PROFILE] = "profile",
	[PEP_CONFIG_LIMIT] = "limit",
	[PEP_CONFIG_DEV] = "dev",
};

static void line_free(struct pep_config_line *line)
{
	for (int i = 0; i < line->n_words; i++)
		free(line->words[i]);
	free(line->words);
}

/**
 * pep_config_free() - free a configuration's lines
 * @conf: from pep_config_read() or pep_config_now(), complete or not
 */
void pep_config_free(struct pep_config *conf)
{
	for (size_t i = 0; i < conf->n; i++)
		line_free(&conf->lines[i]);
	free(conf->lines);
	conf->lines = NULL;
	conf->n = 0;
}

/**
 * pep_config_args() - get the words of a line that follow its object
 * @line: the line, which keeps them
 *
 * Return: the words.
 */
struct pep_args pep_config_args(const struct pep_config_line *line)
{
	return (struct pep_args){
		.argc = line->n_words - 1,
		.argv = line->words + 1,
	};
}

/**
 * pep_config_place() - name the line that later messages are about
 * @conf: configuration
 * @line: a line of it
 */
void pep_config_place(const struct pep_config *conf,
		      const struct pep_config_line *line)
{
	pep_err_place(conf->file, line->number);
}

/**
 * pep_config_find() - find the line about an object
 * @conf: configuration
 * @kind: kind of the object
 * @name: its name, "" for the limits
 *
 * Return: the line, or NULL when there is none.
 */
const struct pep_config_line *pep_config_find(const struct pep_config *conf,
					      enum pep_config_kind kind,
					      const char *name)
{
	for (size_t i = 0; i < conf->n; i++)
		if (conf->lines[i].kind == kind &&
		    !strcmp(conf->lines[i].name, name))
			return &conf->lines[i];
	return NULL;
}

/* Copy words into a new line at the end; NULL when memory has run out. */
static struct pep_config_line *line_new(struct pep_config *conf,
					const struct pep_args *args)
{
	struct pep_config_line *line;

	line = reallocarray(conf->lines, conf->n + 1, sizeof(*line));
	if (!line)
		return NULL;
	conf->lines = line;
	line += conf->n;
	*line = (struct pep_config_line){ .name = "" };
	line->words = calloc((size_t)args->argc, sizeof(*line->words));
	if (!line->words)
		return NULL;
	conf->n++;
	while (line->n_words < args->argc) {
		char *word = strdup(args->argv[line->n_words]);

		if (!word)
			return NULL;
		line->words[line->n_words++] = word;
	}
	return line;
}

/* Find the object of a line and check its words. */
static enum pep_exit line_check(struct pep_config_line *line)
{
	struct pep_args args = pep_config_args(line);
	enum pep_exit err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names_kind); i++)
		if (!strcmp(line->words[0], names_kind[i]))
			break;
	line->kind = (enum pep_config_kind)i;
	switch (line->kind) {
	case PEP_CONFIG_PROFILE:
		return pep_profile_check(&args, &line->name);
	case PEP_CONFIG_LIMIT:
		return pep_limit_check(&args);
	case PEP_CONFIG_DEV:
		err = pep_dev_check(&args, true, &line->dev);
		line->name = line->dev.name;
		return err;
	}
	return pep_err_usage("\"%.64s\" is not one of: profile, limit, dev",
			     line->words[0]);
}

/* Add a line to a configuration. */
static enum pep_exit add_line(struct pep_args *args, unsigned int number,
			      void *data)
{
	struct pep_config *conf = data;
	const struct pep_config_line *twin;
	struct pep_config_line *line;
	enum pep_exit err;

	line = line_new(conf, args);
	if (!line)
		return pep_err_failed("%s", strerror(ENOMEM));
	line->number = number;
	err = line_check(line);
	if (err)
		return err;
	twin = pep_config_find(conf, line->kind, line->name);
	if (twin != line)
		return pep_err_usage("%s%s%s: given in line %u already",
				     line->words[0], *line->name ? " " : "",
				     line->name, twin->number);
	return PEP_OK;
}

/* Check the references between lines: a device's profile exists. */
static enum pep_exit check_names(const struct pep_config *conf)
{
	enum pep_exit err = PEP_OK;
	const struct pep_config_line *line;

	for (size_t i = 0; i < conf->n && !err; i++) {
		line = &conf->lines[i];
		if (line->kind != PEP_CONFIG_DEV ||
		    !strcmp(line->dev.profile, PEP_PROFILE_DEFAULT) ||
		    pep_config_find(conf, PEP_CONFIG_PROFILE, line->dev.profile))
			continue;
		pep_config_place(conf, line);
		err = pep_err_usage("profile: no line is about profile \"%s\"",
				    line->dev.profile);
	}
	pep_err_place(NULL, 0);
	return err;
}

/* Put another name of its device into a line, one of whose words is the name. */
static bool rename_dev(struct pep_config_line *line, const char *name)
{
	char *word = strdup(name);
	int i = 0;

	if (!word)
		return false;
	while (line->words[i] != line->name)
		i++;
	free(line->words[i]);
	line->words[i] = word;
	line->name = word;
	line->dev.name = word;
	return true;
}

/* Drop the lines of optional devices that are missing, with a warning. */
static void drop_missing(struct pep_config *conf, struct pep_nl *nl)
{
	struct pep_config_line *line;
	struct pep_link link;
	size_t kept = 0;

	for (size_t i = 0; i < conf->n; i++) {
		line = &conf->lines[i];
		if (line->kind != PEP_CONFIG_DEV || !line->dev.optional ||
		    pep_link_by_name(nl, line->name, &link) != -ENODEV) {
			conf->lines[kept++] = *line;
			continue;
		}
		pep_config_place(conf, line);
		pep_err_warning("left out: Cannot find device \"%s\"",
				line->name);
		line_free(line);
	}
	conf->n = kept;
	pep_err_place(NULL, 0);
}

/**
 * pep_config_resolve() - replace alternative names of devices
 * @conf: configuration
 *
 * The name of a device that is missing stays, but for optional ones, whose lines go.
 *
 * Return: PEP_OK; after a message PEP_USAGE when two lines are about one device, or
 * PEP_FAILED.
 */
enum pep_exit pep_config_resolve(struct pep_config *conf)
{
	const struct pep_config_line *twin;
	struct pep_config_line *line;
	enum pep_exit err = PEP_OK;
	struct pep_link link;
	struct pep_nl nl;

	err = pep_nl_open(&nl, NETLINK_ROUTE);
	if (err)
		return err;
	drop_missing(conf, &nl);
	for (size_t i = 0; i < conf->n && !err; i++) {
		line = &conf->lines[i];
		if (line->kind != PEP_CONFIG_DEV ||
		    pep_link_by_name(&nl, line->name, &link) ||
		    !strcmp(link.name, line->name))
			continue;
		pep_config_place(conf, line);
		twin = pep_config_find(conf, PEP_CONFIG_DEV, link.name);
		if (twin)
			err = pep_err_usage("dev %s: is %s, given in line %u",
					    line->name, link.name, twin->number);
		else if (!rename_dev(line, link.name))
			err = pep_err_failed("%s", strerror(ENOMEM));
	}
	pep_err_place(NULL, 0);
	pep_nl_close(&nl);
	return err;
}

/**
 * pep_config_read() - read and check a configuration
 * @file: open file
 * @name: its name in messages, NULL for the configuration in force; has to stay
 * @conf: result; to be freed in any case
 *
 * Return: PEP_OK; after a message PEP_USAGE for a mistake in it or PEP_FAILED.
 */
enum pep_exit pep_config_read(FILE *file, const char *name,
			      struct pep_config *conf)
{
	enum pep_exit err;

	*conf = (struct pep_config){ .file = name };
	err = pep_lines_read(file, name, add_line, conf);
	return err ? err : check_names(conf);
}

/**
 * pep_config_write() - write the configuration in force
 * @file: open file
 * @tell: warn about all that has no line
 *
 * Return: PEP_OK, or PEP_FAILED after a message.
 */
enum pep_exit pep_config_write(FILE *file, bool tell)
{
	enum pep_exit err = pep_profile_save(file);

	if (!err)
		err = pep_limit_save(file);
	return err ? err : pep_dev_save(file, tell);
}

/**
 * pep_config_now() - read the configuration in force
 * @conf: result; to be freed in any case
 *
 * Return: PEP_OK, or PEP_FAILED after a message.
 */
enum pep_exit pep_config_now(struct pep_config *conf)
{
	enum pep_exit err;
	char *text = NULL;
	size_t size = 0;
	FILE *file;

	*conf = (struct pep_config){ 0 };
	file = open_memstream(&text, &size);
	if (!file)
		return pep_err_failed("%s", strerror(errno));
	err = pep_config_write(file, false);
	if (fclose(file) && !err)
		err = pep_err_failed("%s", strerror(errno));
	file = err ? NULL : fmemopen(text, size, "r");
	if (file) {
		err = pep_config_read(file, NULL, conf);
		fclose(file);
	} else if (!err) {
		err = pep_err_failed("%s", strerror(errno));
	}
	free(text);
	return err;
}
