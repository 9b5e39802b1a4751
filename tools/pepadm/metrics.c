// SPDX-License-Identifier: GPL-2.0
/*
 * The text format of Prometheus, as node_exporter's textfile collector reads
 * it. Counters of one event for several reasons are one metric with a label;
 * all samples of a metric have to follow each other.
 */
#include "metrics.h"

#include <stdio.h>
#include <string.h>

#include <linux/pep.h>

#include "action.h"
#include "args.h"
#include "labels.h"
#include "names-gen.h"
#include "nl.h"

/**
 * struct rule - metric of a counter
 * @name: its name, or the beginning of its name if there is a @label
 * @metric: name of the metric, without "pep_"
 * @label: name of the label whose value is the rest of the name, or NULL
 * @help: description of the metric, NULL for that of the counter
 */
struct rule {
	const char *name;
	const char *metric;
	const char *label;
	const char *help;
};

/* The first rule that fits applies. */
static const struct rule rules[] = {
	{ "pending", "flows_pending", NULL, NULL },
	{ "delivered", "packets_delivered_total", NULL, NULL },
	{ "dropped", "packets_dropped_total", NULL, NULL },
	{ "pass_", "packets_passed_total", "reason",
	  "Packets left to the host's own stack, by reason." },
	{ "syn_answered", "syns_answered_total", NULL, NULL },
	{ "syn_pass_", "syns_passed_total", "reason",
	  "SYNs passed, by why they are not split or not answered early." },
	{ "followed", "connections_followed", NULL, NULL },
	{ "followed_limit", "connections_followed_limit", NULL, NULL },
	{ "follow_unseen", "packets_unseen_total", NULL, NULL },
	{ "follow_", "connections_total", "event",
	  "Followed connections, by what happened to them." },
	{ "split_pass_", "connections_kept_total", "reason",
	  "Connections that are not split, by reason." },
	{ "split_", "connections_split_total", "trigger",
	  "Followed connections that were split, by trigger." },
	{ "flow_established", "flows_established_total", NULL, NULL },
	{ "flow_", "flows_ended_total", "cause", "Flows ended, by cause." },
	{ "connect_", "connects_failed_total", "cause",
	  "Target legs that did not come up, by cause." },
	{ "resume_", "resume_total", "event",
	  "Windows of legs opened to a share of what the link has carried, and closed again." },
	{ "bytes_to_", "relayed_bytes_total", "leg",
	  "Payload relayed, by the leg that sends it." },
	{ "bytes_", "relayed_bytes_by_way_total", "way",
	  "Payload relayed by reference to its page fragments, and by copying." },
};

/* Does the counter only ever grow? */
static bool counts(size_t stat)
{
	return stat != PEP_A_STAT_FLOWS && stat != PEP_A_STAT_PENDING &&
	       stat != PEP_A_STAT_POOL_SOCKETS &&
	       stat != PEP_A_STAT_FOLLOWED &&
	       stat != PEP_A_STAT_FOLLOWED_LIMIT;
}

/* Find the rule for a counter, or NULL. */
static const struct rule *find_rule(const char *name)
{
	const struct rule *rule;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		rule = &rules[i];
		if (rule->label ? !strncmp(name, rule->name,
					   strlen(rule->name)) :
				  !strcmp(name, rule->name))
			return rule;
	}
	return NULL;
}

/* Does the answer have the counter? */
static bool there(const struct nlattr * const *stats, size_t stat)
{
	return *names_stat[stat] && stats[stat];
}

/* Show one counter as a sample of a metric. */
static void show_sample(const char *metric, const struct rule *rule,
			const struct nlattr * const *stats, size_t stat)
{
	if (rule && rule->label)
		pep_labels_show(metric, rule->label,
				names_stat[stat] + strlen(rule->name), NULL);
	else
		pep_labels_show(metric, NULL);
	printf("%llu\n", (unsigned long long)pep_nl_uint(stats[stat]));
}

/* Show a metric, with all counters from its first one on that belong to it. */
static void show_metric(const struct rule *rule,
			const struct nlattr * const *stats, size_t first)
{
	const char *help = rule && rule->help ? rule->help : docs_stat[first];
	char metric[64];
	size_t i;

	if (rule)
		snprintf(metric, sizeof(metric), "%s", rule->metric);
	else
		snprintf(metric, sizeof(metric), "%s%s", names_stat[first],
			 counts(first) ? "_total" : "");
	printf("# HELP pep_%s %s\n# TYPE pep_%s %s\n", metric, help, metric,
	       counts(first) ? "counter" : "gauge");
	show_sample(metric, rule, stats, first);
	for (i = first + 1; rule && i < ARRAY_SIZE(names_stat); i++)
		if (there(stats, i) && find_rule(names_stat[i]) == rule)
			show_sample(metric, rule, stats, i);
}

/**
 * pep_metrics_show() - show the counters for Prometheus
 * @stats: attributes of an answer to PEP_CMD_STAT_GET by number
 */
void pep_metrics_show(const struct nlattr * const *stats)
{
	bool shown[ARRAY_SIZE(rules)] = { false };
	const struct rule *rule;
	size_t i;

	for (i = 1; i < ARRAY_SIZE(names_stat); i++) {
		if (!there(stats, i))
			continue;
		rule = find_rule(names_stat[i]);
		if (rule && shown[rule - rules])
			continue;
		if (rule)
			shown[rule - rules] = true;
		show_metric(rule, stats, i);
	}
}

/**
 * pep_metrics_show_limits() - show the limits for Prometheus
 * @limits: attributes of an answer to PEP_CMD_LIMIT_GET by number
 */
void pep_metrics_show_limits(const struct nlattr * const *limits)
{
	static const struct {
		__u16 attr;
		const char *metric;
		const char *help;
	} gauges[] = {
		{ PEP_A_LIMIT_FLOWS, "flows_limit",
		  "Flows that there may be." },
		{ PEP_A_LIMIT_PENDING, "flows_pending_limit",
		  "Flows that may be being opened." },
		{ PEP_A_LIMIT_DRAIN, "draining",
		  "Whether all new connections pass unsplit, 1 or 0." },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(gauges); i++) {
		printf("# HELP pep_%s %s\n# TYPE pep_%s gauge\n",
		       gauges[i].metric, gauges[i].help, gauges[i].metric);
		pep_labels_show(gauges[i].metric, NULL);
		printf("%llu\n", (unsigned long long)
		       pep_nl_uint(limits[gauges[i].attr]));
	}
}

/**
 * pep_metrics_show_filters() - show the number of filters for Prometheus
 * @filters: filters of tc that hand packets to the module, by side
 */
void pep_metrics_show_filters(const __u64 *filters)
{
	puts("# HELP pep_filters Filters of tc that hand packets to pep, by side.\n"
	     "# TYPE pep_filters gauge");
	for (size_t side = 0; side < PEP_ACTION_SIDES; side++) {
		pep_labels_show("filters", "side", names_side[side], NULL);
		printf("%llu\n", (unsigned long long)filters[side]);
	}
}
