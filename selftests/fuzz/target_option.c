// SPDX-License-Identifier: GPL-2.0
/* The module reads the options of a SYN as the second reader does, and strips them. */

#include "target.h"

#include <linux/string.h>

#include "expect.h"
#include "option.h"
#include "reading.h"

/* Most options of a TCP header, bytes. */
#define TARGET_MOST		40

static void target_scan(const u8 *opt, u32 len, struct pep_options *found)
{
	struct reading_options reading;

	/* The scan sets all members. */
	memset(found, 0xa5, sizeof(*found));
	reading_of_options(opt, len, &reading);
	pep_option_scan(opt, len, found);
	expect(found->kind == reading.options.kind);
	expect(found->has_ts == reading.options.has_ts);
	expect(found->has_wscale == reading.options.has_wscale);
	expect(found->has_sack == reading.options.has_sack);
	expect(found->wscale == reading.options.wscale);
	expect(found->wscale <= 14);
	expect(found->mss == reading.options.mss);
	expect(found->tsval == reading.options.tsval);
}

/* Without Multipath TCP all other options are the same. */
static void target_same(const struct pep_options *before,
			const struct pep_options *after)
{
	expect(after->kind == PEP_OPTION_PLAIN);
	expect(after->has_ts == before->has_ts);
	expect(after->has_wscale == before->has_wscale);
	expect(after->has_sack == before->has_sack);
	expect(after->wscale == before->wscale);
	expect(after->mss == before->mss);
	expect(after->tsval == before->tsval);
}

int target_run(const u8 *input, size_t size)
{
	u32 len = min(size, TARGET_MOST);
	struct reading_options reading;
	struct pep_options before, after;
	u8 *opt = malloc(len), *stripped = malloc(len);

	memcpy(opt, input, len);
	memcpy(stripped, input, len);
	target_scan(opt, len, &before);
	expect(!memcmp(opt, input, len));

	reading_of_options(opt, len, &reading);
	reading_strip(stripped, len);
	expect(pep_option_strip(opt, len) == reading.mptcp);
	expect(!memcmp(opt, stripped, len));
	expect(!pep_option_strip(opt, len));
	expect(!memcmp(opt, stripped, len));
	target_scan(opt, len, &after);
	if (before.kind == PEP_OPTION_MPTCP)
		target_same(&before, &after);

	free(stripped);
	free(opt);
	return 0;
}
