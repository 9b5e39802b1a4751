/* SPDX-License-Identifier: GPL-2.0 */
/* Made by scripts/gen-settings.py from the spec and settings.yaml. */
#ifndef _PEP_SETTINGS_GEN_H
#define _PEP_SETTINGS_GEN_H

#define PEP_SETTINGS_CC_WIRELESS "pep_bbr"
#define PEP_SETTINGS_CC_SERVER "cubic"

/* A struct pep_setting for each number. */
#define PEP_SETTINGS_NUMBERS \
	{ \
		.attr = PEP_A_PROFILE_CONNECT_MODE, \
		.offset = offsetof(struct pep_values, mode), \
		.size = sizeof_field(struct pep_values, mode), \
		.min = 0, \
		.max = PEP_CONNECT_MODE_EARLY, \
		.text = "connect: 0 follow or 1 early", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_SPLIT_TRIGGER, \
		.offset = offsetof(struct pep_values, split_trigger), \
		.size = sizeof_field(struct pep_values, split_trigger), \
		.min = 0, \
		.max = PEP_SPLIT_TRIGGER_HANDSHAKE | PEP_SPLIT_TRIGGER_BYTES | PEP_SPLIT_TRIGGER_LOSS, \
		.text = "split: flags 1 handshake, 2 bytes and 4 loss, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_SPLIT_BYTES, \
		.offset = offsetof(struct pep_values, split_bytes), \
		.size = sizeof_field(struct pep_values, split_bytes), \
		.nonzero = true, \
		.min = 1, \
		.max = PEP_SPLIT_BYTES_MAX, \
		.text = "split-bytes: 1 to 16777216 bytes", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_MPTCP, \
		.offset = offsetof(struct pep_values, mptcp), \
		.size = sizeof_field(struct pep_values, mptcp), \
		.min = 0, \
		.max = PEP_MPTCP_MODE_SPLIT, \
		.text = "mptcp: 0 bypass or 1 split", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_SOURCE, \
		.offset = offsetof(struct pep_values, source), \
		.size = sizeof_field(struct pep_values, source), \
		.min = 0, \
		.max = PEP_SOURCE_MODE_LOCAL, \
		.text = "source: 0 client or 1 local", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_MARK, \
		.offset = offsetof(struct pep_values, mark), \
		.size = sizeof_field(struct pep_values, mark), \
		.min = 0, \
		.max = 4294967295, \
		.text = "mark: 0 to 4294967295", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_DSCP, \
		.offset = offsetof(struct pep_values, dscp), \
		.size = sizeof_field(struct pep_values, dscp), \
		.min = 0, \
		.max = PEP_DSCP_COPY, \
		.text = "dscp: 0 to 63, or 64 for copy", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_KEEPALIVE_IDLE, \
		.offset = offsetof(struct pep_values, keepalive_idle), \
		.size = sizeof_field(struct pep_values, keepalive_idle), \
		.live = true, \
		.min = 1, \
		.max = PEP_KEEPALIVE_TIME_MAX, \
		.text = "keepalive-idle: 1 to 32767 seconds, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_KEEPALIVE_INTERVAL, \
		.offset = offsetof(struct pep_values, keepalive_interval), \
		.size = sizeof_field(struct pep_values, keepalive_interval), \
		.live = true, \
		.min = 1, \
		.max = PEP_KEEPALIVE_TIME_MAX, \
		.text = "keepalive-interval: 1 to 32767 seconds, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_KEEPALIVE_COUNT, \
		.offset = offsetof(struct pep_values, keepalive_count), \
		.size = sizeof_field(struct pep_values, keepalive_count), \
		.live = true, \
		.min = 1, \
		.max = PEP_KEEPALIVE_COUNT_MAX, \
		.text = "keepalive-count: 1 to 127 probes, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_USER_TIMEOUT, \
		.offset = offsetof(struct pep_values, user_timeout), \
		.size = sizeof_field(struct pep_values, user_timeout), \
		.live = true, \
		.min = 1, \
		.max = PEP_USER_TIMEOUT_MAX, \
		.text = "user-timeout: 1 to 2147483647 milliseconds, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_IDLE_TIMEOUT, \
		.offset = offsetof(struct pep_values, idle_timeout), \
		.size = sizeof_field(struct pep_values, idle_timeout), \
		.live = true, \
		.min = 1, \
		.max = PEP_IDLE_TIMEOUT_MAX, \
		.text = "idle-timeout: 1 to 604800 seconds, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_RELEASE_IDLE, \
		.offset = offsetof(struct pep_values, release_idle), \
		.size = sizeof_field(struct pep_values, release_idle), \
		.live = true, \
		.min = 1, \
		.max = PEP_RELEASE_IDLE_MAX, \
		.text = "release-idle: 1 to 604800 seconds, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_RESIDENCE, \
		.offset = offsetof(struct pep_values, residence), \
		.size = sizeof_field(struct pep_values, residence), \
		.min = 1, \
		.max = PEP_RESIDENCE_MAX, \
		.text = "residence: 1 to 10000 milliseconds, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_INITIAL_WINDOW, \
		.offset = offsetof(struct pep_values, initial_window), \
		.size = sizeof_field(struct pep_values, initial_window), \
		.min = 1, \
		.max = PEP_INITIAL_WINDOW_MAX, \
		.text = "initial-window: 1 to 1000 segments, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_RESUME, \
		.offset = offsetof(struct pep_values, resume), \
		.size = sizeof_field(struct pep_values, resume), \
		.min = 0, \
		.max = PEP_RESUME_MODE_ON, \
		.text = "resume: 0 off or 1 on", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_RESUME_MAX, \
		.offset = offsetof(struct pep_values, resume_max), \
		.size = sizeof_field(struct pep_values, resume_max), \
		.nonzero = true, \
		.min = PEP_RESUME_MAX_MIN, \
		.max = PEP_RESUME_MAX_MAX, \
		.text = "resume-max: 16384 to 1073741824 bytes", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_LINK_RATE, \
		.offset = offsetof(struct pep_values, link_rate), \
		.size = sizeof_field(struct pep_values, link_rate), \
		.min = PEP_RATE_MIN, \
		.max = PEP_RATE_MAX, \
		.text = "link-rate: 8kbit to 1tbit, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_LINK_RTT, \
		.offset = offsetof(struct pep_values, link_rtt), \
		.size = sizeof_field(struct pep_values, link_rtt), \
		.min = 1, \
		.max = PEP_LINK_RTT_MAX, \
		.text = "link-rtt: 1 to 60000 milliseconds, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_WIRELESS_SNDBUF, \
		.offset = offsetof(struct pep_values, sndbuf[PEP_SIDE_WIRELESS]), \
		.size = sizeof_field(struct pep_values, sndbuf[PEP_SIDE_WIRELESS]), \
		.min = PEP_BUFFER_MIN, \
		.max = PEP_BUFFER_MAX, \
		.text = "wireless-sndbuf: 4096 to 536870912 bytes, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_WIRELESS_RCVBUF, \
		.offset = offsetof(struct pep_values, rcvbuf[PEP_SIDE_WIRELESS]), \
		.size = sizeof_field(struct pep_values, rcvbuf[PEP_SIDE_WIRELESS]), \
		.min = PEP_BUFFER_MIN, \
		.max = PEP_BUFFER_MAX, \
		.text = "wireless-rcvbuf: 4096 to 536870912 bytes, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_SERVER_SNDBUF, \
		.offset = offsetof(struct pep_values, sndbuf[PEP_SIDE_SERVER]), \
		.size = sizeof_field(struct pep_values, sndbuf[PEP_SIDE_SERVER]), \
		.min = PEP_BUFFER_MIN, \
		.max = PEP_BUFFER_MAX, \
		.text = "server-sndbuf: 4096 to 536870912 bytes, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_SERVER_RCVBUF, \
		.offset = offsetof(struct pep_values, rcvbuf[PEP_SIDE_SERVER]), \
		.size = sizeof_field(struct pep_values, rcvbuf[PEP_SIDE_SERVER]), \
		.min = PEP_BUFFER_MIN, \
		.max = PEP_BUFFER_MAX, \
		.text = "server-rcvbuf: 4096 to 536870912 bytes, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_WIRELESS_MAX_RATE, \
		.offset = offsetof(struct pep_values, max_rate[PEP_SIDE_WIRELESS]), \
		.size = sizeof_field(struct pep_values, max_rate[PEP_SIDE_WIRELESS]), \
		.live = true, \
		.min = PEP_RATE_MIN, \
		.max = PEP_RATE_MAX, \
		.text = "wireless-max-rate: 8kbit to 1tbit, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_SERVER_MAX_RATE, \
		.offset = offsetof(struct pep_values, max_rate[PEP_SIDE_SERVER]), \
		.size = sizeof_field(struct pep_values, max_rate[PEP_SIDE_SERVER]), \
		.live = true, \
		.min = PEP_RATE_MIN, \
		.max = PEP_RATE_MAX, \
		.text = "server-max-rate: 8kbit to 1tbit, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_CONTROL, \
		.offset = offsetof(struct pep_values, control), \
		.size = sizeof_field(struct pep_values, control), \
		.min = 1, \
		.max = PEP_CONTROL_MAX, \
		.text = "control: 1 to 5000 ten-thousandths, or 0", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_CONTROL_BY, \
		.offset = offsetof(struct pep_values, control_by), \
		.size = sizeof_field(struct pep_values, control_by), \
		.min = 0, \
		.max = PEP_CONTROL_BY_SUBSCRIBER, \
		.text = "control-by: 0 connection or 1 subscriber", \
	}, \
	{ \
		.attr = PEP_A_PROFILE_MAX_FLOWS, \
		.offset = offsetof(struct pep_values, max_flows), \
		.size = sizeof_field(struct pep_values, max_flows), \
		.min = 1, \
		.max = PEP_FLOWS_MAX, \
		.text = "max-flows: 1 to 16777216, or 0", \
	},

/* A struct pep_values with the defaults. */
#define PEP_SETTINGS_DEFAULTS \
	{ \
		.cc[PEP_SIDE_WIRELESS] = PEP_SETTINGS_CC_WIRELESS, \
		.cc[PEP_SIDE_SERVER] = PEP_SETTINGS_CC_SERVER, \
		.split_trigger = PEP_SPLIT_TRIGGER_BYTES | PEP_SPLIT_TRIGGER_LOSS, \
		.split_bytes = PEP_SPLIT_BYTES_DEFAULT, \
		.dscp = PEP_DSCP_COPY, \
		.release_idle = PEP_RELEASE_IDLE_DEFAULT, \
		.residence = 50, \
		.resume = PEP_RESUME_MODE_ON, \
		.resume_max = PEP_RESUME_MAX_DEFAULT, \
	}

#endif
