/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_VALUES_H
#define _PEP_VALUES_H

#include <uapi/linux/pep.h>

/**
 * struct pep_values - the settings of a profile
 * @max_rate: highest rate that a leg sends at, per side, enum pep_side, bytes
 *	per second; 0: unlimited
 * @cc: congestion control per side, enum pep_side
 * @server_dev: device that server legs are bound to; empty for none
 * @mode: when an opener is answered, enum pep_connect_mode
 * @split_trigger: events at which a connection that is followed is taken over,
 *	flags of enum pep_split_trigger; 0: never
 * @split_bytes: payload of either end in one turn at which
 *	PEP_SPLIT_TRIGGER_BYTES takes it over, bytes; PEP_SPLIT_BYTES_DEFAULT
 *	without that flag
 * @mptcp: treatment of SYNs of Multipath TCP, enum pep_mptcp_mode
 * @source: source address of legs to a server, enum pep_source_mode
 * @mark: firewall mark of the legs' packets
 * @dscp: DSCP of the legs' packets, or PEP_DSCP_COPY
 * @keepalive_idle: silence before the first probe, seconds; 0: sysctl
 * @keepalive_interval: time between probes, seconds; 0: sysctl
 * @keepalive_count: unanswered probes that end a leg; 0: sysctl
 * @user_timeout: how long data may go unacknowledged, ms; 0: sysctl
 * @idle_timeout: time without progress after which a flow ends, seconds; 0:
 *	never
 * @release_idle: time without progress after which a connection is handed back to
 *	its ends, seconds; 0: never
 * @residence: how long payload may stay here, or one round trip of the leg
 *	that it leaves by if that is longer, ms; 0: as long as it fits
 * @initial_window: least congestion window that the wireless leg begins with,
 *	segments; 0: its route's
 * @resume: whether the wireless leg begins with the known properties of the
 *	subscriber's link, enum pep_resume_mode
 * @resume_max: most bytes that the subscriber's legs may have in flight then
 * @link_rate: rate of the subscribers' link, bytes per second; 0: the one that it
 *	has shown
 * @link_rtt: smallest round trip of that link, ms; 0: the one that it has shown
 * @sndbuf: send buffer per side, enum pep_side, half the bytes that the kernel
 *	takes for it; 0: TCP's own sizing
 * @rcvbuf: receive buffer in the same way
 * @control: share of the connections that are never split, for comparison, 1/10,000
 * @control_by: criterion that these are chosen by, enum pep_control_by
 * @max_flows: live flows that there may be; 0: as many as the namespace may have
 */
struct pep_values {
	u64 max_rate[2];
	u64 link_rate;
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
	u32 release_idle;
	u32 residence;
	u32 initial_window;
	u32 resume;
	u32 resume_max;
	u32 link_rtt;
	u32 sndbuf[2];
	u32 rcvbuf[2];
	u32 control;
	u32 control_by;
	u32 max_flows;
};

#endif
