/* SPDX-License-Identifier: GPL-2.0 */
/* Traffic control: the clsact qdisc and the filters on a device. */
#ifndef _PEPADM_TC_H
#define _PEPADM_TC_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/pep.h>
#include <linux/types.h>

#include "nl.h"

/* Protocols that a device's filters are made for: IPv4 and IPv6. */
#define PEP_TC_FILTERS 2

/**
 * struct pep_tc_count - what actions have seen
 * @packets: packets
 * @bytes: bytes
 */
struct pep_tc_count {
	__u64 packets;
	__u64 bytes;
};

/**
 * struct pep_tc_found - what the filters on one hook of a device are
 * @filters: how many filters there are, of whatever kind
 * @actions: how many of our actions the matchall filters have
 * @mine: which of the filters that pepadm makes are there
 * @index: of the actions of these, by filter
 * @sides: of these actions
 * @profiles: of these actions
 * @preference: of these, by filter
 * @side: side of an action, enum pep_side; UINT32_MAX for none; the first one
 *	of the filters that pepadm makes goes before others
 * @profile: profile of that action
 * @all: what all our actions have seen
 * @each: what those of the filters that pepadm makes have seen
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
