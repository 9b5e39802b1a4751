// SPDX-License-Identifier: GPL-2.0
#include "split.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pep.h>

#include "args.h"
#include "names-gen.h"
#include "out.h"

/* The word for no trigger at all. */
#define NEVER "never"

/* Room for a word; longer ones, which are wrong in any case, are cut. */
#define WORD_LEN 65

/*
 * Read a number of bytes, maybe with k for 1024 or m for 1024 * 1024 after it;
 * false when it is none, or out of range.
 */
static bool read_bytes(const char *word, __u32 *bytes)
{
	unsigned long long number;
	unsigned int shift = 0;
	char *end;

	if (!isdigit((unsigned char)*word))
		return false;
	errno = 0;
	number = strtoull(word, &end, 10);
	if (tolower((unsigned char)*end) == 'k')
		shift = 10;
	else if (tolower((unsigned char)*end) == 'm')
		shift = 20;
	if (shift)
		end++;
	if (*end || errno || !number ||
	    number > (__u32)PEP_SPLIT_BYTES_MAX >> shift)
		return false;
	*bytes = (__u32)number << shift;
	return true;
}

/* Find the flag of a trigger's word, 0 when it is none. */
static __u32 read_trigger(const char *word, __u32 *bytes)
{
	size_t i;

	if (read_bytes(word, bytes))
		return PEP_SPLIT_TRIGGER_BYTES;
	for (i = 0; i < ARRAY_SIZE(names_split_trigger); i++)
		if (1U << i != PEP_SPLIT_TRIGGER_BYTES &&
		    !strcmp(word, names_split_trigger[i]))
			return 1U << i;
	return 0;
}

/* Add the trigger of one word of several. */
static enum pep_exit add_trigger(const char *field, const char *word,
				 struct pep_split *split)
{
	__u32 flag = read_trigger(word, &split->bytes);

	if (!strcmp(word, NEVER))
		return pep_err_usage("%s: " NEVER " goes with no other trigger",
				     field);
	if (!flag)
		return pep_err_usage("%s: \"%s\" is not one of: " NEVER
				     ", handshake, loss, a number from 1 to %u",
				     field, word, PEP_SPLIT_BYTES_MAX);
	if (split->trigger & flag)
		return pep_err_usage("%s: \"%s\" is a second %s", field, word,
				     flag == PEP_SPLIT_TRIGGER_BYTES ?
				     "number of bytes" : word);
	split->trigger |= flag;
	if ((split->trigger & PEP_SPLIT_TRIGGER_HANDSHAKE) &&
	    split->trigger != PEP_SPLIT_TRIGGER_HANDSHAKE)
		return pep_err_usage("%s: handshake, which comes first, goes with no other trigger",
				     field);
	return PEP_OK;
}

/**
 * pep_split_read() - read triggers
 * @field: purpose of the triggers, in the words of the usage text
 * @text: "never", or "handshake", or "loss" and a number of bytes, both or one
 *	of them with a comma between them
 * @split: result
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_split_read(const char *field, const char *text,
			     struct pep_split *split)
{
	enum pep_exit err = PEP_OK;
	char word[WORD_LEN];
	size_t len;

	split->trigger = 0;
	split->bytes = PEP_SPLIT_BYTES_DEFAULT;
	if (!strcmp(text, NEVER))
		return PEP_OK;
	for (;;) {
		len = strcspn(text, ",");
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		err = add_trigger(field, word, split);
		text += len;
		if (err || !*text)
			return err;
		text++;
	}
}

/**
 * pep_split_check() - check triggers
 * @field: purpose of the triggers, in the words of the usage text
 * @text: the triggers, as for pep_split_read()
 *
 * Return: PEP_OK, or PEP_USAGE after a message.
 */
enum pep_exit pep_split_check(const char *field, const char *text)
{
	struct pep_split split;

	return pep_split_read(field, text, &split);
}

/**
 * pep_split_write() - write triggers as pep_split_read() takes them
 * @text: result, PEP_SPLIT_LEN bytes
 * @split: the triggers
 */
void pep_split_write(char *text, const struct pep_split *split)
{
	bool loss = split->trigger & PEP_SPLIT_TRIGGER_LOSS;

	if (split->trigger & PEP_SPLIT_TRIGGER_HANDSHAKE)
		snprintf(text, PEP_SPLIT_LEN, "handshake");
	else if (split->trigger & PEP_SPLIT_TRIGGER_BYTES)
		snprintf(text, PEP_SPLIT_LEN, "%u%s", split->bytes,
			 loss ? ",loss" : "");
	else
		snprintf(text, PEP_SPLIT_LEN, "%s", loss ? "loss" : NEVER);
}

/**
 * pep_split_usual() - are the triggers those of a fresh profile?
 * @split: the triggers
 *
 * Return: true when they are.
 */
bool pep_split_usual(const struct pep_split *split)
{
	return split->trigger == (PEP_SPLIT_TRIGGER_BYTES |
				  PEP_SPLIT_TRIGGER_LOSS) &&
	       split->bytes == PEP_SPLIT_BYTES_DEFAULT;
}

/**
 * pep_split_show() - show triggers; in JSON their names and the bytes apart
 * @label: word before them in text, NULL for JSON only
 * @split: the triggers
 */
void pep_split_show(const char *label, const struct pep_split *split)
{
	char text[PEP_SPLIT_LEN];
	size_t i;

	pep_split_write(text, split);
	pep_out_string(NULL, label, text);
	pep_out_open_array("split");
	for (i = 0; i < ARRAY_SIZE(names_split_trigger); i++)
		if (split->trigger & 1U << i)
			pep_out_item(names_split_trigger[i]);
	pep_out_close_array();
	pep_out_uint("split_bytes", NULL, split->bytes);
}
