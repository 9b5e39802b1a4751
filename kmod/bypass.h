/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_BYPASS_H
#define _PEP_BYPASS_H

#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <uapi/linux/pep.h>

#include "tuple.h"

/* How long a destination is remembered, seconds, by reason. */
#define PEP_BYPASS_UNANSWERED_SECONDS	60
#define PEP_BYPASS_ASYMMETRIC_SECONDS	600

/**
 * struct pep_bypass_entry - a destination that is not to be split for now
 * @addr: its address
 * @opener: who has found it out, and whose connections pass unless it is
 *	@everyone: its address, or that of its IPv6 network of 64 bits
 * @port: its port
 * @family: AF_INET or AF_INET6, 0 for an entry that was never used
 * @reason: why, enum pep_bypass_reason
 * @everyone: another opener has found it out, too: it counts for all of them
 * @hits: SYNs that passed because of it
 * @until: when it ceases to count, seconds of ktime_get_seconds()
 */
struct pep_bypass_entry {
	union pep_addr addr;
	union pep_addr opener;
	__be16 port;
	u8 family;
	u8 reason;
	bool everyone;
	u32 hits;
	time64_t until;
};

/**
 * struct pep_bypass - destinations that are not to be split for now
 * @entries: PEP_BYPASS_ENTRIES of them, see bypass.c
 * @until: when the youngest entry ceases to count; 0 for never used; read
 *	locklessly
 * @lock: guards the rest; nothing else is taken while it is held; BH off
 * @key: secret of the hash that leads to an entry; constant
 */
struct pep_bypass {
	struct pep_bypass_entry *entries;
	time64_t until;
	spinlock_t lock; /* entries and until */
	siphash_key_t key;
};

int pep_bypass_init(struct pep_bypass *b);
void pep_bypass_exit(struct pep_bypass *b);
void pep_bypass_add(struct pep_bypass *b, const struct pep_tuple *tuple,
		    enum pep_bypass_reason reason);
bool pep_bypass_find(struct pep_bypass *b, const struct pep_tuple *tuple);
bool pep_bypass_next(struct pep_bypass *b, unsigned int *index,
		     struct pep_bypass_entry *entry);
unsigned int pep_bypass_forget(struct pep_bypass *b,
			       const struct pep_bypass_entry *which);

#endif
