/* SPDX-License-Identifier: GPL-2.0 */
/* The performance of the groups of profiles' connections. */
#ifndef _PEPADM_GAIN_H
#define _PEPADM_GAIN_H

#include <linux/pep.h>

#include "args.h"

/* Groups, by enum pep_gain_group. */
#define PEP_GAIN_GROUPS 2

/**
 * struct pep_gain_bins - times in bins
 * @count: number of times by bin
 * @conns: connections that had these times
 * @squares: sum over these connections of the squared number of their times
 * @bytes: payload of the objects, bytes
 * @time: the times added up, us
 */
struct pep_gain_bins {
	__u64 count[PEP_GAIN_BINS];
	__u64 conns;
	__u64 squares;
	__u64 bytes;
	__u64 time;
};

/**
 * struct pep_gain_conns - performance of a group
 * @size: objects by class of size
 * @delay: samples of the queueing delay
 * @conns: connections that have begun
 * @cut: those that ended before all was acknowledged
 * @bytes: payload that was acknowledged on those that have ended, bytes
 * @again: payload that was sent again on them, bytes
 */
struct pep_gain_conns {
	struct pep_gain_bins size[PEP_GAIN_SIZES];
	struct pep_gain_bins delay;
	__u64 conns;
	__u64 cut;
	__u64 bytes;
	__u64 again;
};

/**
 * struct pep_gain_profile - performance of both groups of a profile
 * @next: the next profile, or NULL
 * @name: its name
 * @share: share of the control group, 1/10,000
 * @by: criterion that chooses it, enum pep_control_by
 * @since_ms: how long the comparison has gone on, ms
 * @group: by enum pep_gain_group
 */
struct pep_gain_profile {
	struct pep_gain_profile *next;
	char name[PEP_NAME_LEN];
	__u32 share;
	__u32 by;
	__u64 since_ms;
	struct pep_gain_conns group[PEP_GAIN_GROUPS];
};

enum pep_exit pep_gain_fetch(const char *name,
			     struct pep_gain_profile **profiles);
void pep_gain_free(struct pep_gain_profile *profiles);
__u64 pep_gain_bin_end(unsigned int bin);
__u64 pep_gain_size_end(unsigned int class);
enum pep_exit pep_gain_show(struct pep_args *args);

#endif
