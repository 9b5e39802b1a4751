/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_MEMO_H
#define _PEP_MEMO_H

#include <linux/jiffies.h>
#include <linux/siphash.h>

#include "tuple.h"

/* Time that a connection is remembered, seconds. */
#define PEP_MEMO_SECONDS	70

/**
 * struct pep_memo - connections that were reset lately
 * @slots: a power of two of words, see memo.c
 * @until: time at which the last entry has expired, jiffies
 * @key: secret of the hash that indexes @slots
 */
struct pep_memo {
	u64 *slots;
	unsigned long until;
	siphash_key_t key;
};

int pep_memo_init(struct pep_memo *memo);
void pep_memo_exit(struct pep_memo *memo);
void pep_memo_add(struct pep_memo *memo, const struct pep_tuple *tuple);
void pep_memo_forget(struct pep_memo *memo, const struct pep_tuple *tuple);
bool pep_memo_search(struct pep_memo *memo, const struct pep_tuple *tuple);

/**
 * pep_memo_find() - is a connection remembered?
 * @memo: memory to search
 * @tuple: tuple as it was added
 *
 * Costs one comparison when nothing was added lately.
 *
 * Context: any.
 * Return: true when it was added less than PEP_MEMO_SECONDS ago.
 */
static inline bool pep_memo_find(struct pep_memo *memo,
				 const struct pep_tuple *tuple)
{
	return time_before(jiffies, READ_ONCE(memo->until)) &&
	       pep_memo_search(memo, tuple);
}

#endif
