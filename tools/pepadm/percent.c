// SPDX-License-Identifier: GPL-2.0
/* Shares: ten-thousandths in the kernel, percent for people. */
#include "percent.h"

#include <stdio.h>
#include <string.h>

#include "rate.h"

/* Digits that a share in percent may have before and after the point. */
#define WHOLE_DIGITS 3
#define FRACTION_DIGITS 2

/**
 * pep_percent_read() - read a share
 * @text: a number of percent with up to two decimals, and "%"
 * @share: result, 1/10,000
 *
 * Return: false when it is none.
 */
bool pep_percent_read(const char *text, __u64 *share)
{
	size_t whole = strspn(text, "0123456789"), fraction = 0, i;
	__u64 value = 0;

	if (!whole || whole > WHOLE_DIGITS)
		return false;
	for (i = 0; i < whole; i++)
		value = value * 10 + (__u64)(text[i] - '0');
	if (text[whole] == '.') {
		fraction = strspn(text + ++whole, "0123456789");
		if (!fraction || fraction > FRACTION_DIGITS)
			return false;
	}
	if (strcmp(text + whole + fraction, "%"))
		return false;
	for (i = 0; i < FRACTION_DIGITS; i++)
		value = value * 10 +
			(i < fraction ? (__u64)(text[whole + i] - '0') : 0);
	*share = value;
	return true;
}

/**
 * pep_percent_write() - write a share
 * @text: result, PEP_RATE_LEN bytes
 * @share: 1/10,000
 */
void pep_percent_write(char *text, __u64 share)
{
	unsigned long long whole = share / 100, rest = share % 100;

	if (!rest)
		snprintf(text, PEP_RATE_LEN, "%llu%%", whole);
	else if (rest % 10)
		snprintf(text, PEP_RATE_LEN, "%llu.%02llu%%", whole, rest);
	else
		snprintf(text, PEP_RATE_LEN, "%llu.%llu%%", whole, rest / 10);
}
