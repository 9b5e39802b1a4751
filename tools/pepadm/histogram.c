// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's counts in buckets as histograms of Prometheus: added up from the
 * smallest on. Other counters of compared connections follow their histograms.
 */
#include "histogram.h"

#include <stdio.h>
#include <string.h>

#include <linux/pep.h>

#include "args.h"
#include "labels.h"
#include "names-gen.h"
#include "nl.h"
#include "residence.h"

/* Where the first bucket of links by rate ends, bytes per second. */
#define RATE_FIRST 12500

/* Where the first bucket by round trip ends, us. */
#define RTT_FIRST 1000

/* Bins between a time and twice that time. */
#define BINS_PER_DOUBLING 8

/* Write microseconds as seconds. */
static void write_seconds(char *text, size_t size, __u64 us)
{
	snprintf(text, size, "%llu.%06llu", (unsigned long long)us / 1000000,
		 (unsigned long long)us % 1000000);
}

/* Show the histogram of payload to the legs of a side. */
static void show_histogram(const char *leg, const struct nlattr *samples,
			   const struct nlattr *sum)
{
	__u64 all = 0, ns = pep_nl_uint(sum);
	char end[32];
	size_t i;

	for (i = 0; i < PEP_RESIDENCE_BUCKETS; i++) {
		all += pep_residence_samples(samples, sizeof(__u64), i);
		write_seconds(end, sizeof(end), 1ULL << i);
		pep_labels_show("residence_seconds_bucket", "leg", leg, "le",
				i < PEP_RESIDENCE_BUCKETS - 1 ? end : "+Inf",
				NULL);
		printf("%llu\n", (unsigned long long)all);
	}
	pep_labels_show("residence_seconds_sum", "leg", leg, NULL);
	printf("%llu.%09llu\n", (unsigned long long)(ns / 1000000000),
	       (unsigned long long)(ns % 1000000000));
	pep_labels_show("residence_seconds_count", "leg", leg, NULL);
	printf("%llu\n", (unsigned long long)all);
}

/**
 * pep_histogram_residence() - show for Prometheus how long payload stays
 * @sides: attributes of an answer to PEP_CMD_RESIDENCE_GET by number
 */
void pep_histogram_residence(const struct nlattr * const *sides)
{
	puts("# HELP pep_residence_seconds How long payload stays, by the leg that sends it.\n"
	     "# TYPE pep_residence_seconds histogram");
	show_histogram("wireless", sides[PEP_A_RESIDENCE_TO_WIRELESS],
		       sides[PEP_A_RESIDENCE_SUM_TO_WIRELESS]);
	show_histogram("server", sides[PEP_A_RESIDENCE_TO_SERVER],
		       sides[PEP_A_RESIDENCE_SUM_TO_SERVER]);
}

/* Show subscribers by a property of their links; the first bucket ends at @first,
 * and @text writes an end.
 */
static void show_links(const char *metric, const struct nlattr *by, __u64 first,
		       void (*text)(char *text, size_t size, __u64 end))
{
	char name[64], end[32];
	__u64 all = 0;
	size_t i;

	snprintf(name, sizeof(name), "%s_bucket", metric);
	for (i = 0; i < PEP_PATH_BUCKETS; i++) {
		all += pep_residence_samples(by, sizeof(__u64), i);
		text(end, sizeof(end), first << i);
		pep_labels_show(name, "le",
				i < PEP_PATH_BUCKETS - 1 ? end : "+Inf", NULL);
		printf("%llu\n", (unsigned long long)all);
	}
	snprintf(name, sizeof(name), "%s_count", metric);
	pep_labels_show(name, NULL);
	printf("%llu\n", (unsigned long long)all);
}

static void write_number(char *text, size_t size, __u64 number)
{
	snprintf(text, size, "%llu", (unsigned long long)number);
}

/**
 * pep_histogram_links() - show the known properties of links for Prometheus
 * @links: attributes of an answer to PEP_CMD_PATH_STAT_GET by number
 */
void pep_histogram_links(const struct nlattr * const *links)
{
	char sum[32];

	puts("# HELP pep_link_rate_bytes Subscribers by rate of their links, bytes/s.\n"
	     "# TYPE pep_link_rate_bytes histogram");
	show_links("link_rate_bytes", links[PEP_A_PATH_STAT_BY_RATE], RATE_FIRST,
		   write_number);
	pep_labels_show("link_rate_bytes_sum", NULL);
	printf("%llu\n", (unsigned long long)
	       pep_nl_uint(links[PEP_A_PATH_STAT_SUM_RATE]));
	puts("# HELP pep_link_rtt_seconds Subscribers by the smallest round trip of their links.\n"
	     "# TYPE pep_link_rtt_seconds histogram");
	show_links("link_rtt_seconds", links[PEP_A_PATH_STAT_BY_RTT], RTT_FIRST,
		   write_seconds);
	write_seconds(sum, sizeof(sum),
		      pep_nl_uint(links[PEP_A_PATH_STAT_SUM_RTT_US]));
	pep_labels_show("link_rtt_seconds_sum", NULL);
	puts(sum);
}

/* The label that distinguishes groups of connections. */
static const char * const group_label = "group";

/* Show times of a group as a histogram, with a bucket for each doubling; @size is
 * the largest size of the objects, or NULL for no objects.
 */
static void show_times(const char *metric, const struct pep_gain_profile *of,
		       size_t group, const char *size,
		       const struct pep_gain_bins *bins)
{
	const char *name = size ? "size" : NULL;
	char bucket[64], end[32];
	__u64 all = 0;
	size_t i;

	snprintf(bucket, sizeof(bucket), "%s_bucket", metric);
	for (i = 0; i < PEP_GAIN_BINS; i++) {
		all += bins->count[i];
		if (i % BINS_PER_DOUBLING && i < PEP_GAIN_BINS - 1)
			continue;
		write_seconds(end, sizeof(end), pep_gain_bin_end(i));
		pep_labels_show(bucket, "profile", of->name, group_label,
				names_gain_group[group], "le",
				i < PEP_GAIN_BINS - 1 ? end : "+Inf", name,
				size, NULL);
		printf("%llu\n", (unsigned long long)all);
	}
	snprintf(bucket, sizeof(bucket), "%s_count", metric);
	pep_labels_show(bucket, "profile", of->name, group_label,
			names_gain_group[group], name, size, NULL);
	printf("%llu\n", (unsigned long long)all);
	snprintf(bucket, sizeof(bucket), "%s_sum", metric);
	pep_labels_show(bucket, "profile", of->name, group_label,
			names_gain_group[group], name, size, NULL);
	write_seconds(end, sizeof(end), bins->time);
	puts(end);
}

/* Show the objects of all groups by size. */
static void show_objects(const struct pep_gain_profile *profiles)
{
	const struct pep_gain_profile *one;
	const struct pep_gain_bins *bins;
	size_t group, class;
	char size[32];

	puts("# HELP pep_compared_object_seconds Times of objects, by largest size, bytes.\n"
	     "# TYPE pep_compared_object_seconds histogram");
	for (one = profiles; one; one = one->next)
		for (group = 0; group < PEP_GAIN_GROUPS; group++)
			for (class = 0; class < PEP_GAIN_SIZES; class++) {
				bins = &one->group[group].size[class];
				if (!bins->conns)
					continue;
				write_number(size, sizeof(size),
					     pep_gain_size_end(class));
				show_times("compared_object_seconds", one,
					   group, class < PEP_GAIN_SIZES - 1 ?
					   size : "+Inf", bins);
			}
}

/* Show the samples of the queueing delay of all groups. */
static void show_delays(const struct pep_gain_profile *profiles)
{
	const struct pep_gain_profile *one;
	size_t group;

	puts("# HELP pep_compared_delay_seconds Queueing delay of compared connections.\n"
	     "# TYPE pep_compared_delay_seconds histogram");
	for (one = profiles; one; one = one->next)
		for (group = 0; group < PEP_GAIN_GROUPS; group++)
			show_times("compared_delay_seconds", one, group, NULL,
				   &one->group[group].delay);
}

/* Show a number of all groups. */
static void show_groups(const struct pep_gain_profile *profiles,
			const char *metric, const char *help,
			__u64 (*get)(const struct pep_gain_conns *group))
{
	const struct pep_gain_profile *one;
	size_t group;

	printf("# HELP pep_%s %s\n# TYPE pep_%s counter\n", metric, help,
	       metric);
	for (one = profiles; one; one = one->next)
		for (group = 0; group < PEP_GAIN_GROUPS; group++) {
			pep_labels_show(metric, "profile", one->name,
					group_label, names_gain_group[group],
					NULL);
			printf("%llu\n", (unsigned long long)
			       get(&one->group[group]));
		}
}

static __u64 get_conns(const struct pep_gain_conns *group)
{
	return group->conns;
}

static __u64 get_cut(const struct pep_gain_conns *group)
{
	return group->cut;
}

static __u64 get_bytes(const struct pep_gain_conns *group)
{
	return group->bytes;
}

static __u64 get_again(const struct pep_gain_conns *group)
{
	return group->again;
}

/**
 * pep_histogram_gain() - show the performance of groups for Prometheus
 * @profiles: the profiles that have a control group; NULL where none has one, and
 *	nothing is shown
 */
void pep_histogram_gain(const struct pep_gain_profile *profiles)
{
	if (!profiles)
		return;
	show_objects(profiles);
	show_delays(profiles);
	show_groups(profiles, "compared_connections_total",
		    "Connections that are compared.", get_conns);
	show_groups(profiles, "compared_connections_cut_total",
		    "Those of them that ended before all had been acknowledged.",
		    get_cut);
	show_groups(profiles, "compared_bytes_total",
		    "Payload acknowledged by subscribers on those that have ended.",
		    get_bytes);
	show_groups(profiles, "compared_bytes_again_total",
		    "Payload sent to subscribers again on them.", get_again);
}
