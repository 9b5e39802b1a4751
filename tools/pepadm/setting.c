// SPDX-License-Identifier: GPL-2.0
/* The settings of a profile: how they are added to a request, shown and saved. Their
 * words and ranges are in settings-gen.c.
 */
#include "setting.h"

#include <string.h>

#include <linux/pep.h>

#include "out.h"
#include "percent.h"
#include "rate.h"
#include "split.h"

/* Is it the setting with two attributes, triggers and their bytes? */
static bool is_split(const struct pep_setting *setting)
{
	return setting->attr == PEP_A_PROFILE_SPLIT_TRIGGER;
}

/* Add triggers that were checked to a request, bytes where one needs them. */
static void put_split(struct pep_nl_request *req,
		      const struct pep_args_option *option)
{
	struct pep_split split;

	if (pep_split_read(option->word, option->text, &split))
		return;
	pep_nl_put_u32(req, PEP_A_PROFILE_SPLIT_TRIGGER, split.trigger,
		       option->word);
	if (split.trigger & PEP_SPLIT_TRIGGER_BYTES)
		pep_nl_put_u32(req, PEP_A_PROFILE_SPLIT_BYTES, split.bytes,
			       option->word);
}

/* The triggers in an answer. */
static struct pep_split get_split(const struct nlattr * const *tb)
{
	return (struct pep_split) {
		.trigger = (__u32)pep_nl_uint(tb[PEP_A_PROFILE_SPLIT_TRIGGER]),
		.bytes = (__u32)pep_nl_uint(tb[PEP_A_PROFILE_SPLIT_BYTES]),
	};
}

/**
 * pep_setting_put() - add a setting to a request
 * @req: request
 * @setting: setting
 * @option: its value as given, checked; nothing is added where none is
 */
void pep_setting_put(struct pep_nl_request *req,
		     const struct pep_setting *setting,
		     const struct pep_args_option *option)
{
	const char *text = option->text;

	if (!text)
		return;
	if (setting->attr == PEP_A_PROFILE_SERVER_DEV && !strcmp(text, PEP_SETTING_NO_DEV))
		text = "";
	if (is_split(setting))
		put_split(req, option);
	else if (option->check)
		pep_nl_put_string(req, setting->attr, text, option->word);
	else if (option->rate)
		pep_nl_put(req, setting->attr, &option->number,
			   sizeof(option->number), option->word);
	else
		pep_nl_put_u32(req, setting->attr, (__u32)option->number,
			       option->word);
}

/* The word for a setting's value, NULL for a mere number. */
static const char *value_word(const struct pep_setting *setting,
			      const struct nlattr *attr)
{
	const struct pep_args_option *option = &setting->option;
	const char *text;

	if (option->check) {
		text = pep_nl_string(attr);
		return *text ? text : PEP_SETTING_NO_DEV;
	}
	return pep_nl_uint(attr) < option->n_choices ?
	       option->choices[pep_nl_uint(attr)] : NULL;
}

/* Write a number that has no word in the form of the command line. */
static void number_text(char *text, const struct pep_setting *setting,
			const struct nlattr *attr)
{
	if (setting->option.rate)
		pep_rate_write(text, pep_nl_uint(attr));
	else if (setting->option.percent)
		pep_percent_write(text, pep_nl_uint(attr));
	else
		snprintf(text, PEP_RATE_LEN, "%llu",
			 (unsigned long long)pep_nl_uint(attr));
}

/* Show the triggers of a split. */
static void show_split(const struct pep_setting *setting,
		       const struct nlattr * const *tb)
{
	const struct pep_split split = get_split(tb);
	const char *label = setting->option.word;

	if (pep_split_usual(&split))
		label = pep_out_detail(label);
	pep_split_show(label, &split);
}

/* Show a setting of one attribute; a number without a word is one in JSON, too. */
static void show_value(const struct pep_setting *setting,
		       const struct nlattr *attr)
{
	const char *word = value_word(setting, attr);
	const char *label = setting->option.word;
	bool usual = setting->option.check ? !*pep_nl_string(attr) :
		     pep_nl_uint(attr) == setting->usual;
	char text[PEP_RATE_LEN];

	if (setting->rare && usual)
		label = pep_out_detail(label);
	if (word) {
		pep_out_string(setting->key, label, word);
		return;
	}
	number_text(text, setting, attr);
	pep_out_uint(setting->key, NULL, pep_nl_uint(attr));
	pep_out_string(NULL, label, text);
}

/**
 * pep_setting_show() - show a setting
 * @setting: setting
 * @tb: attributes of a profile by number
 */
void pep_setting_show(const struct pep_setting *setting,
		      const struct nlattr * const *tb)
{
	if (is_split(setting))
		show_split(setting, tb);
	else
		show_value(setting, tb[setting->attr]);
}

/**
 * pep_setting_save() - write a setting after others in a configuration
 * @file: open file
 * @setting: setting
 * @tb: attributes of a profile by number
 */
void pep_setting_save(FILE *file, const struct pep_setting *setting,
		      const struct nlattr * const *tb)
{
	const struct nlattr *attr = tb[setting->attr];
	const struct pep_split split = get_split(tb);
	char triggers[PEP_SPLIT_LEN];
	char number[PEP_RATE_LEN];
	const char *text;

	if (is_split(setting)) {
		pep_split_write(triggers, &split);
		text = triggers;
	} else {
		text = value_word(setting, attr);
	}
	if (!text) {
		number_text(number, setting, attr);
		text = number;
	}
	fprintf(file, " %s %s", setting->option.word, text);
}
