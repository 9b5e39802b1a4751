// SPDX-License-Identifier: GPL-2.0
/* pepadm: configures and shows the TCP performance enhancing proxy. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <linux/pep.h>

#include "lines.h"
#include "cmd.h"
#include "netns.h"
#include "out.h"
#include "version.h"

static const struct pep_cmd_object * const objects[] = {
	&pep_dev_object,
	&pep_profile_object,
	&pep_flow_object,
	&pep_conn_object,
	&pep_path_object,
	&pep_stat_object,
	&pep_limit_object,
	&pep_drain_object,
	&pep_conf_object,
	&pep_monitor_object,
};

/* Print the usage text, of one object only when it is given. */
static enum pep_exit usage(const struct pep_cmd_object *object)
{
	size_t i;

	if (object) {
		fputs(object->usage, stdout);
		return PEP_OK;
	}

	puts("pepadm [ -j ] [ -p ] [ -s ] [ -d ] [ -N NETNS ] OBJECT { COMMAND | help }\n"
	     "pepadm help [ OBJECT ]\n"
	     "pepadm [ -j ] [ -p ] [ -s ] [ -d ] [ -N NETNS ] -b FILE\n"
	     "pepadm { -V | -h }\n"
	     "  -j, --json         print JSON\n"
	     "  -p, --pretty       with -j, a line for each value\n"
	     "  -s, --statistics   in text, more of what was counted and measured\n"
	     "  -d, --details      in text, values that are usual, and numbers of things\n"
	     "  -N, --netns NETNS  work in another network namespace\n"
	     "  -b, --batch FILE   carry out the lines of a file, - for standard input\n"
	     "  -V, --version      print the version and exit\n"
	     "  -h, --help         print this text and exit\n"
	     "\"show\", or \"list\" or \"ls\", is what every OBJECT does without a COMMAND.\n");
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		fputs(objects[i]->usage, stdout);
	return PEP_OK;
}

/* Report a verb that an object does not have. */
static enum pep_exit no_verb(const struct pep_cmd_object *object,
			     const char *word)
{
	const struct pep_cmd_verb *verb;
	char list[80] = "";

	for (verb = object->verbs; verb->name; verb++) {
		strcat(list, verb->name);
		strcat(list, ", ");
	}
	return pep_err_usage("\"%.64s\" is not one of: %shelp", word, list);
}

/* Carry out the words that follow an object. */
static enum pep_exit run_object(const struct pep_cmd_object *object,
				struct pep_args *args)
{
	const struct pep_cmd_verb *verb;
	const char *word;

	if (!args->argc) {
		pep_err_context(object->name, "show");
		return object->show(args);
	}

	word = *args->argv++;
	args->argc--;
	if (!strcmp(word, "help"))
		return usage(object);
	if (!strcmp(word, "list") || !strcmp(word, "ls"))
		word = "show";

	for (verb = object->verbs; verb->name; verb++) {
		if (!strcmp(word, verb->name)) {
			pep_err_context(object->name, verb->name);
			if (args->argc == 1 && !strcmp(*args->argv, "help"))
				return usage(object);
			return verb->run(args);
		}
	}
	pep_err_context(object->name, NULL);
	return no_verb(object, word);
}

/* Carry out the words that follow the options. */
static enum pep_exit run(struct pep_args *args)
{
	char list[96] = "";
	const char *word;
	bool help;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		strcat(list, objects[i]->name);
		strcat(list, ", ");
	}
	if (!args->argc)
		return pep_err_usage("OBJECT: missing, one of: %shelp", list);

	help = !strcmp(*args->argv, "help");
	if (help && args->argc == 1)
		return usage(NULL);
	args->argv += help;
	args->argc -= help;
	word = *args->argv++;
	args->argc--;
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		if (!strcmp(word, objects[i]->name))
			return help ? usage(objects[i]) :
				      run_object(objects[i], args);
	return pep_err_usage("OBJECT: \"%.64s\" is not one of: %shelp", word, list);
}

static const struct option longs[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "pretty", no_argument, NULL, 'p' },
	{ "statistics", no_argument, NULL, 's' },
	{ "details", no_argument, NULL, 'd' },
	{ "netns", required_argument, NULL, 'N' },
	{ "batch", required_argument, NULL, 'b' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* Carry out one line of a batch. */
static enum pep_exit run_line(struct pep_args *args, unsigned int number,
			      void *data)
{
	enum pep_exit err = pep_out_finish(run(args));

	(void)number;
	(void)data;
	pep_err_context(NULL, NULL);
	return err;
}

/* Carry out the commands in a file, without "pepadm" and the options. */
static enum pep_exit run_batch(const char *path)
{
	FILE *file = pep_lines_open(path);
	enum pep_exit err;

	if (!file)
		return PEP_FAILED;
	err = pep_lines_read(file, path, run_line, NULL);
	pep_lines_close(file);
	return err;
}

/**
 * struct options - options before the object
 * @json: print JSON
 * @pretty: with a line for each value
 * @statistics: more statistics in text
 * @details: more details in text
 * @netns: namespace to work in, or NULL
 * @batch: file with commands, or NULL
 */
struct options {
	bool json;
	bool pretty;
	bool statistics;
	bool details;
	const char *netns;
	const char *batch;
};

/* Report an option that getopt_long() refused; @why is its result. */
static enum pep_exit no_option(char **argv, int why)
{
	const struct option *known;

	for (known = longs; known->name; known++) {
		if (!optopt || known->val != optopt)
			continue;
		if (why == ':')
			return pep_err_usage("option -%c: value missing",
					     optopt);
		return pep_err_usage("option %s: takes no value",
				     argv[optind - 1]);
	}
	if (optopt)
		return pep_err_usage("option -%c is not one of: -j, -p, -s, -d, -N, -b, -V, -h",
				     optopt);
	return pep_err_usage("option %s is not one of: %s", argv[optind - 1],
			     "--json, --pretty, --statistics, --details, --netns, --batch, --version, --help");
}

/* Apply the options and carry out the words that follow them. */
static enum pep_exit run_with(const struct options *options,
			      struct pep_args *args)
{
	enum pep_exit err;

	pep_out_init(options->json, options->pretty);
	pep_out_more(options->statistics, options->details);
	if (options->netns) {
		err = pep_netns_enter(options->netns);
		if (err)
			return err;
	}
	if (!options->batch)
		return pep_out_finish(run(args));
	if (args->argc)
		return pep_err_usage("\"%.64s\": unexpected word beside a batch",
				     args->argv[0]);
	return run_batch(options->batch);
}

/* The versions of all that has to fit together, in one line. */
static void show_versions(void)
{
	const char *module = pep_version_module();

	printf("pepadm %s, netlink family %s version %d", PEPADM_VERSION,
	       PEP_FAMILY_NAME, PEP_FAMILY_VERSION);
	if (module)
		printf(", module %s", module);
	printf("\n");
}

/**
 * main() - entry of the program
 * @argc: number of words on the command line
 * @argv: the words
 *
 * Return: enum pep_exit.
 */
int main(int argc, char **argv)
{
	struct options options = { 0 };
	struct pep_args args;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:jpsdN:b:Vh", longs,
				     NULL)) != -1) {
		switch (option) {
		case 'j':
			options.json = true;
			break;
		case 'p':
			options.pretty = true;
			break;
		case 's':
			options.statistics = true;
			break;
		case 'd':
			options.details = true;
			break;
		case 'N':
			options.netns = optarg;
			break;
		case 'b':
			options.batch = optarg;
			break;
		case 'V':
			show_versions();
			return pep_out_finish(PEP_OK);
		case 'h':
			return pep_out_finish(usage(NULL));
		default:
			return no_option(argv, option);
		}
	}

	args.argc = argc - optind;
	args.argv = argv + optind;
	return run_with(&options, &args);
}
