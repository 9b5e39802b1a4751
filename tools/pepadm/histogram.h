/* SPDX-License-Identifier: GPL-2.0 */
/* Histograms for Prometheus. */
#ifndef _PEPADM_HISTOGRAM_H
#define _PEPADM_HISTOGRAM_H

#include <libmnl/libmnl.h>

#include "gain.h"

void pep_histogram_residence(const struct nlattr * const *sides);
void pep_histogram_links(const struct nlattr * const *links);
void pep_histogram_gain(const struct pep_gain_profile *profiles);

#endif
