/* SPDX-License-Identifier: GPL-2.0 */
/* Network devices: names and numbers. */
#ifndef _PEPADM_LINK_H
#define _PEPADM_LINK_H

#include <linux/if.h>
#include <linux/types.h>

#include "nl.h"

/**
 * struct pep_link - a network device
 * @ifindex: its number
 * @name: its name
 */
struct pep_link {
	__u32 ifindex;
	char name[IFNAMSIZ];
};

int pep_link_by_name(struct pep_nl *nl, const char *name,
		     struct pep_link *link);
int pep_link_by_index(struct pep_nl *nl, __u32 ifindex,
		      struct pep_link *link);
enum pep_exit pep_link_open(struct pep_nl *nl, const char *name,
			    struct pep_link *link);

#endif
