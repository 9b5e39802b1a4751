/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_RESUME_H
#define _PEP_RESUME_H

#include "path.h"

struct pep_flow;

/**
 * struct pep_resume - how the leg of a subscriber begins, see resume.c
 * @path: what is known of the subscriber's link, with a reference; NULL where
 *	nothing is
 * @rate: rate that the link was known for as the leg began, bytes per second; 0:
 *	it begins without
 * @budget: what all legs of the subscriber may have under way while this one is
 *	not validated, bytes
 * @claim: what the leg has of pep_path.claimed, bytes
 * @una: sequence number up to which the path has counted
 * @end: behind the highest byte sent beyond the leg's own window; sequence number
 * @delivered: segments that had been delivered when the leg went beyond it
 * @lost: segments that had been lost then
 * @since: when that was, us of tcp_clock_us()
 * @phase: enum pep_resume_phase; read locklessly
 *
 * Guarded by the lock of the leg's socket unless said otherwise.
 */
struct pep_resume {
	struct pep_path *path;
	u64 rate;
	u32 budget;
	struct pep_path_claim claim;
	u32 una;
	u32 end;
	u32 delivered;
	u32 lost;
	u64 since;
	u8 phase;
	bool grown;
	u32 window;
	u32 window_before;
	unsigned long pacing;
	unsigned long pacing_before;
};

void pep_resume_begin(struct pep_flow *flow, struct pep_path *path);
void pep_resume_send(struct pep_flow *flow, u32 len);
void pep_resume_sent(struct pep_flow *flow);
void pep_resume_acked(struct pep_flow *flow);
void pep_resume_end(struct pep_flow *flow);

#endif
