/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_PROFILE_H
#define _PEP_PROFILE_H

#include <linux/list.h>
#include <linux/netlink.h>
#include <linux/rcupdate.h>
#include <uapi/linux/pep.h>

#include "net.h"
#include "tally.h"

struct pep_gen;

/* How long payload may stay here by default, ms. */
#define PEP_PROFILE_RESIDENCE 50

/**
 * struct pep_values - the settings of a profile
 * @max_rate: rate that a leg sends at most with, per side, enum pep_side, bytes
 *	per second; 0: unlimited
 * @cc: congestion control per side, enum pep_side
 * @server_dev: device that server legs are bound to; empty for none
 * @mode: when an opener is answered, enum pep_connect_mode
 * @split_trigger: events at which a connection that is followed is taken over,
 *	flags of enum pep_split_trigger; 0: never
 * @split_bytes: payload of either end beyond which PEP_SPLIT_TRIGGER_BYTES
 *	takes it over, bytes; PEP_SPLIT_BYTES_DEFAULT without that flag
 * @mptcp: what becomes of SYNs of Multipath TCP, enum pep_mptcp_mode
 * @source: whose address legs to a server take, enum pep_source_mode
 * @mark: firewall mark of the legs' packets
 * @dscp: DSCP of the legs' packets, or PEP_DSCP_COPY
 * @keepalive_idle: silence before the first probe, seconds; 0: sysctl
 * @keepalive_interval: time between probes, seconds; 0: sysctl
 * @keepalive_count: unanswered probes that end a leg; 0: sysctl
 * @user_timeout: how long data may go unacknowledged, ms; 0: sysctl
 * @idle_timeout: after how long without progress a flow ends, seconds; 0:
 *	never
 * @residence: how long payload may stay here, or one round trip of the leg
 *	that it leaves by if that is longer, ms; 0: as long as it fits
 * @sndbuf: send buffer per side, enum pep_side, half the bytes that the kernel
 *	takes for it; 0: TCP's own sizing
 * @rcvbuf: receive buffer in the same way
 * @max_flows: live flows that there may be; 0: as many as the namespace may have
 */
struct pep_values {
	u64 max_rate[2];
	char cc[2][PEP_NAME_LEN];
	char server_dev[PEP_NAME_LEN];
	u32 mode;
	u32 split_trigger;
	u32 split_bytes;
	u32 mptcp;
	u32 source;
	u32 mark;
	u32 dscp;
	u32 keepalive_idle;
	u32 keepalive_interval;
	u32 keepalive_count;
	u32 user_timeout;
	u32 idle_timeout;
	u32 residence;
	u32 sndbuf[2];
	u32 rcvbuf[2];
	u32 max_flows;
};

/**
 * struct pep_profile - named settings
 * @node: in pep_net.profiles
 * @pn: instance that it belongs to
 * @name: name
 * @values: settings of new flows
 * @gen: sockets with these settings; NULL while no device uses the profile;
 *	read under RCU, written under pep_net.lock
 * @tally: counts its flows, by a reference
 * @devices: tc actions that use the profile
 * @listed: the profile has not been deleted
 * @rcu: frees the memory
 *
 * Guarded by pep_net.lock but for what @gen says. Freed after a grace period
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
struct pep_profile *pep_profile_bind(struct pep_net *pn, const char *name,
				     struct netlink_ext_ack *extack);
void pep_profile_unbind(struct pep_profile *profile);
void pep_profile_defaults(struct pep_values *values);
int pep_profile_check_cc(struct pep_net *pn, const char *cc);
int pep_profile_server_ifindex(struct pep_net *pn,
			       const struct pep_values *values);

#endif
