/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_GAIN_H
#define _PEP_GAIN_H

#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <uapi/linux/pep.h>

/**
 * struct pep_gain_size - objects of a size, as a group of connections had them
 * @count: objects by the time that they took, see pep_gain_bin()
 * @bytes: their payload, bytes
 * @time: their times, us
 * @conns: connections that had one or more
 */
struct pep_gain_size {
	atomic_t count[PEP_GAIN_BINS];
	atomic64_t bytes;
	atomic64_t time;
	atomic_t conns;
};

/**
 * struct pep_gain_conns - a group of connections
 * @size: by size of the object, see pep_gain_size()
 * @delay: samples of the queueing delay, see pep_gain_bin()
 * @delay_conns: connections that had one or more
 * @conns: connections that have begun
 * @cut: those that ended before the subscriber had acknowledged all
 * @bytes: payload that subscribers have acknowledged on those that have ended, bytes
 * @again: payload that was sent to them a second time, bytes
 */
struct pep_gain_conns {
	struct pep_gain_size size[PEP_GAIN_SIZES];
	atomic_t delay[PEP_GAIN_BINS];
	atomic_t delay_conns;
	atomic_t conns;
	atomic_t cut;
	atomic64_t bytes;
	atomic64_t again;
};

/**
 * struct pep_gain - what two groups of a profile's connections got
 * @ref: one of the tally, and one per connection that is measured
 * @share: share of the connections that are never split, 1/10,000
 * @by: by what they are chosen, enum pep_control_by
 * @since: when it began, seconds of ktime_get_seconds()
 * @rcu: frees the memory
 * @group: by enum pep_gain_group
 */
struct pep_gain {
	refcount_t ref;
	u32 share;
	u32 by;
	u32 since;
	struct rcu_head rcu;
	struct pep_gain_conns group[2];
};

struct pep_gain *pep_gain_create(u32 share, u32 by);
bool pep_gain_get(struct pep_gain *gain);
void pep_gain_put(struct pep_gain *gain);
unsigned int pep_gain_bin(u64 us);
unsigned int pep_gain_size(u64 bytes);

#endif
