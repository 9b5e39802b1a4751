/* SPDX-License-Identifier: GPL-2.0 */
/* Quantiles of two groups, and how they compare. */
#ifndef _PEPADM_COMPARE_H
#define _PEPADM_COMPARE_H

#include <stdbool.h>

#include "gain.h"

/**
 * struct pep_compare - a quantile of two groups
 * @us: the quantile by group, us
 * @below: both are within the first bin, and nothing is known of their factor
 * @enough: there are enough times in both for an interval
 * @gain: quantile of the control group over that of the other one
 * @low: lower end of its interval of 95 %
 * @high: upper end
 */
struct pep_compare {
	double us[PEP_GAIN_GROUPS];
	bool below;
	bool enough;
	double gain;
	double low;
	double high;
};

double pep_compare_total(const struct pep_gain_bins *bins);
double pep_compare_worth(const struct pep_gain_bins *bins);
bool pep_compare_quantile(const struct pep_gain_bins *control,
			  const struct pep_gain_bins *treated, double quantile,
			  struct pep_compare *result);

#endif
