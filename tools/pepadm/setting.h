/* SPDX-License-Identifier: GPL-2.0 */
/* The settings of a profile. */
#ifndef _PEPADM_SETTING_H
#define _PEPADM_SETTING_H

#include <stdio.h>

#include "args.h"
#include "nl.h"
#include "settings-gen.h"

/* The word for no device that server legs are bound to. */
#define PEP_SETTING_NO_DEV "none"

/**
 * struct pep_setting - a word of "add" and "set" and its value
 * @attr: its attribute
 * @option: describes its value; a number unless it has a check, which triggers
 *	and names have
 * @key: its key in JSON
 * @rare: text has it with details only while its value is @usual, or empty
 * @usual: value that most profiles have
 */
struct pep_setting {
	__u16 attr;
	struct pep_args_option option;
	const char *key;
	bool rare;
	__u32 usual;
};

/* In the order in which they are shown. */
extern const struct pep_setting pep_settings[PEP_SETTINGS];

void pep_setting_put(struct pep_nl_request *req,
		     const struct pep_setting *setting,
		     const struct pep_args_option *option);
void pep_setting_show(const struct pep_setting *setting,
		      const struct nlattr * const *tb);
void pep_setting_save(FILE *file, const struct pep_setting *setting,
		      const struct nlattr * const *tb);

#endif
