/* SPDX-License-Identifier: GPL-2.0 */
/* The counters, the limits, and how long payload stays, for Prometheus. */
#ifndef _PEPADM_METRICS_H
#define _PEPADM_METRICS_H

#include <libmnl/libmnl.h>

void pep_metrics_show(const struct nlattr * const *stats);
void pep_metrics_show_residence(const struct nlattr * const *sides);
void pep_metrics_show_limits(const struct nlattr * const *limits);

#endif
