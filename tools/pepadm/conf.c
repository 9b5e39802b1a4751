// SPDX-License-Identifier: GPL-2.0
/*
 * pepadm conf: all that is configured in a namespace, as lines of words.
 *
 * A line says what an object is to be, "profile NAME OPTIONS", "limit OPTIONS"
 * or "dev DEV OPTIONS", in any order. What is in force is written in the same
 * form and read back, so that a change is from one of these to another and can
 * be undone by going back.
 */
#include "cmd.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detach.h"
#include "dev.h"
#include "file.h"
#include "hold.h"
#include "limit.h"
#include "lines.h"
#include "profile.h"
#include "uses.h"
#include "wait.h"

#define DEFAULT_FILE "/etc/pep/pep.conf"

/* How messages call standard input. */
#define STDIN_NAME "standard input"

enum kind {
	KIND_PROFILE,
	KIND_LIMIT,
	KIND_DEV,
};

static const char * const names_kind[] = {
	[KIND_PROFILE] = "profile",
	[KIND_LIMIT] = "limit",
	[KIND_DEV] = "dev",
};

/**
 * struct line - a line of a configuration
 * @number: its number in the file
 * @kind: what it is about
 * @words: its words, with the object
 * @n_words: how many
 * @name: name of the profile or device, "" for limits
 * @dev: of a device, what the words say
 */
struct line {
	unsigned int number;
	enum kind kind;
	char **words;
	int n_words;
	const char *name;
	struct pep_dev_conf dev;
};

/**
 * struct conf - a configuration
 * @file: where it is from, for messages; NULL for what is in force
 * @lines: its lines
 * @n: how many
 */
struct conf {
	const char *file;
	struct line *lines;
	size_t n;
};

static void conf_free(struct conf *conf)
{
	int j;

	for (size_t i = 0; i < conf->n; i++) {
		for (j = 0; j < conf->lines[i].n_words; j++)
			free(conf->lines[i].words[j]);
		free(conf->lines[i].words);
	}
	free(conf->lines);
	conf->lines = NULL;
	conf->n = 0;
}

/* The words of a line that follow its object. */
static struct pep_args line_args(const struct line *line)
{
	return (struct pep_args){
		.argc = line->n_words - 1,
		.argv = line->words + 1,
	};
}

/* Name the line that later messages are about. */
static void line_place(const struct conf *conf, const struct line *line)
{
	pep_err_place(conf->file, line->number);
}

/* Find the line about an object; NULL when there is none. */
static const struct line *conf_find(const struct conf *conf, enum kind kind,
				    const char *name)
{
	for (size_t i = 0; i < conf->n; i++)
		if (conf->lines[i].kind == kind &&
		    !strcmp(conf->lines[i].name, name))
			return &conf->lines[i];
	return NULL;
}

/* Copy words into a new line at the end; NULL when memory has run out. */
static struct line *line_new(struct conf *conf, const struct pep_args *args)
{
	struct line *line;

	line = reallocarray(conf->lines, conf->n + 1, sizeof(*line));
	if (!line)
		return NULL;
	conf->lines = line;
	line += conf->n;
	*line = (struct line){ .name = "" };
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

/* Find out what a line is about and whether its words are right. */
static enum pep_exit line_check(struct line *line)
{
	struct pep_args args = line_args(line);
	enum pep_exit err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names_kind); i++)
		if (!strcmp(line->words[0], names_kind[i]))
			break;
	line->kind = (enum kind)i;
	switch (line->kind) {
	case KIND_PROFILE:
		return pep_profile_check(&args, &line->name);
	case KIND_LIMIT:
		return pep_limit_check(&args);
	case KIND_DEV:
		err = pep_dev_check(&args, &line->dev);
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
	struct conf *conf = data;
	const struct line *twin;
	struct line *line;
	enum pep_exit err;

	line = line_new(conf, args);
	if (!line)
		return pep_err_failed("%s", strerror(ENOMEM));
	line->number = number;
	err = line_check(line);
	if (err)
		return err;
	twin = conf_find(conf, line->kind, line->name);
	if (twin != line)
		return pep_err_usage("%s%s%s: given in line %u already",
				     line->words[0], *line->name ? " " : "",
				     line->name, twin->number);
	return PEP_OK;
}

/* Check what lines say about each other: a device's profile is there. */
static enum pep_exit check_names(const struct conf *conf)
{
	enum pep_exit err = PEP_OK;
	const struct line *line;

	for (size_t i = 0; i < conf->n && !err; i++) {
		line = &conf->lines[i];
		if (line->kind != KIND_DEV ||
		    !strcmp(line->dev.profile, PEP_PROFILE_DEFAULT) ||
		    conf_find(conf, KIND_PROFILE, line->dev.profile))
			continue;
		line_place(conf, line);
		err = pep_err_usage("profile: no line is about profile \"%s\"",
				    line->dev.profile);
	}
	pep_err_place(NULL, 0);
	return err;
}

/* Read a configuration from an open file; to be freed in any case. */
static enum pep_exit conf_read(FILE *file, const char *name, struct conf *conf)
{
	enum pep_exit err;

	*conf = (struct conf){ .file = name };
	err = pep_lines_read(file, name, add_line, conf);
	return err ? err : check_names(conf);
}

/* Write what is in force; what lines cannot say is told if wanted. */
static enum pep_exit write_lines(FILE *file, bool tell)
{
	enum pep_exit err = pep_profile_save(file);

	if (!err)
		err = pep_limit_save(file);
	return err ? err : pep_dev_save(file, tell);
}

static enum pep_exit conf_write(FILE *file)
{
	return write_lines(file, true);
}

/* Read what is in force; to be freed in any case. */
static enum pep_exit conf_now(struct conf *conf)
{
	enum pep_exit err;
	char *text = NULL;
	size_t size = 0;
	FILE *file;

	*conf = (struct conf){ 0 };
	file = open_memstream(&text, &size);
	if (!file)
		return pep_err_failed("%s", strerror(errno));
	err = write_lines(file, false);
	if (fclose(file) && !err)
		err = pep_err_failed("%s", strerror(errno));
	file = err ? NULL : fmemopen(text, size, "r");
	if (file) {
		err = conf_read(file, NULL, conf);
		fclose(file);
	} else if (!err) {
		err = pep_err_failed("%s", strerror(errno));
	}
	free(text);
	return err;
}

/**
 * struct way - how to get to a configuration
 * @through: go on behind a failure, to get as near as can be
 * @err: the first failure, or PEP_OK
 */
struct way {
	bool through;
	enum pep_exit err;
};

/* Note how a step has ended. Return whether to go on. */
static bool step(struct way *way, enum pep_exit err)
{
	way->err = way->err ? way->err : err;
	return way->through || !way->err;
}

/* Make profiles and limits what a configuration says; no profile goes. */
static bool apply_values(const struct conf *conf, struct way *way)
{
	const struct line *line;
	struct pep_args args;
	enum pep_exit err;
	bool on = true;

	for (size_t i = 0; i < conf->n && on; i++) {
		line = &conf->lines[i];
		if (line->kind == KIND_DEV)
			continue;
		line_place(conf, line);
		args = line_args(line);
		err = line->kind == KIND_PROFILE ? pep_profile_replace(&args) :
						   pep_limit_replace(&args);
		on = step(way, err);
	}
	pep_err_place(NULL, 0);
	if (!on || conf_find(conf, KIND_LIMIT, ""))
		return on;
	args = (struct pep_args){ 0 };
	return step(way, pep_limit_replace(&args));
}

/* Detach the devices that are not wanted, or wanted on the other side. */
static bool apply_gone(const struct conf *conf, const struct conf *now,
		       struct way *way)
{
	const struct line *line, *wanted;
	const char **names;
	bool on = true;
	size_t n = 0;

	names = calloc(now->n + 1, sizeof(*names));
	if (!names)
		return step(way, pep_err_failed("%s", strerror(ENOMEM)));
	for (size_t i = 0; i < now->n; i++) {
		line = &now->lines[i];
		if (line->kind != KIND_DEV)
			continue;
		wanted = conf_find(conf, KIND_DEV, line->name);
		if (!wanted || wanted->dev.side != line->dev.side)
			names[n++] = line->name;
	}
	if (n)
		on = step(way, pep_detach(names, n));
	free(names);
	return on;
}

/* Attach the devices that are not, and mend what is not as wanted of others. */
static bool apply_devs(const struct conf *conf, struct way *way)
{
	const struct line *line;
	bool on = true;

	for (size_t i = 0; i < conf->n && on; i++) {
		line = &conf->lines[i];
		if (line->kind != KIND_DEV)
			continue;
		line_place(conf, line);
		on = step(way, pep_dev_replace(&line->dev));
	}
	pep_err_place(NULL, 0);
	return on;
}

/*
 * Delete a profile that is used by no device of ours, but not one that filters
 * of others use.
 */
static enum pep_exit drop_profile(const char *name)
{
	enum pep_exit err;
	__u64 uses;

	err = pep_uses(name, &uses);
	if (err)
		return err;
	if (!uses)
		return pep_profile_del(name);
	pep_err_warning("profile \"%s\" stays: other tc filters use it, actions: %llu",
			name, (unsigned long long)uses);
	return PEP_OK;
}

/* Delete the profiles that are not wanted; the default one stays, as new. */
static bool apply_rest(const struct conf *conf, const struct conf *now,
		       struct way *way)
{
	char name[] = PEP_PROFILE_DEFAULT, *word = name;
	const struct line *line;
	struct pep_args args;
	bool on = true;

	for (size_t i = 0; i < now->n && on; i++) {
		line = &now->lines[i];
		if (line->kind != KIND_PROFILE ||
		    conf_find(conf, KIND_PROFILE, line->name))
			continue;
		args = (struct pep_args){ .argc = 1, .argv = &word };
		on = step(way, strcmp(line->name, PEP_PROFILE_DEFAULT) ?
			       drop_profile(line->name) :
			       pep_profile_replace(&args));
	}
	return on;
}

/*
 * Go from what is in force to a configuration. Devices come last, and last of
 * all profiles that they may have used go.
 */
static void apply(const struct conf *conf, const struct conf *now,
		  struct way *way)
{
	(void)(apply_values(conf, way) && apply_gone(conf, now, way) &&
	       apply_devs(conf, way) && apply_rest(conf, now, way));
}

/* Go back to what was in force before something failed, as near as can be. */
static void restore(const struct conf *before)
{
	struct way way = { .through = true };
	struct conf now;

	pep_err_quiet(true);
	way.err = conf_now(&now);
	if (!way.err)
		apply(before, &now, &way);
	conf_free(&now);
	pep_err_quiet(false);
	if (way.err)
		pep_err_warning("not all of what was configured before could be restored");
}

/* Go to a configuration, over no devices at all if told; all or nothing. */
static enum pep_exit change(const struct conf *conf, bool anew)
{
	const struct conf none = { 0 };
	struct conf before, now = none;
	struct way way = { 0 };

	way.err = conf_now(&before);
	if (way.err) {
		conf_free(&before);
		return way.err;
	}
	/* What can be refused comes before what ends flows. */
	if (anew && apply_values(conf, &way))
		apply_gone(&none, &before, &way);
	if (!way.err)
		way.err = conf_now(&now);
	if (!way.err)
		apply(conf, &now, &way);
	if (way.err)
		restore(&before);
	conf_free(&now);
	conf_free(&before);
	return way.err;
}

/* The same, to its end, whoever hangs up or interrupts meanwhile. */
static enum pep_exit change_whole(const struct conf *conf, bool anew)
{
	enum pep_exit err;
	sigset_t old;

	pep_hold_begin(&old);
	err = change(conf, anew);
	pep_hold_end(&old);
	return err;
}

/* Wait for a device that is to be attached, and the one its profile names. */
static enum pep_exit wait_dev(const struct conf *conf, const struct line *line,
			      __u64 end)
{
	enum pep_exit err;
	struct pep_args args;
	const char *server;

	line_place(conf, line);
	err = pep_wait_link(line->name, end);
	line = conf_find(conf, KIND_PROFILE, line->dev.profile);
	if (err || !line)
		return err;
	args = line_args(line);
	server = pep_profile_server_dev(&args);
	line_place(conf, line);
	return server ? pep_wait_link(server, end) : PEP_OK;
}

/* Wait for the devices of a configuration, some seconds for all together. */
static enum pep_exit wait_devs(const struct conf *conf, __u32 seconds)
{
	__u64 end = pep_wait_end(seconds);
	enum pep_exit err = PEP_OK;

	for (size_t i = 0; i < conf->n && !err; i++)
		if (conf->lines[i].kind == KIND_DEV)
			err = wait_dev(conf, &conf->lines[i], end);
	pep_err_place(NULL, 0);
	return err;
}

/* Take "wait SECONDS", which may be there, and nothing else. */
static enum pep_exit take_wait(struct pep_args *args, __u32 *seconds)
{
	*seconds = 0;
	if (!pep_args_left(args) || strcmp(*args->argv, "wait"))
		return pep_args_end(args);
	args->argv++;
	args->argc--;
	if (pep_args_u32(args, "wait", seconds))
		return PEP_USAGE;
	return pep_args_end(args);
}

/*
 * Take FILE off the command line, and "wait SECONDS" where that is known, and
 * read the file; to be freed in any case.
 */
static enum pep_exit take_conf(struct pep_args *args, __u32 *seconds,
			       struct conf *conf)
{
	const char *path = DEFAULT_FILE;
	enum pep_exit err;
	FILE *file;

	*conf = (struct conf){ 0 };
	if (pep_args_left(args) &&
	    !(seconds && args->argc == 2 && !strcmp(*args->argv, "wait"))) {
		path = *args->argv++;
		args->argc--;
	}
	err = seconds ? take_wait(args, seconds) : pep_args_end(args);
	if (err)
		return err;
	file = pep_lines_open(path);
	if (!file)
		return PEP_FAILED;
	err = conf_read(file, file == stdin ? STDIN_NAME : path, conf);
	pep_lines_close(file);
	return err;
}

static enum pep_exit conf_check(struct pep_args *args)
{
	struct conf conf;
	enum pep_exit err = take_conf(args, NULL, &conf);

	conf_free(&conf);
	return err;
}

/* Put a file in force, over no devices at all if told. */
static enum pep_exit put(struct pep_args *args, bool anew)
{
	struct conf conf;
	__u32 seconds;
	enum pep_exit err = take_conf(args, &seconds, &conf);

	if (!err && seconds)
		err = wait_devs(&conf, seconds);
	if (!err)
		err = change_whole(&conf, anew);
	conf_free(&conf);
	return err;
}

static enum pep_exit conf_load(struct pep_args *args)
{
	return put(args, true);
}

static enum pep_exit conf_sync(struct pep_args *args)
{
	return put(args, false);
}

static enum pep_exit conf_show(struct pep_args *args)
{
	enum pep_exit err = pep_args_end(args);

	return err ? err : conf_write(stdout);
}

static enum pep_exit conf_save(struct pep_args *args)
{
	enum pep_exit err;
	const char *path;

	if (!pep_args_left(args))
		return conf_write(stdout);
	path = *args->argv++;
	args->argc--;
	err = pep_args_end(args);
	if (err)
		return err;
	return strcmp(path, "-") ? pep_file_write(path, conf_write) :
				   conf_write(stdout);
}

static const struct pep_cmd_verb conf_verbs[] = {
	{ "save", conf_save },
	{ "load", conf_load },
	{ "sync", conf_sync },
	{ "check", conf_check },
	{ "show", conf_show },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_conf_object = {
	.name = "conf",
	.verbs = conf_verbs,
	.show = conf_show,
	.usage =
	"pepadm conf show\n"
	"pepadm conf save [ FILE ]\n"
	"pepadm conf { load | sync } [ FILE ] [ wait SECONDS ]\n"
	"pepadm conf check [ FILE ]\n",
};
