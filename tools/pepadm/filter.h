/* SPDX-License-Identifier: GPL-2.0 */
/* The choice of flows, or connections, for a command. */
#ifndef _PEPADM_FILTER_H
#define _PEPADM_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "args.h"
#include "err.h"
#include "nl.h"

/* Words that a filter can have at most. */
#define PEP_FILTER_WORDS 9

struct pep_filter_word;

/**
 * struct pep_filter - conditions that flows, or connections, have to meet
 * @words: the words of such a filter
 * @n: how many
 * @id: number of the flow, 0 for any
 * @options: the other words, with their values
 */
struct pep_filter {
	const struct pep_filter_word *words;
	size_t n;
	__u32 id;
	struct pep_args_option options[PEP_FILTER_WORDS];
};

enum pep_exit pep_filter_take(struct pep_args *args, struct pep_filter *filter);
enum pep_exit pep_filter_take_conns(struct pep_args *args,
				    struct pep_filter *filter);
enum pep_exit pep_filter_take_paths(struct pep_args *args,
				    struct pep_filter *filter);
bool pep_filter_put(struct pep_nl_request *req,
		    const struct pep_filter *filter);

#endif
