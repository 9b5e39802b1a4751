// SPDX-License-Identifier: GPL-2.0
/*
 * The parser judges the options of IP headers as the second reader does. The first
 * byte of an input chooses: bit 0 IPv6, bit 1 that a jumbo payload is expected.
 */

#include "target.h"

#include <linux/string.h>

#include "expect.h"
#include "reading.h"

/* Most options after an IPv4 header, and in a header of IPv6, bytes. */
#define TARGET_MOST4		40
#define TARGET_MOST6		2046

int target_run(const u8 *input, size_t size)
{
	bool jumbo;
	u32 len;
	u8 *opt;

	if (!size)
		return 0;
	jumbo = input[0] & 2;
	len = min(size - 1, input[0] & 1 ? TARGET_MOST6 : TARGET_MOST4);
	opt = malloc(len);
	memcpy(opt, input + 1, len);
	if (input[0] & 1)
		expect(pep_packet_options6(opt, len, jumbo) ==
		       reading_header6(opt, len, jumbo));
	else
		expect(pep_packet_options4(opt, len) ==
		       reading_header4(opt, len));
	expect(!memcmp(opt, input + 1, len));
	free(opt);
	return 0;
}
