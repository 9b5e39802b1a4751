// SPDX-License-Identifier: GPL-2.0
/* pepadm: configures and shows the TCP performance enhancing proxy. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <linux/pep.h>

#include "cmd.h"
#include "out.h"

static const struct pep_cmd_object * const objects[] = {
	&pep_dev_object,
	&pep_profile_object,
	&pep_flow_object,
	&pep_stat_object,
	&pep_limit_object,
	&pep_drain_object,
	&pep_bypass_object,
};

/* Print the usage text, that of one object when it is given. */
static enum pep_exit usage(const struct pep_cmd_object *object)
{
	size_t i;

	if (object) {
		fputs(object->usage, stdout);
		return PEP_OK;
	}

	puts("pepadm [ -j ] [ -V ] [ -h ] OBJECT { COMMAND | help }\n"
	     "  -j, --json     print JSON\n"
	     "  -V, --version  print the version and exit\n"
	     "  -h, --help     print this text and exit\n"
	     "\"show\" is what every OBJECT does without a COMMAND.\n");
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
			return verb->run(args);
		}
	}
	pep_err_context(object->name, NULL);
	return no_verb(object, word);
}

/* Carry out the words that follow the options. */
static enum pep_exit run(struct pep_args *args)
{
	static const char list[] = "dev, profile, flow, stat, limit, drain, bypass, help";
	const char *word;
	size_t i;

	if (!args->argc)
		return pep_err_usage("OBJECT: missing, one of: %s", list);

	word = *args->argv++;
	args->argc--;
	if (!strcmp(word, "help"))
		return usage(NULL);
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		if (!strcmp(word, objects[i]->name))
			return run_object(objects[i], args);
	return pep_err_usage("OBJECT: \"%.64s\" is not one of: %s", word, list);
}

/* Report an option that getopt_long() refused. */
static enum pep_exit no_option(char **argv)
{
	if (optopt && strchr("jVh", optopt))
		return pep_err_usage("option %s: takes no value",
				     argv[optind - 1]);
	if (optopt)
		return pep_err_usage("option -%c is not one of: -j, -V, -h",
				     optopt);
	return pep_err_usage("option %s is not one of: --json, --version, --help",
			     argv[optind - 1]);
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
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct pep_args args;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+jVh", longs, NULL)) != -1) {
		switch (option) {
		case 'j':
			pep_out_init(true);
			break;
		case 'V':
			printf("pepadm %s, netlink family %s version %d\n",
			       PEPADM_VERSION, PEP_FAMILY_NAME,
			       PEP_FAMILY_VERSION);
			return pep_out_finish(PEP_OK);
		case 'h':
			return pep_out_finish(usage(NULL));
		default:
			return no_option(argv);
		}
	}

	args.argc = argc - optind;
	args.argv = argv + optind;
	return pep_out_finish(run(&args));
}
