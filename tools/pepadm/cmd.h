/* SPDX-License-Identifier: GPL-2.0 */
/* The objects of pepadm, one file each. */
#ifndef _PEPADM_CMD_H
#define _PEPADM_CMD_H

#include "args.h"
#include "err.h"

/**
 * struct pep_cmd_verb - an action on an object
 * @name: word on the command line
 * @run: carries it out, with the words after the verb
 */
struct pep_cmd_verb {
	const char *name;
	enum pep_exit (*run)(struct pep_args *args);
};

/**
 * struct pep_cmd_object - something that pepadm shows or changes
 * @name: word on the command line
 * @verbs: its actions; ends with an entry without a name
 * @show: action when no verb is given, and for "show", "list", "ls"
 * @usage: its part of the usage text, lines of a grammar
 */
struct pep_cmd_object {
	const char *name;
	const struct pep_cmd_verb *verbs;
	enum pep_exit (*show)(struct pep_args *args);
	const char *usage;
};

extern const struct pep_cmd_object pep_dev_object;
extern const struct pep_cmd_object pep_profile_object;
extern const struct pep_cmd_object pep_flow_object;
extern const struct pep_cmd_object pep_conn_object;
extern const struct pep_cmd_object pep_path_object;
extern const struct pep_cmd_object pep_stat_object;
extern const struct pep_cmd_object pep_limit_object;
extern const struct pep_cmd_object pep_drain_object;
extern const struct pep_cmd_object pep_conf_object;
extern const struct pep_cmd_object pep_monitor_object;

#endif
