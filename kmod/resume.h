/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_RESUME_H
#define _PEP_RESUME_H

#include "path.h"

struct pep_flow;

/**
 * struct pep_resume - how the leg of a subscriber begins, see resume.c
 * @path: what is known of the subscriber's link, with a reference; NULL where
 *	nothing is. Read locklessly, under RCU
 * @claim: what the leg has of the link
 * @rate: rate that the link was known for as the leg began, bytes per second; 0:
 *	it begins without; read locklessly
 * @rtt: its round trip, in the same way, us
 * @budget: what all legs of the subscriber may have under way while this one is
 *	not validated, bytes
 * @una: sequence number up to which the path has counted
 * @end: behind the highest byte sent within the window, then behind the highest
 *	one sent beyond it; sequence number
 * @delivered: segments that had been delivered when the leg went beyond its window
 * @sent: segments with payload that had been sent then
 * @lost: segments that had been lost then
 * @since: when that was, us of tcp_clock_us()
 * @until: from when on the leg's own samples are all that counts, in the same way
 * @phase: enum pep_resume_phase; read locklessly
 * @grown: BBR has left its startup, or the leg has another congestion control
 * @window: bound of the congestion window beside other legs, segments
 * @window_before: what it was before
 * @pacing: bound of the pacing rate beside other legs, bytes per second
 * @pacing_before: what it was before
 *
 * Guarded by the lock of the leg's socket unless said otherwise.
 */
struct pep_resume {
	struct pep_path *path;
	struct pep_path_claim claim;
	u64 rate;
	u32 rtt;
	u32 budget;
	u32 una;
	u32 end;
	u32 delivered;
	u32 sent;
	u32 lost;
	u64 since;
	u64 until;
	u8 phase;
	bool grown;
	u32 window;
	u32 window_before;
	unsigned long pacing;
	unsigned long pacing_before;
};

void pep_resume_begin(struct pep_flow *flow, struct pep_path *path);
u64 pep_resume_rate(const struct pep_flow *flow);
void pep_resume_send(struct pep_flow *flow, u32 len);
void pep_resume_sent(struct pep_flow *flow);
void pep_resume_acked(struct pep_flow *flow);
void pep_resume_end(struct pep_flow *flow);

#endif
