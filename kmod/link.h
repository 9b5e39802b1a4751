/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_LINK_H
#define _PEP_LINK_H

#include <net/tcp.h>

#include "learn.h"

struct pep_flow;

/**
 * struct pep_link - a leg's part of its subscriber's link
 * @path: pep_flow.path; NULL before pep_link_begin() and behind pep_link_end(). Read
 *	locklessly, under RCU
 * @claim: what the leg has under way
 * @grown: BBR has left its startup, or the leg has another congestion control
 * @window: bound of the congestion window beside other legs, segments
 * @window_before: bound that @window replaces, segments
 * @pacing: bound of the pacing rate beside other legs, bytes per second
 * @pacing_before: bound that @pacing replaces, bytes per second
 *
 * Guarded by the lock of the leg's socket unless said otherwise.
 */
struct pep_link {
	struct pep_path *path;
	struct pep_path_claim claim;
	bool grown;
	u32 window;
	u32 window_before;
	unsigned long pacing;
	unsigned long pacing_before;
};

/**
 * pep_link_by_rate() - is a leg's congestion control rate-based?
 * @tp: the leg
 *
 * Context: softirq.
 * Return: true when it is, so that a loss is no congestion to it.
 */
static inline bool pep_link_by_rate(const struct tcp_sock *tp)
{
	return tp->inet_conn.icsk_ca_ops->cong_control;
}

unsigned long pep_link_max_rate(const struct pep_flow *flow);
u64 pep_link_part(const struct tcp_sock *tp, u64 rate, u32 busy, u32 rtt);
u32 pep_link_busy(const struct pep_link *link);
bool pep_link_known(const struct pep_flow *flow, struct pep_learn_known *known);
void pep_link_share(struct pep_flow *flow);
void pep_link_space(struct pep_flow *flow);
void pep_link_sent(struct pep_flow *flow);
void pep_link_begin(struct pep_flow *flow, u32 rtt);
void pep_link_end(struct pep_flow *flow);

#endif
