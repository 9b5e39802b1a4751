/* SPDX-License-Identifier: GPL-2.0 */
/* Traffic control: the clsact qdisc and the filters on a device. */
#ifndef _PEPADM_TC_H
#define _PEPADM_TC_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/pep.h>
#include <linux/types.h>

#include "nl.h"

/* Number of filters of a device: for IPv4 and IPv6. */
#define PEP_TC_FILTERS 2

/**
 * struct pep_tc_count - counters of actions
 * @packets: packets
 * @bytes: bytes
 */
struct pep_tc_count {
	__u64 packets;
	__u64 bytes;
};

/**
 * struct pep_tc_found - the filters on one hook of a device
 * @filters: how many filters there are, of any kind
 * @actions: how many of our actions the matchall filters have
 * @mine: which of pepadm's filters are there
 * @index: numbers of their actions, by filter
 * @sides: sides of these actions
 * @profiles: profiles of these actions
 * @preference: preferences of these filters
 * @side: side of an action, enum pep_side; UINT32_MAX for none; the first one
 *	of pepadm's filters goes before others
 * @profile: profile of that action
 * @all: counters of all our actions
 * @each: counters of the actions of pepadm's filters
 */
struct pep_tc_found {
	unsigned int filters;
	unsigned int actions;
	bool mine[PEP_TC_FILTERS];
	__u32 index[PEP_TC_FILTERS];
	__u32 sides[PEP_TC_FILTERS];
	char profiles[PEP_TC_FILTERS][PEP_NAME_LEN];
	__u32 preference[PEP_TC_FILTERS];
	__u32 side;
	char profile[PEP_NAME_LEN];
	struct pep_tc_count all;
	struct pep_tc_count each[PEP_TC_FILTERS];
};

/**
 * struct pep_tc_devices - the devices that have a clsact or ingress qdisc
 * @ifindex: their numbers
 * @n: how many there are
 * @failed: memory ran out while they were being collected
 */
struct pep_tc_devices {
	__u32 *ifindex;
	size_t n;
	bool failed;
};

int pep_tc_clsact_add(struct pep_nl *nl, __u32 ifindex);
int pep_tc_clsact_del_unused(struct pep_nl *nl, __u32 ifindex);
int pep_tc_filter_add(struct pep_nl *nl, __u32 ifindex, unsigned int which,
		      __u32 side, const char *profile);
int pep_tc_action_set(struct pep_nl *nl, __u32 index, __u32 side,
		      const char *profile);
int pep_tc_filter_del(struct pep_nl *nl, __u32 ifindex,
		      unsigned int which, __u32 preference);
__u32 pep_tc_preference(unsigned int which);
int pep_tc_find(struct pep_nl *nl, __u32 ifindex,
		struct pep_tc_found *found);
int pep_tc_devices(struct pep_nl *nl, struct pep_tc_devices *devices);

#endif
