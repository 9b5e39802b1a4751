/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_GAIN_H
#define _PEP_GAIN_H

#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <uapi/linux/pep.h>

/**
 * struct pep_gain_times - times that a group of connections had, of one kind
 * @count: times by bin, see pep_gain_bin()
 * @time: their sum, us
 * @bytes: payload of the objects that took them, bytes
 * @conns: connections that had one or more
 * @squares: sum over these connections of the squared number of their times
 */
struct pep_gain_times {
	atomic64_t count[PEP_GAIN_BINS];
	atomic64_t time;
	atomic64_t bytes;
	atomic64_t conns;
	atomic64_t squares;
};

/**
 * struct pep_gain_conns - a group of connections
 * @size: objects by size, see pep_gain_size()
 * @delay: samples of the queueing delay
 * @conns: connections that have begun
 * @cut: connections that ended before the subscriber had acknowledged all
 * @bytes: payload acknowledged by subscribers on connections that have ended, bytes
 * @again: payload that was sent to them a second time, bytes
 */
struct pep_gain_conns {
	struct pep_gain_times size[PEP_GAIN_SIZES];
	struct pep_gain_times delay;
	atomic64_t conns;
	atomic64_t cut;
	atomic64_t bytes;
	atomic64_t again;
};

/**
 * struct pep_gain - comparison of two groups of a profile's connections
 * @ref: one for the tally, and one per connection that is measured
 * @share: share of the connections that are never split, 1/10,000
 * @by: key that selects them, enum pep_control_by
 * @since: time of its beginning, seconds of ktime_get_seconds()
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
void pep_gain_add(struct pep_gain_times *times, u64 us, u64 bytes, u32 before);
unsigned int pep_gain_bin(u64 us);
unsigned int pep_gain_size(u64 bytes);

#endif
