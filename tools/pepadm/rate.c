// SPDX-License-Identifier: GPL-2.0
#include "rate.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "args.h"

/* The largest rate that is read, bytes per second. */
#define RATE_MAX 1e18

/* Letters of powers of 1000, or of 1024 with an i after them. */
static const char prefixes[] = "kmgt";

/* Prefixes of bit for powers of 1000. */
static const char * const units[] = { "", "K", "M", "G", "T" };

/* Read the unit after the number: bit/s or bytes/s; 0 when it is no unit. */
static double read_unit(const char *unit)
{
	double factor = 1, base = 1000;
	const char *prefix = NULL;
	int power = 0;

	if (*unit)
		prefix = strchr(prefixes, tolower((unsigned char)*unit));
	if (prefix) {
		power = (int)(prefix - prefixes) + 1;
		unit++;
		if (tolower((unsigned char)*unit) == 'i') {
			base = 1024;
			unit++;
		}
	}
	while (power--)
		factor *= base;
	if (!strcasecmp(unit, "bps"))
		return factor;
	if (!strcasecmp(unit, "bit") || (!prefix && !*unit))
		return factor / 8;
	return 0;
}

/**
 * pep_rate_read() - read a rate as tc does
 * @text: a number, maybe with a fraction, and a unit: bit or bps, which are
 *	bytes, with k, m, g, t or ki, mi, gi, ti before it; none for bit
 * @rate: result, bytes per second
 *
 * Return: false when it is none.
 */
bool pep_rate_read(const char *text, __u64 *rate)
{
	double value;
	char *end;

	/* strtod() reads signs, blanks, hexadecimals and words, too. */
	if (!isdigit((unsigned char)*text) ||
	    text[strspn(text, "0123456789.")] == 'x' ||
	    text[strspn(text, "0123456789.")] == 'X')
		return false;
	errno = 0;
	value = strtod(text, &end);
	value *= read_unit(end);
	if (errno || read_unit(end) == 0 || value > RATE_MAX)
		return false;
	/* A rate next to nothing must not become unlimited. */
	*rate = value > 0 && value < 1 ? 1 : (__u64)(value + 0.5);
	return true;
}

/**
 * pep_rate_write() - write a rate as tc does, without rounding it
 * @text: result, PEP_RATE_LEN bytes
 * @rate: bytes per second, less than 2^61
 */
void pep_rate_write(char *text, __u64 rate)
{
	size_t i = 0;

	rate *= 8;
	while (rate && !(rate % 1000) && i < ARRAY_SIZE(units) - 1) {
		rate /= 1000;
		i++;
	}
	snprintf(text, PEP_RATE_LEN, "%llu%sbit", (unsigned long long)rate,
		 units[i]);
}

/**
 * pep_rate_brief() - write a rate that was measured, with three digits
 * @text: result, PEP_RATE_LEN bytes
 * @rate: bytes per second
 */
void pep_rate_brief(char *text, __u64 rate)
{
	double bits = (double)rate * 8;
	size_t i = 0;

	while (bits >= 1000 && i < ARRAY_SIZE(units) - 1) {
		bits /= 1000;
		i++;
	}
	snprintf(text, PEP_RATE_LEN, "%.3g%sbit", bits, units[i]);
}
