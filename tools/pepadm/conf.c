// SPDX-License-Identifier: GPL-2.0
/* pepadm conf: the whole configuration of a namespace, as a file. */
#include "cmd.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "change.h"
#include "config.h"
#include "file.h"
#include "lines.h"
#include "profile.h"
#include "wait.h"

#define DEFAULT_FILE "/etc/pep/pep.conf"

/* Mode of a new file. */
#define MODE 0644

/* How messages call standard input. */
#define STDIN_NAME "standard input"

/* Find the device without which a line cannot come into force, or NULL. */
static const char *needed_dev(const struct pep_config_line *line)
{
	struct pep_args args;

	switch (line->kind) {
	case PEP_CONFIG_DEV:
		return line->dev.optional ? NULL : line->name;
	case PEP_CONFIG_PROFILE:
		args = pep_config_args(line);
		return pep_profile_server_dev(&args);
	default:
		return NULL;
	}
}

/* Wait for the devices of a configuration that are not optional, and those that its
 * profiles name, some seconds for all together.
 */
static enum pep_exit wait_devs(const struct pep_config *conf, __u32 seconds)
{
	__u64 end = pep_wait_end(seconds);
	enum pep_exit err = PEP_OK;

	for (size_t i = 0; i < conf->n && !err; i++) {
		const char *name = needed_dev(&conf->lines[i]);

		pep_config_place(conf, &conf->lines[i]);
		if (name)
			err = pep_wait_link(name, end);
	}
	pep_err_place(NULL, 0);
	return err;
}

/* Take an optional "wait SECONDS", and nothing else. */
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
 * Take FILE off the command line, and "wait SECONDS" where the command has it,
 * and read the file; @conf has to be freed in any case.
 */
static enum pep_exit take_conf(struct pep_args *args, __u32 *seconds,
			       struct pep_config *conf)
{
	const char *path = DEFAULT_FILE;
	enum pep_exit err;
	FILE *file;

	*conf = (struct pep_config){ 0 };
	if (pep_args_left(args) &&
	    !(seconds && args->argc < 3 && !strcmp(*args->argv, "wait"))) {
		path = *args->argv++;
		args->argc--;
	}
	err = seconds ? take_wait(args, seconds) : pep_args_end(args);
	if (err)
		return err;
	file = pep_lines_open(path);
	if (!file)
		return PEP_FAILED;
	err = pep_config_read(file, file == stdin ? STDIN_NAME : path, conf);
	pep_lines_close(file);
	return err;
}

static enum pep_exit conf_check(struct pep_args *args)
{
	struct pep_config conf;
	enum pep_exit err = take_conf(args, NULL, &conf);

	pep_config_free(&conf);
	return err;
}

/* Put a file in force, with @anew over no devices at all. */
static enum pep_exit put(struct pep_args *args, bool anew)
{
	struct pep_config conf;
	__u32 seconds;
	enum pep_exit err = take_conf(args, &seconds, &conf);

	if (!err && seconds)
		err = wait_devs(&conf, seconds);
	if (!err)
		err = pep_change(&conf, anew);
	pep_config_free(&conf);
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

/* Write the configuration in force, with warnings for all that has no line. */
static enum pep_exit conf_write(FILE *file)
{
	return pep_config_write(file, true);
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
	return strcmp(path, "-") ? pep_file_write(path, MODE, conf_write) :
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
