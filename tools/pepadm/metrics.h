/* SPDX-License-Identifier: GPL-2.0 */
/* The counters, the limits, and the filters, for Prometheus. */
#ifndef _PEPADM_METRICS_H
#define _PEPADM_METRICS_H

#include <libmnl/libmnl.h>
#include <linux/types.h>

void pep_metrics_show(const struct nlattr * const *stats);
void pep_metrics_show_limits(const struct nlattr * const *limits);
void pep_metrics_show_filters(const __u64 *filters);

#endif
