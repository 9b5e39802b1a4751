// SPDX-License-Identifier: GPL-2.0
/* Samples of the residence of payload, of a leg or a namespace. */
#include "residence.h"

#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/pep.h>

#include "out.h"

/**
 * pep_residence_samples() - read the samples of a bucket
 * @attr: samples by log2 of microseconds, or NULL
 * @width: size of a number in @attr, 4 or 8 bytes
 * @bucket: which one, 0 for those below a microsecond
 *
 * Return: their number, 0 where the kernel sent fewer buckets.
 */
__u64 pep_residence_samples(const struct nlattr *attr, size_t width,
			    size_t bucket)
{
	const char *from;
	__u64 wide;
	__u32 narrow;

	if (!attr || mnl_attr_get_payload_len(attr) < (bucket + 1) * width)
		return 0;
	from = mnl_attr_get_payload(attr);
	if (width == sizeof(wide)) {
		memcpy(&wide, from + bucket * width, width);
		return wide;
	}
	memcpy(&narrow, from + bucket * width, sizeof(narrow));
	return narrow;
}

/* The time below which so many percent of all samples are, microseconds. */
static __u64 percentile(const struct nlattr *attr, size_t width, __u64 all,
			unsigned int percent)
{
	__u64 seen = 0;
	size_t i;

	for (i = 0; i < PEP_RESIDENCE_BUCKETS - 1; i++) {
		seen += pep_residence_samples(attr, width, i);
		if (seen * 100 >= all * percent)
			break;
	}
	return 1ULL << i;
}

/**
 * pep_residence_show() - show samples: percentiles, in JSON all of them
 * @attr: samples by log2 of microseconds; nothing is shown for NULL
 * @width: size of a number in @attr, 4 or 8 bytes
 * @text: text has them, too
 *
 * A percentile is the upper end of its bucket; without a sample it is 0.
 */
void pep_residence_show(const struct nlattr *attr, size_t width, bool text)
{
	__u64 all = 0, n;
	size_t i;

	if (!attr)
		return;
	for (i = 0; i < PEP_RESIDENCE_BUCKETS; i++)
		all += pep_residence_samples(attr, width, i);
	pep_out_open_object("residence");
	pep_out_uint("samples", text ? "residence" : NULL, all);
	pep_out_usec("p50_us", text ? "p50" : NULL,
		     all ? percentile(attr, width, all, 50) : 0);
	pep_out_usec("p99_us", text ? "p99" : NULL,
		     all ? percentile(attr, width, all, 99) : 0);
	pep_out_open_array("buckets");
	for (i = 0; i < PEP_RESIDENCE_BUCKETS; i++) {
		n = pep_residence_samples(attr, width, i);
		if (!n)
			continue;
		pep_out_open_object(NULL);
		pep_out_uint("below_us", NULL, 1ULL << i);
		pep_out_uint("samples", NULL, n);
		pep_out_close_object();
	}
	pep_out_close_array();
	pep_out_close_object();
}
