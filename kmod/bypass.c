// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of destinations, address and port, that cannot be split: those whose
 * answers do not come this way. New connections to them pass unsplit for a
 * while instead of each finding out anew. What one opener has found out counts
 * for that one, or a single subscriber could have a destination bypassed for
 * all; what a second one confirms counts for everyone.
 *
 * A table of fixed size: a destination's hash leads to a bucket, in which the
 * entry that would cease to count first makes room for a new one.
 */

#include "bypass.h"

#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#define PEP_BYPASS_BUCKETS	256	/* a power of two */
#define PEP_BYPASS_DEPTH	4
#define PEP_BYPASS_ENTRIES	(PEP_BYPASS_BUCKETS * PEP_BYPASS_DEPTH)

static struct pep_bypass_entry *
pep_bypass_bucket(struct pep_bypass *b, const union pep_addr *addr,
		  __be16 port)
{
	u64 hash = siphash(addr, sizeof(*addr), &b->key);

	hash = siphash_2u64(hash, (__force u16)port, &b->key);
	return &b->entries[(hash & (PEP_BYPASS_BUCKETS - 1)) *
			   PEP_BYPASS_DEPTH];
}

static bool pep_bypass_same(const struct pep_bypass_entry *e,
			    unsigned int family, const union pep_addr *addr,
			    __be16 port)
{
	return e->family == family && e->port == port &&
	       !memcmp(&e->addr, addr, sizeof(*addr));
}

/*
 * Who opens: an IPv4 address, or the first 64 bits of an IPv6 one, the others
 * being a subscriber's own to choose.
 */
static union pep_addr pep_bypass_opener(const struct pep_tuple *tuple)
{
	union pep_addr opener = tuple->src;

	if (tuple->family == AF_INET6)
		memset(&opener.v6.s6_addr[8], 0, 8);
	return opener;
}

/**
 * pep_bypass_init() - get the memory
 * @b: zeroed
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int pep_bypass_init(struct pep_bypass *b)
{
	get_random_bytes(&b->key, sizeof(b->key));
	spin_lock_init(&b->lock);
	b->entries = kvcalloc(PEP_BYPASS_ENTRIES, sizeof(*b->entries),
			      GFP_KERNEL);
	return b->entries ? 0 : -ENOMEM;
}

/**
 * pep_bypass_exit() - free the memory
 * @b: initialised or zeroed, unused by now
 *
 * Context: may sleep.
 */
void pep_bypass_exit(struct pep_bypass *b)
{
	kvfree(b->entries);
	b->entries = NULL;
}

/**
 * pep_bypass_add() - remember a destination
 * @b: where
 * @tuple: tuple of a SYN to it
 * @reason: why; decides for how long
 *
 * What is remembered of it for another reason stays if it counts longer, and
 * gives way otherwise.
 *
 * Context: BH off.
 */
void pep_bypass_add(struct pep_bypass *b, const struct pep_tuple *tuple,
		    enum pep_bypass_reason reason)
{
	union pep_addr opener = pep_bypass_opener(tuple);
	time64_t now = ktime_get_seconds(), until = now;
	struct pep_bypass_entry *e, *old;
	bool everyone = false;
	u32 hits = 0;
	int i;

	until += reason == PEP_BYPASS_REASON_ASYMMETRIC ?
		 PEP_BYPASS_ASYMMETRIC_SECONDS : PEP_BYPASS_UNANSWERED_SECONDS;
	spin_lock(&b->lock);
	old = pep_bypass_bucket(b, &tuple->dst, tuple->dport);
	for (e = old, i = 0; i < PEP_BYPASS_DEPTH; i++, e++) {
		if (pep_bypass_same(e, tuple->family, &tuple->dst,
				    tuple->dport)) {
			old = e;
			if (e->until <= now)
				break;
			if (e->reason != reason && e->until >= until)
				goto out;
			if (e->reason == reason) {
				everyone = e->everyone ||
					   memcmp(&e->opener, &opener,
						  sizeof(opener));
				hits = e->hits;
			}
			break;
		}
		if (e->until < old->until)
			old = e;
	}
	*old = (struct pep_bypass_entry) {
		.addr = tuple->dst,
		.opener = opener,
		.port = tuple->dport,
		.family = tuple->family,
		.reason = reason,
		.everyone = everyone,
		.hits = hits,
		.until = until,
	};
	if (b->until < until)
		WRITE_ONCE(b->until, until);
out:
	spin_unlock(&b->lock);
}

/**
 * pep_bypass_find() - is the destination of a SYN remembered for its opener?
 * @b: where
 * @tuple: tuple of the SYN
 *
 * Counts a hit. Costs one comparison when nothing is remembered.
 *
 * Context: BH off.
 * Return: true while it is.
 */
bool pep_bypass_find(struct pep_bypass *b, const struct pep_tuple *tuple)
{
	time64_t now = ktime_get_seconds();
	struct pep_bypass_entry *e;
	union pep_addr opener;
	bool found = false;
	int i;

	if (READ_ONCE(b->until) <= now)
		return false;
	opener = pep_bypass_opener(tuple);
	spin_lock(&b->lock);
	e = pep_bypass_bucket(b, &tuple->dst, tuple->dport);
	for (i = 0; i < PEP_BYPASS_DEPTH && !found; i++, e++) {
		found = e->until > now &&
			pep_bypass_same(e, tuple->family, &tuple->dst,
					tuple->dport) &&
			(e->everyone ||
			 !memcmp(&e->opener, &opener, sizeof(opener)));
		e->hits += found;
	}
	spin_unlock(&b->lock);
	return found;
}

/**
 * pep_bypass_next() - walk over the destinations that are remembered
 * @b: where
 * @index: where to go on, 0 to begin with; moved behind the one found
 * @entry: copy of the one found
 *
 * One that is remembered throughout a walk is found once.
 *
 * Context: process, BH on.
 * Return: false when there is none left.
 */
bool pep_bypass_next(struct pep_bypass *b, unsigned int *index,
		     struct pep_bypass_entry *entry)
{
	time64_t now = ktime_get_seconds();
	bool found = false;

	if (READ_ONCE(b->until) <= now)
		return false;
	spin_lock_bh(&b->lock);
	while (*index < PEP_BYPASS_ENTRIES && !found) {
		*entry = b->entries[(*index)++];
		found = entry->until > now;
	}
	spin_unlock_bh(&b->lock);
	return found;
}

/**
 * pep_bypass_forget() - remember one destination no more, or none
 * @b: where
 * @which: its family, address and port; NULL for all
 *
 * Context: process, BH on.
 * Return: how many were forgotten.
 */
unsigned int pep_bypass_forget(struct pep_bypass *b,
			       const struct pep_bypass_entry *which)
{
	time64_t now = ktime_get_seconds();
	unsigned int i, n = 0;

	if (READ_ONCE(b->until) <= now)
		return 0;
	spin_lock_bh(&b->lock);
	for (i = 0; i < PEP_BYPASS_ENTRIES; i++) {
		struct pep_bypass_entry *e = &b->entries[i];

		if (e->until > now &&
		    (!which || pep_bypass_same(e, which->family,
					       &which->addr, which->port))) {
			e->until = 0;
			n++;
		}
	}
	spin_unlock_bh(&b->lock);
	return n;
}
