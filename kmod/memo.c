// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of connections that were reset, for a while: their late packets are
 * answered with a valid reset.
 *
 * A table of fixed size without chains or locks: a slot is one word that
 * holds the upper 40 bits of the tuple's keyed hash and the second in which
 * it expires, modulo half a year. A collision forgets the older connection.
 */

#include "memo.h"

#include <linux/bits.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#define PEP_MEMO_SLOTS	4096

/* The part of a slot that is the second. */
#define PEP_MEMO_UNTIL	GENMASK_ULL(23, 0)

static u64 *pep_memo_slot(struct pep_memo *memo, const struct pep_tuple *tuple,
			  u64 *tag)
{
	u64 hash = siphash(tuple, sizeof(*tuple), &memo->key);

	*tag = hash & ~PEP_MEMO_UNTIL;
	return &memo->slots[hash & (PEP_MEMO_SLOTS - 1)];
}

/**
 * pep_memo_init() - allocate the memory
 * @memo: zeroed
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int pep_memo_init(struct pep_memo *memo)
{
	get_random_bytes(&memo->key, sizeof(memo->key));
	memo->until = jiffies;
	memo->slots = kvcalloc(PEP_MEMO_SLOTS, sizeof(u64), GFP_KERNEL);
	return memo->slots ? 0 : -ENOMEM;
}

/**
 * pep_memo_exit() - free the memory
 * @memo: initialised or zeroed, unused by now
 *
 * Context: may sleep.
 */
void pep_memo_exit(struct pep_memo *memo)
{
	kvfree(memo->slots);
	memo->slots = NULL;
}

/**
 * pep_memo_add() - remember a connection for PEP_MEMO_SECONDS
 * @memo: memory to add it to
 * @tuple: tuple of its packets in one direction
 *
 * Context: any.
 */
void pep_memo_add(struct pep_memo *memo, const struct pep_tuple *tuple)
{
	time64_t until = ktime_get_seconds() + PEP_MEMO_SECONDS;
	u64 tag, *slot = pep_memo_slot(memo, tuple, &tag);

	WRITE_ONCE(*slot, tag | (until & PEP_MEMO_UNTIL));
	WRITE_ONCE(memo->until, jiffies + (PEP_MEMO_SECONDS + 1) * HZ);
}

/**
 * pep_memo_search() - look a connection up, see pep_memo_find()
 * @memo: memory to search
 * @tuple: tuple as it was added
 *
 * Context: any.
 * Return: true when it was added less than PEP_MEMO_SECONDS ago.
 */
bool pep_memo_search(struct pep_memo *memo, const struct pep_tuple *tuple)
{
	time64_t now = ktime_get_seconds();
	u64 tag, entry;
	u32 left;

	entry = READ_ONCE(*pep_memo_slot(memo, tuple, &tag));
	if (!entry || (entry & ~PEP_MEMO_UNTIL) != tag)
		return false;
	/* A time in the past looks like a long time. */
	left = (entry - now) & PEP_MEMO_UNTIL;
	return left && left <= PEP_MEMO_SECONDS;
}

/**
 * pep_memo_forget() - forget a connection
 * @memo: memory to remove it from
 * @tuple: tuple as it was added, or of another connection
 *
 * Context: any.
 */
void pep_memo_forget(struct pep_memo *memo, const struct pep_tuple *tuple)
{
	u64 tag;

	if (pep_memo_find(memo, tuple))
		WRITE_ONCE(*pep_memo_slot(memo, tuple, &tag), 0);
}
