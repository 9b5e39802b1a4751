// SPDX-License-Identifier: GPL-2.0
/* UTF-8, which JSON and Prometheus require. */
#include "utf8.h"

/**
 * pep_utf8_len() - length of a character
 * @s: text that ends with a zero byte
 *
 * Return: length in bytes of the UTF-8 character at @s (RFC 3629), 0 when the bytes
 * there are none.
 */
size_t pep_utf8_len(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned char low = 0x80, high = 0xbf;
	size_t len, i;

	if (u[0] < 0x80)
		return 1;
	if (u[0] >= 0xc2 && u[0] <= 0xdf)
		len = 2;
	else if (u[0] >= 0xe0 && u[0] <= 0xef)
		len = 3;
	else if (u[0] >= 0xf0 && u[0] <= 0xf4)
		len = 4;
	else
		return 0;

	/* Overlong forms, surrogates, and code points beyond U+10FFFF. */
	if (u[0] == 0xe0)
		low = 0xa0;
	else if (u[0] == 0xed)
		high = 0x9f;
	else if (u[0] == 0xf0)
		low = 0x90;
	else if (u[0] == 0xf4)
		high = 0x8f;

	for (i = 1; i < len; i++) {
		if (u[i] < low || u[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}
