/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_MEMO_H
#define _PEP_MEMO_H

#include <linux/siphash.h>
#include <linux/time64.h>

#include "tuple.h"

/* How long a connection is remembered, seconds. */
#define PEP_MEMO_SECONDS	70

/**
 * struct pep_memo - connections that something happened to lately
 * @slots: a power of two of words, see memo.c
 * @until: when the youngest entry ceases to count, seconds of
 *	ktime_get_seconds(); 0 for never used
 * @key: secret of the hash that indexes @slots
 */
struct pep_memo {
	u64 *slots;
	time64_t until;
	siphash_key_t key;
};

int pep_memo_init(struct pep_memo *memo);
void pep_memo_exit(struct pep_memo *memo);
void pep_memo_add(struct pep_memo *memo, const struct pep_tuple *tuple);
void pep_memo_forget(struct pep_memo *memo, const struct pep_tuple *tuple);
bool pep_memo_find(struct pep_memo *memo, const struct pep_tuple *tuple);

#endif
