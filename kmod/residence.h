/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_RESIDENCE_H
#define _PEP_RESIDENCE_H

#include <linux/types.h>
#include <uapi/linux/pep.h>

struct pep_flow;

/**
 * struct pep_residence - how long payload stays here on its way to a leg
 * @count: samples by log2 of microseconds: [0] below 1, [i] from 2^(i-1) to
 *	below 2^i, the last one everything longer; read locklessly
 * @armed: a sample is under way
 * @again: no sample is begun before, jiffies as 32 bits
 * @seq: sequence number of the leg behind the sample's last byte
 * @since: when that byte was found received, ns of tcp_clock_ns()
 *
 * Guarded by the lock of the leg's socket unless said otherwise.
 */
struct pep_residence {
	u32 count[PEP_RESIDENCE_BUCKETS];
	bool armed;
	u32 again;
	u32 seq;
	u64 since;
};

unsigned int pep_residence_bucket(u64 ns);
void pep_residence_begin(struct pep_flow *flow, enum pep_side from);
void pep_residence_end(struct pep_flow *flow, enum pep_side from);

#endif
