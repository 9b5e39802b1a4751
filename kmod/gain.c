// SPDX-License-Identifier: GPL-2.0
/*
 * Times of a profile's connections, split or followed, beside those of the control
 * group, which are never split: times of objects by their size, and samples of the
 * queueing delay, in logarithmic bins. Any CPU adds to them.
 */

#include "gain.h"

#include <kunit/visibility.h>
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

/* Bins between a time and twice that time, as a power of 2. */
#define PEP_GAIN_FINE		3

/* The first bin ends at 128 us, 8 of this unit. */
#define PEP_GAIN_UNIT		4

/* The first class of sizes ends at 16 KiB, each other class at 4 times the end of
 * the class before; as powers of 2.
 */
#define PEP_GAIN_SIZE_FIRST	14
#define PEP_GAIN_SIZE_STEP	2

/**
 * pep_gain_create() - begin to compare
 * @share: share of the connections that are never split, 1/10,000
 * @by: key that selects them, enum pep_control_by
 *
 * Context: may sleep.
 * Return: an empty comparison, with a reference, or NULL.
 */
struct pep_gain *pep_gain_create(u32 share, u32 by)
{
	struct pep_gain *gain = kvzalloc(sizeof(*gain), GFP_KERNEL);

	if (!gain)
		return NULL;
	refcount_set(&gain->ref, 1);
	gain->share = share;
	gain->by = by;
	gain->since = ktime_get_seconds();
	return gain;
}

/**
 * pep_gain_get() - take a reference
 * @gain: found under RCU
 *
 * Context: any.
 * Return: false when its last reference is gone.
 */
bool pep_gain_get(struct pep_gain *gain)
{
	return refcount_inc_not_zero(&gain->ref);
}

/**
 * pep_gain_put() - drop a reference
 * @gain: comparison, or NULL
 *
 * Context: any.
 */
void pep_gain_put(struct pep_gain *gain)
{
	if (gain && refcount_dec_and_test(&gain->ref))
		kvfree_rcu(gain, rcu);
}

/**
 * pep_gain_add() - add a time that a connection had
 * @times: times of its group and of that kind
 * @us: time, us
 * @bytes: payload of the object that took it, bytes; 0 for none
 * @before: times of the connection that are in @times already
 *
 * Context: any.
 */
void pep_gain_add(struct pep_gain_times *times, u64 us, u64 bytes, u32 before)
{
	atomic64_inc(&times->count[pep_gain_bin(us)]);
	atomic64_add(us, &times->time);
	atomic64_add(bytes, &times->bytes);
	if (!before)
		atomic64_inc(&times->conns);
	/* (before + 1)^2 - before^2 */
	atomic64_add(2ULL * before + 1, &times->squares);
}
EXPORT_SYMBOL_IF_KUNIT(pep_gain_add);

/**
 * pep_gain_bin() - find the bin of a time
 * @us: time, us
 *
 * Bin 0 ends at 128 us; each doubling from there on has eight bins of the same
 * width, and the last bin has no end.
 *
 * Return: its index.
 */
unsigned int pep_gain_bin(u64 us)
{
	u64 units = us >> PEP_GAIN_UNIT;
	unsigned int doublings;
	u64 bin;

	if (units < BIT(PEP_GAIN_FINE))
		return 0;
	doublings = fls64(units) - 1 - PEP_GAIN_FINE;
	bin = 1 + (doublings << PEP_GAIN_FINE) + (units >> doublings) -
	      BIT(PEP_GAIN_FINE);
	return min_t(u64, bin, PEP_GAIN_BINS - 1);
}
EXPORT_SYMBOL_IF_KUNIT(pep_gain_bin);

/**
 * pep_gain_size() - find the class of an object's size
 * @bytes: its size, 1 or more
 *
 * Class 0 holds sizes up to 16 KiB, each other class up to four times the class
 * before, and the last class all larger sizes.
 *
 * Return: its index.
 */
unsigned int pep_gain_size(u64 bytes)
{
	int above = fls64(bytes - 1) - PEP_GAIN_SIZE_FIRST;

	if (above <= 0)
		return 0;
	return min_t(unsigned int, DIV_ROUND_UP(above, PEP_GAIN_SIZE_STEP),
		     PEP_GAIN_SIZES - 1);
}
EXPORT_SYMBOL_IF_KUNIT(pep_gain_size);
