// SPDX-License-Identifier: GPL-2.0
/* The second reader's part for TCP's options. */

#include <linux/unaligned.h>

#include "reading.h"

/* Length of the option at @opt, bytes, or 0 for a broken one. */
static u32 reading_option_size(const u8 *opt, u32 left)
{
	if (opt[0] == 1)
		return 1;
	return left >= 2 && opt[1] >= 2 && opt[1] <= left ? opt[1] : 0;
}

/* The numbers of IANA's registry, and the length that each option must have. */
static enum pep_option_kind reading_option_one(const u8 *opt, u32 size,
					       struct pep_options *found)
{
	if (opt[0] == 1)
		return PEP_OPTION_PLAIN;
	if (opt[0] == 2 && size == 4) {
		found->mss = get_unaligned_be16(opt + 2);
		return PEP_OPTION_PLAIN;
	}
	if (opt[0] == 3 && size == 3) {
		found->has_wscale = true;
		found->wscale = opt[2] > 14 ? 14 : opt[2];
		return PEP_OPTION_PLAIN;
	}
	if (opt[0] == 4 && size == 2) {
		found->has_sack = true;
		return PEP_OPTION_PLAIN;
	}
	if (opt[0] == 8 && size == 10) {
		found->has_ts = true;
		found->tsval = get_unaligned_be32(opt + 2);
		return PEP_OPTION_PLAIN;
	}
	if (opt[0] == 19)
		return PEP_OPTION_MD5;
	if (opt[0] == 29)
		return PEP_OPTION_AO;
	if (opt[0] == 30 && size > 2)
		return (opt[2] & 0xf0) == 0x10 ? PEP_OPTION_MPTCP_JOIN :
						 PEP_OPTION_MPTCP;
	if (opt[0] == 34)
		return PEP_OPTION_FASTOPEN;
	if (opt[0] == 254 && size > 3 && opt[2] == 0xf9 && opt[3] == 0x89)
		return PEP_OPTION_FASTOPEN;
	return PEP_OPTION_UNKNOWN;
}

/**
 * reading_of_options() - read the options of a SYN
 * @opt: the options
 * @len: their length, bytes
 * @reading: result
 */
void reading_of_options(const u8 *opt, u32 len,
			struct reading_options *reading)
{
	enum pep_option_kind first = PEP_OPTION_PLAIN;
	u32 at, size;

	memset(reading, 0, sizeof(*reading));
	for (at = 0; at < len && opt[at] != 0; at += size) {
		enum pep_option_kind kind = PEP_OPTION_UNKNOWN;

		size = reading_option_size(opt + at, len - at);
		if (size)
			kind = reading_option_one(opt + at, size, &reading->options);
		if (size && opt[at] == 30)
			reading->mptcp = true;
		if (kind == PEP_OPTION_MPTCP)
			reading->options.kind = kind;
		else if (first == PEP_OPTION_PLAIN)
			first = kind;
		if (!size)
			break;
	}
	if (first != PEP_OPTION_PLAIN)
		reading->options.kind = first;
}

/**
 * reading_strip() - put NOPs in place of all options of Multipath TCP
 * @opt: options of a SYN
 * @len: their length, bytes
 */
void reading_strip(u8 *opt, u32 len)
{
	u32 at, size;

	for (at = 0; at < len && opt[at] != 0; at += size) {
		size = reading_option_size(opt + at, len - at);
		if (!size)
			break;
		if (opt[at] == 30)
			memset(opt + at, 1, size);
	}
}
