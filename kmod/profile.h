/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_PROFILE_H
#define _PEP_PROFILE_H

#include <linux/list.h>
#include <linux/netlink.h>
#include <linux/rcupdate.h>
#include <uapi/linux/pep.h>

#include "net.h"
#include "tally.h"
#include "values.h"

struct pep_gen;

/**
 * struct pep_profile - named settings
 * @node: in pep_net.profiles
 * @pn: instance that it belongs to
 * @name: name
 * @values: settings of new flows
 * @gen: sockets with these settings; NULL while no device uses the profile;
 *	read under RCU, written under pep_net.lock
 * @tally: counts its flows; a reference
 * @devices: tc actions that use the profile
 * @listed: the profile has not been deleted
 * @rcu: frees the memory
 *
 * Guarded by pep_net.lock, except @gen as stated. Freed after a grace period
 * when it is neither listed nor used.
 */
struct pep_profile {
	struct list_head node;
	struct pep_net *pn;
	char name[PEP_NAME_LEN];
	struct pep_values values;
	struct pep_gen __rcu *gen;
	struct pep_tally *tally;
	unsigned int devices;
	bool listed;
	struct rcu_head rcu;
};

bool pep_profile_name_ok(const char *name);
int pep_profile_init(struct pep_net *pn);
void pep_profile_exit(struct pep_net *pn);
struct pep_profile *pep_profile_find(struct pep_net *pn, const char *name);
int pep_profile_add(struct pep_net *pn, const char *name,
		    const struct pep_values *values);
bool pep_profile_same(const struct pep_profile *profile,
		      const struct pep_values *values);
int pep_profile_set(struct pep_profile *profile,
		    const struct pep_values *values,
		    struct netlink_ext_ack *extack);
void pep_profile_del(struct pep_profile *profile);
int pep_profile_bind(struct pep_profile *profile,
		     struct netlink_ext_ack *extack);
void pep_profile_unbind(struct pep_profile *profile);
void pep_profile_defaults(struct pep_values *values);
int pep_profile_check_cc(struct pep_net *pn, const char *cc);

#endif
