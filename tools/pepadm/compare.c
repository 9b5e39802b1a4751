// SPDX-License-Identifier: GPL-2.0
/*
 * Quantiles of two groups, and the factor between them with an interval of 95 %.
 *
 * The interval of one quantile is between two order statistics, whose ranks are
 * those of the binomial distribution, approximated by the normal one (Conover,
 * Practical Nonparametric Statistics, 3rd edition, section 3.2). Times of a
 * connection resemble each other, and some connections have many more than others:
 * the ranks are those of as many independent times as all are worth at least (Kish,
 * Survey Sampling, section 8.2). The interval of the factor combines both on a
 * logarithmic scale, where independent errors add up as squares, each end by itself,
 * as long tails are above (Zou and Donner, Statistics in Medicine 27, 2008).
 */
#include "compare.h"

#include <math.h>

/* The normal distribution's 97.5th percentile. */
#define NORMAL_975 1.96

/**
 * struct interval - a quantile of a group, and where it is with 95 %, us
 * @at: the quantile
 * @low: lower end
 * @high: upper end
 */
struct interval {
	double at;
	double low;
	double high;
};

/**
 * pep_compare_total() - count the times in bins
 * @bins: times
 *
 * Return: their number.
 */
double pep_compare_total(const struct pep_gain_bins *bins)
{
	double sum = 0;

	for (unsigned int i = 0; i < PEP_GAIN_BINS; i++)
		sum += (double)bins->count[i];
	return sum;
}

/* The time below which a share of all times is, us: within a bin, as if it were
 * filled evenly. The last bin, which has no end, counts as its beginning.
 */
static double quantile_of(const struct pep_gain_bins *bins, double share)
{
	double rest = share * pep_compare_total(bins);
	double begin = 0, end, count;
	unsigned int i;

	for (i = 0; i < PEP_GAIN_BINS - 1; i++) {
		end = (double)pep_gain_bin_end(i);
		count = (double)bins->count[i];
		if (bins->count[i] && rest <= count)
			return begin + (end - begin) * rest / count;
		rest -= count;
		begin = end;
	}
	return begin;
}

/* Find the ends of a quantile's interval; false when there are too few times. */
static bool find_interval(const struct pep_gain_bins *bins, double quantile,
			  struct interval *found)
{
	double n = pep_compare_worth(bins), middle = n * quantile, half;

	half = NORMAL_975 * sqrt(middle * (1 - quantile));
	if (middle - half < 1 || middle + half + 1 > n)
		return false;
	found->low = quantile_of(bins, (middle - half) / n);
	found->high = quantile_of(bins, (middle + half + 1) / n);
	return true;
}

/* A distance on a logarithmic scale, squared. */
static double distance(double from, double to)
{
	double log_of = log(to / from);

	return log_of * log_of;
}

/**
 * pep_compare_worth() - find how many independent times those in bins are worth
 * @bins: times
 *
 * Return: their number if all times of a connection were the same; the number of
 * connections where each has as many, and fewer otherwise. 0 when there is none.
 */
double pep_compare_worth(const struct pep_gain_bins *bins)
{
	double all = pep_compare_total(bins);

	return bins->squares ? all * all / (double)bins->squares : 0;
}

/**
 * pep_compare_quantile() - compare a quantile of two groups
 * @control: times of the control group
 * @treated: times of the other one
 * @quantile: which one, more than 0 and less than 1
 * @result: filled
 *
 * Return: false when one group has no time, and @result is not filled.
 */
bool pep_compare_quantile(const struct pep_gain_bins *control,
			  const struct pep_gain_bins *treated, double quantile,
			  struct pep_compare *result)
{
	struct interval c, t;

	if (pep_compare_total(control) < 1 || pep_compare_total(treated) < 1)
		return false;
	c.at = quantile_of(control, quantile);
	t.at = quantile_of(treated, quantile);
	result->us[PEP_GAIN_GROUP_CONTROL] = c.at;
	result->us[PEP_GAIN_GROUP_TREATED] = t.at;
	result->gain = c.at / t.at;
	/* The first bin hides its times: they may be 0. */
	result->below = c.at <= (double)pep_gain_bin_end(0) &&
			t.at <= (double)pep_gain_bin_end(0);
	result->enough = !result->below &&
			 find_interval(control, quantile, &c) &&
			 find_interval(treated, quantile, &t);
	if (!result->enough)
		return true;
	result->low = result->gain * exp(-sqrt(distance(c.low, c.at) +
					       distance(t.at, t.high)));
	result->high = result->gain * exp(sqrt(distance(c.at, c.high) +
					       distance(t.low, t.at)));
	return true;
}
