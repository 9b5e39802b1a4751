/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_CLOCK_H
#define _PEP_CLOCK_H

#include <linux/types.h>
#include <uapi/linux/pep.h>

struct pep_flow;

/* How far a leg's clock may be ahead of its end's, ms: the other end drops packets until
 * the end's clock is there. Where a release has been asked for it may be further, as a
 * reset is worse.
 */
#define PEP_CLOCK_AHEAD		1000
#define PEP_CLOCK_AHEAD_MOST	3000

bool pep_clock_goes_on(const struct pep_flow *flow, bool asked);
u32 pep_clock_seen(const struct pep_flow *flow, enum pep_side side);
bool pep_clock_shown(const struct pep_flow *flow, enum pep_side side, s32 most);

#endif
