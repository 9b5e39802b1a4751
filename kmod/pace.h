/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_PACE_H
#define _PEP_PACE_H

#include <linux/inet_diag.h>

#include "estimate.h"

void pep_pace_info(const struct pep_bbr *b, struct tcp_bbr_info *info);
u32 pep_pace_min_tso_segs(struct sock *sk);
void pep_pace_begin(struct sock *sk);
void pep_pace_set_rate(struct sock *sk);
void pep_pace_set_window(struct sock *sk, const struct rate_sample *rs);

#endif
