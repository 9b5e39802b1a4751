/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_RESUME_H
#define _PEP_RESUME_H

#include "link.h"

struct pep_flow;

/**
 * struct pep_resume_train - segments whose acknowledgments come one behind the other
 * @got: pep_resume.got at its beginning
 * @at: when that was, us of tcp_clock_us(); 0: there is none
 * @sent: when the latest segment delivered by then had been sent, in the same way
 * @last: when the latest acknowledgment came, in the same way
 */
struct pep_resume_train {
	u32 got;
	u64 at;
	u64 sent;
	u64 last;
};

/**
 * struct pep_resume - how the leg of a subscriber begins, see resume.c
 * @rate: known rate of the link when the leg began, bytes per second; 0: the leg
 *	begins without one; read locklessly
 * @rtt: known round trip of the link, in the same way, us
 * @budget: payload that all legs of the subscriber may have under way while this one
 *	is not validated, bytes
 * @noted: tcp_sock.delivered when the path has counted last; read locklessly
 * @got: payload that the subscriber had received by then: a sequence number, as if all
 *	of it had come without holes
 * @train: train of segments that the subscriber acknowledges
 * @end: behind the highest byte sent within the window, then behind the highest
 *	one sent beyond it; sequence number
 * @delivered: segments that had been delivered when the leg went beyond its window
 * @acked: pep_path.acked then, bytes
 * @before: the round trip then, or the known one where that is longer, us
 * @since: when that was, us of tcp_clock_us()
 * @sent: segments with payload that had been sent when the leg was watched
 * @lost: segments that had been lost then
 * @back: window of a leg that retreats, segments
 * @until: time from which on only the leg's own samples count, us of tcp_clock_us()
 * @phase: enum pep_resume_phase; read locklessly
 * @blind: the leg had no sample of its round trip when it began
 *
 * Guarded by the lock of the leg's socket unless said otherwise.
 */
struct pep_resume {
	u64 rate;
	u32 rtt;
	u32 budget;
	u32 noted;
	u32 got;
	struct pep_resume_train train;
	u32 end;
	u32 delivered;
	u64 acked;
	u32 before;
	u64 since;
	u32 sent;
	u32 lost;
	u32 back;
	u64 until;
	u8 phase;
	bool blind;
};

void pep_resume_begin(struct pep_flow *flow);
u64 pep_resume_rate(const struct pep_flow *flow);
void pep_resume_send(struct pep_flow *flow, u32 len);
void pep_resume_acked(struct pep_flow *flow);

#endif
