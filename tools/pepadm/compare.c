// SPDX-License-Identifier: GPL-2.0
/*
 * Quantiles of two groups, and the factor between them with an interval of 95 %.
 *
 * The interval of one quantile is between two order statistics, whose ranks are
 * those of the binomial distribution, approximated by the normal one (Conover,
 * Practical Nonparametric Statistics, 3rd edition, section 3.2). Objects of a
 * connection resemble each other: what counts are connections. The factor's is made
 * of both on a logarithmic scale, as independent errors add up.
 */
#include "compare.h"

#include <math.h>

/* The normal distribution's 97.5th percentile. */
#define NORMAL_975 1.96

/* Sum of all bins. */
static double total(const struct pep_gain_bins *bins)
{
	double sum = 0;

	for (unsigned int i = 0; i < PEP_GAIN_BINS; i++)
		sum += bins->count[i];
	return sum;
}

/* The time below which a share of all is, us: within a bin, as if it were filled
 * evenly. The last bin, which has no end, is its beginning.
 */
static double quantile_of(const struct pep_gain_bins *bins, double share)
{
	double rest = share * total(bins);
	double begin = 0, end;
	unsigned int i;

	for (i = 0; i < PEP_GAIN_BINS - 1; i++) {
		end = (double)pep_gain_bin_end(i);
		if (bins->count[i] && rest <= bins->count[i])
			return begin + (end - begin) * rest / bins->count[i];
		rest -= bins->count[i];
		begin = end;
	}
	return begin;
}

/* The standard error of a quantile's logarithm; negative when there are too few
 * connections for an interval.
 */
static double log_error(const struct pep_gain_bins *bins, double quantile)
{
	double n = bins->conns, middle = n * quantile, half, low, high;

	half = NORMAL_975 * sqrt(middle * (1 - quantile));
	if (middle - half < 1 || middle + half + 1 > n)
		return -1;
	low = quantile_of(bins, (middle - half) / n);
	high = quantile_of(bins, (middle + half + 1) / n);
	return low > 0 ? log(high / low) / (2 * NORMAL_975) : -1;
}

/**
 * pep_compare_quantile() - compare a quantile of two groups
 * @control: times of the control group
 * @treated: those of the other one
 * @quantile: which one, more than 0 and less than 1
 * @result: filled
 *
 * Return: false when one group has no time, and @result is not filled.
 */
bool pep_compare_quantile(const struct pep_gain_bins *control,
			  const struct pep_gain_bins *treated, double quantile,
			  struct pep_compare *result)
{
	double errors[PEP_GAIN_GROUPS], error;

	if (total(control) < 1 || total(treated) < 1)
		return false;
	result->us[PEP_GAIN_GROUP_CONTROL] = quantile_of(control, quantile);
	result->us[PEP_GAIN_GROUP_TREATED] = quantile_of(treated, quantile);
	result->gain = result->us[PEP_GAIN_GROUP_CONTROL] /
		       result->us[PEP_GAIN_GROUP_TREATED];
	errors[PEP_GAIN_GROUP_CONTROL] = log_error(control, quantile);
	errors[PEP_GAIN_GROUP_TREATED] = log_error(treated, quantile);
	result->enough = errors[0] >= 0 && errors[1] >= 0;
	if (!result->enough)
		return true;
	error = NORMAL_975 * sqrt(errors[0] * errors[0] + errors[1] * errors[1]);
	result->low = result->gain * exp(-error);
	result->high = result->gain * exp(error);
	return true;
}
