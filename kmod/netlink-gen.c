// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/pep.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink-gen.h"

#include <uapi/linux/pep.h>

/* Integer value ranges */
static const struct netlink_range_validation pep_a_limit_flows_range = {
	.min	= 1ULL,
	.max	= 16777216ULL,
};

static const struct netlink_range_validation pep_a_limit_pending_range = {
	.min	= 1ULL,
	.max	= 1048576ULL,
};

static const struct netlink_range_validation pep_a_limit_subscriber_connections_range = {
	.min	= 1ULL,
	.max	= 16777216ULL,
};

static const struct netlink_range_validation pep_a_limit_subscriber_flows_range = {
	.min	= 1ULL,
	.max	= 16777216ULL,
};

static const struct netlink_range_validation pep_a_limit_subscriber_rate_range = {
	.min	= 1ULL,
	.max	= 1000000ULL,
};

static const struct netlink_range_validation pep_a_limit_subscriber_memory_range = {
	.min	= 65536ULL,
	.max	= 4294967295ULL,
};

static const struct netlink_range_validation pep_a_limit_connections_range = {
	.min	= 1ULL,
	.max	= 2147483647ULL,
};

static const struct netlink_range_validation pep_a_end_rtt_us_range = {
	.max	= 200000000ULL,
};

static const struct netlink_range_validation pep_a_end_mss_range = {
	.min	= 1ULL,
	.max	= 65535ULL,
};

/* Common nested types */
const struct nla_policy pep_end_nl_policy[PEP_A_END_TSVAL + 1] = {
	[PEP_A_END_BYTES] = { .type = NLA_UINT, },
	[PEP_A_END_REPEATED] = { .type = NLA_U32, },
	[PEP_A_END_RTT_US] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_end_rtt_us_range),
	[PEP_A_END_MSS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_end_mss_range),
	[PEP_A_END_WSCALE] = NLA_POLICY_MAX(NLA_U32, 14),
	[PEP_A_END_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x7f),
	[PEP_A_END_UNACKED] = { .type = NLA_U32, },
	[PEP_A_END_IFINDEX] = { .type = NLA_U32, },
	[PEP_A_END_DEV] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_END_HIGH] = { .type = NLA_U32, },
	[PEP_A_END_ACK] = { .type = NLA_U32, },
	[PEP_A_END_EDGE] = { .type = NLA_U32, },
	[PEP_A_END_TSVAL] = { .type = NLA_U32, },
};

/* PEP_CMD_PROFILE_GET - do */
static const struct nla_policy pep_profile_get_nl_policy[PEP_A_PROFILE_NAME + 1] = {
	[PEP_A_PROFILE_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
};

/* PEP_CMD_PROFILE_ADD - do */
static const struct nla_policy pep_profile_add_nl_policy[PEP_A_PROFILE_CONTROL_BY + 1] = {
	[PEP_A_PROFILE_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_CC_WIRELESS] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_CC_SERVER] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_CONNECT_MODE] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_MPTCP] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_SOURCE] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_SERVER_DEV] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_MARK] = { .type = NLA_U32, },
	[PEP_A_PROFILE_DSCP] = { .type = NLA_U32, },
	[PEP_A_PROFILE_KEEPALIVE_IDLE] = { .type = NLA_U32, },
	[PEP_A_PROFILE_KEEPALIVE_INTERVAL] = { .type = NLA_U32, },
	[PEP_A_PROFILE_KEEPALIVE_COUNT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_USER_TIMEOUT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_IDLE_TIMEOUT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_RESIDENCE] = { .type = NLA_U32, },
	[PEP_A_PROFILE_WIRELESS_SNDBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_WIRELESS_RCVBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_SERVER_SNDBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_SERVER_RCVBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_WIRELESS_MAX_RATE] = { .type = NLA_UINT, },
	[PEP_A_PROFILE_SERVER_MAX_RATE] = { .type = NLA_UINT, },
	[PEP_A_PROFILE_MAX_FLOWS] = { .type = NLA_U32, },
	[PEP_A_PROFILE_SPLIT_TRIGGER] = NLA_POLICY_MASK(NLA_U32, 0x7),
	[PEP_A_PROFILE_SPLIT_BYTES] = { .type = NLA_U32, },
	[PEP_A_PROFILE_RELEASE_IDLE] = { .type = NLA_U32, },
	[PEP_A_PROFILE_INITIAL_WINDOW] = { .type = NLA_U32, },
	[PEP_A_PROFILE_RESUME] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_RESUME_MAX] = { .type = NLA_U32, },
	[PEP_A_PROFILE_LINK_RATE] = { .type = NLA_UINT, },
	[PEP_A_PROFILE_LINK_RTT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_CONTROL] = { .type = NLA_U32, },
	[PEP_A_PROFILE_CONTROL_BY] = NLA_POLICY_MAX(NLA_U32, 1),
};

/* PEP_CMD_PROFILE_SET - do */
static const struct nla_policy pep_profile_set_nl_policy[PEP_A_PROFILE_CONTROL_BY + 1] = {
	[PEP_A_PROFILE_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_CC_WIRELESS] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_CC_SERVER] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_CONNECT_MODE] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_MPTCP] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_SOURCE] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_SERVER_DEV] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_MARK] = { .type = NLA_U32, },
	[PEP_A_PROFILE_DSCP] = { .type = NLA_U32, },
	[PEP_A_PROFILE_KEEPALIVE_IDLE] = { .type = NLA_U32, },
	[PEP_A_PROFILE_KEEPALIVE_INTERVAL] = { .type = NLA_U32, },
	[PEP_A_PROFILE_KEEPALIVE_COUNT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_USER_TIMEOUT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_IDLE_TIMEOUT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_RESIDENCE] = { .type = NLA_U32, },
	[PEP_A_PROFILE_WIRELESS_SNDBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_WIRELESS_RCVBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_SERVER_SNDBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_SERVER_RCVBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_WIRELESS_MAX_RATE] = { .type = NLA_UINT, },
	[PEP_A_PROFILE_SERVER_MAX_RATE] = { .type = NLA_UINT, },
	[PEP_A_PROFILE_MAX_FLOWS] = { .type = NLA_U32, },
	[PEP_A_PROFILE_LIVE] = { .type = NLA_FLAG, },
	[PEP_A_PROFILE_SPLIT_TRIGGER] = NLA_POLICY_MASK(NLA_U32, 0x7),
	[PEP_A_PROFILE_SPLIT_BYTES] = { .type = NLA_U32, },
	[PEP_A_PROFILE_RELEASE_IDLE] = { .type = NLA_U32, },
	[PEP_A_PROFILE_INITIAL_WINDOW] = { .type = NLA_U32, },
	[PEP_A_PROFILE_RESUME] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_RESUME_MAX] = { .type = NLA_U32, },
	[PEP_A_PROFILE_LINK_RATE] = { .type = NLA_UINT, },
	[PEP_A_PROFILE_LINK_RTT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_CONTROL] = { .type = NLA_U32, },
	[PEP_A_PROFILE_CONTROL_BY] = NLA_POLICY_MAX(NLA_U32, 1),
};

/* PEP_CMD_PROFILE_DEL - do */
static const struct nla_policy pep_profile_del_nl_policy[PEP_A_PROFILE_NAME + 1] = {
	[PEP_A_PROFILE_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
};

/* PEP_CMD_FLOW_GET - do */
static const struct nla_policy pep_flow_get_do_nl_policy[PEP_A_FLOW_ID + 1] = {
	[PEP_A_FLOW_ID] = { .type = NLA_U32, },
};

/* PEP_CMD_FLOW_GET - dump */
static const struct nla_policy pep_flow_get_dump_nl_policy[PEP_A_FLOW_BYTES_MIN + 1] = {
	[PEP_A_FLOW_ID] = { .type = NLA_U32, },
	[PEP_A_FLOW_STATE] = NLA_POLICY_MAX(NLA_U32, 3),
	[PEP_A_FLOW_SUBSCRIBER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_FLOW_SUBSCRIBER_PORT] = { .type = NLA_U16, },
	[PEP_A_FLOW_SERVER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_FLOW_SERVER_PORT] = { .type = NLA_U16, },
	[PEP_A_FLOW_PROFILE] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_FLOW_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[PEP_A_FLOW_SUBSCRIBER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
	[PEP_A_FLOW_SERVER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
	[PEP_A_FLOW_OLDER_MS] = { .type = NLA_UINT, },
	[PEP_A_FLOW_BYTES_MIN] = { .type = NLA_UINT, },
};

/* PEP_CMD_FLOW_KILL - do */
static const struct nla_policy pep_flow_kill_nl_policy[PEP_A_FLOW_BYTES_MIN + 1] = {
	[PEP_A_FLOW_ID] = { .type = NLA_U32, },
	[PEP_A_FLOW_STATE] = NLA_POLICY_MAX(NLA_U32, 3),
	[PEP_A_FLOW_SUBSCRIBER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_FLOW_SUBSCRIBER_PORT] = { .type = NLA_U16, },
	[PEP_A_FLOW_SERVER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_FLOW_SERVER_PORT] = { .type = NLA_U16, },
	[PEP_A_FLOW_PROFILE] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_FLOW_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[PEP_A_FLOW_SUBSCRIBER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
	[PEP_A_FLOW_SERVER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
	[PEP_A_FLOW_OLDER_MS] = { .type = NLA_UINT, },
	[PEP_A_FLOW_BYTES_MIN] = { .type = NLA_UINT, },
};

/* PEP_CMD_LIMIT_SET - do */
static const struct nla_policy pep_limit_set_nl_policy[PEP_A_LIMIT_CONNECTIONS + 1] = {
	[PEP_A_LIMIT_FLOWS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_flows_range),
	[PEP_A_LIMIT_PENDING] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_pending_range),
	[PEP_A_LIMIT_DRAIN] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_LIMIT_PREFIX4] = NLA_POLICY_RANGE(NLA_U32, 8, 32),
	[PEP_A_LIMIT_PREFIX6] = NLA_POLICY_RANGE(NLA_U32, 16, 128),
	[PEP_A_LIMIT_SUBSCRIBER_CONNECTIONS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_subscriber_connections_range),
	[PEP_A_LIMIT_SUBSCRIBER_FLOWS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_subscriber_flows_range),
	[PEP_A_LIMIT_SUBSCRIBER_RATE] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_subscriber_rate_range),
	[PEP_A_LIMIT_SUBSCRIBER_MEMORY] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_subscriber_memory_range),
	[PEP_A_LIMIT_CONNECTIONS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_connections_range),
};

/* PEP_CMD_PROFILE_REPLACE - do */
static const struct nla_policy pep_profile_replace_nl_policy[PEP_A_PROFILE_CONTROL_BY + 1] = {
	[PEP_A_PROFILE_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_CC_WIRELESS] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_CC_SERVER] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_CONNECT_MODE] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_MPTCP] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_SOURCE] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_SERVER_DEV] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_PROFILE_MARK] = { .type = NLA_U32, },
	[PEP_A_PROFILE_DSCP] = { .type = NLA_U32, },
	[PEP_A_PROFILE_KEEPALIVE_IDLE] = { .type = NLA_U32, },
	[PEP_A_PROFILE_KEEPALIVE_INTERVAL] = { .type = NLA_U32, },
	[PEP_A_PROFILE_KEEPALIVE_COUNT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_USER_TIMEOUT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_IDLE_TIMEOUT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_RESIDENCE] = { .type = NLA_U32, },
	[PEP_A_PROFILE_WIRELESS_SNDBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_WIRELESS_RCVBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_SERVER_SNDBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_SERVER_RCVBUF] = { .type = NLA_U32, },
	[PEP_A_PROFILE_WIRELESS_MAX_RATE] = { .type = NLA_UINT, },
	[PEP_A_PROFILE_SERVER_MAX_RATE] = { .type = NLA_UINT, },
	[PEP_A_PROFILE_MAX_FLOWS] = { .type = NLA_U32, },
	[PEP_A_PROFILE_SPLIT_TRIGGER] = NLA_POLICY_MASK(NLA_U32, 0x7),
	[PEP_A_PROFILE_SPLIT_BYTES] = { .type = NLA_U32, },
	[PEP_A_PROFILE_RELEASE_IDLE] = { .type = NLA_U32, },
	[PEP_A_PROFILE_INITIAL_WINDOW] = { .type = NLA_U32, },
	[PEP_A_PROFILE_RESUME] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_PROFILE_RESUME_MAX] = { .type = NLA_U32, },
	[PEP_A_PROFILE_LINK_RATE] = { .type = NLA_UINT, },
	[PEP_A_PROFILE_LINK_RTT] = { .type = NLA_U32, },
	[PEP_A_PROFILE_CONTROL] = { .type = NLA_U32, },
	[PEP_A_PROFILE_CONTROL_BY] = NLA_POLICY_MAX(NLA_U32, 1),
};

/* PEP_CMD_LIMIT_REPLACE - do */
static const struct nla_policy pep_limit_replace_nl_policy[PEP_A_LIMIT_CONNECTIONS + 1] = {
	[PEP_A_LIMIT_FLOWS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_flows_range),
	[PEP_A_LIMIT_PENDING] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_pending_range),
	[PEP_A_LIMIT_PREFIX4] = NLA_POLICY_RANGE(NLA_U32, 8, 32),
	[PEP_A_LIMIT_PREFIX6] = NLA_POLICY_RANGE(NLA_U32, 16, 128),
	[PEP_A_LIMIT_SUBSCRIBER_CONNECTIONS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_subscriber_connections_range),
	[PEP_A_LIMIT_SUBSCRIBER_FLOWS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_subscriber_flows_range),
	[PEP_A_LIMIT_SUBSCRIBER_RATE] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_subscriber_rate_range),
	[PEP_A_LIMIT_SUBSCRIBER_MEMORY] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_subscriber_memory_range),
	[PEP_A_LIMIT_CONNECTIONS] = NLA_POLICY_FULL_RANGE(NLA_U32, &pep_a_limit_connections_range),
};

/* PEP_CMD_FLOW_RELEASE - do */
static const struct nla_policy pep_flow_release_nl_policy[PEP_A_FLOW_BYTES_MIN + 1] = {
	[PEP_A_FLOW_ID] = { .type = NLA_U32, },
	[PEP_A_FLOW_STATE] = NLA_POLICY_MAX(NLA_U32, 3),
	[PEP_A_FLOW_SUBSCRIBER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_FLOW_SUBSCRIBER_PORT] = { .type = NLA_U16, },
	[PEP_A_FLOW_SERVER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_FLOW_SERVER_PORT] = { .type = NLA_U16, },
	[PEP_A_FLOW_PROFILE] = { .type = NLA_NUL_STRING, .len = 15, },
	[PEP_A_FLOW_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[PEP_A_FLOW_SUBSCRIBER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
	[PEP_A_FLOW_SERVER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
	[PEP_A_FLOW_OLDER_MS] = { .type = NLA_UINT, },
	[PEP_A_FLOW_BYTES_MIN] = { .type = NLA_UINT, },
};

/* PEP_CMD_CONN_GET - dump */
static const struct nla_policy pep_conn_get_nl_policy[PEP_A_CONN_BYTES_MIN + 1] = {
	[PEP_A_CONN_STAGE] = NLA_POLICY_MAX(NLA_U32, 5),
	[PEP_A_CONN_OPENER] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_CONN_SUBSCRIBER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_CONN_SUBSCRIBER_PORT] = { .type = NLA_U16, },
	[PEP_A_CONN_SERVER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_CONN_SERVER_PORT] = { .type = NLA_U16, },
	[PEP_A_CONN_SUBSCRIBER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
	[PEP_A_CONN_SERVER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
	[PEP_A_CONN_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[PEP_A_CONN_OLDER_MS] = { .type = NLA_UINT, },
	[PEP_A_CONN_BYTES_MIN] = { .type = NLA_UINT, },
};

/* PEP_CMD_FLOW_EXPORT - dump */
static const struct nla_policy pep_flow_export_nl_policy[PEP_A_CONN_BYTES_MIN + 1] = {
	[PEP_A_CONN_STAGE] = NLA_POLICY_MAX(NLA_U32, 5),
	[PEP_A_CONN_OPENER] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_CONN_SUBSCRIBER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_CONN_SUBSCRIBER_PORT] = { .type = NLA_U16, },
	[PEP_A_CONN_SERVER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_CONN_SERVER_PORT] = { .type = NLA_U16, },
	[PEP_A_CONN_SUBSCRIBER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
	[PEP_A_CONN_SERVER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
	[PEP_A_CONN_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[PEP_A_CONN_OLDER_MS] = { .type = NLA_UINT, },
	[PEP_A_CONN_BYTES_MIN] = { .type = NLA_UINT, },
};

/* PEP_CMD_FLOW_IMPORT - do */
static const struct nla_policy pep_flow_import_nl_policy[PEP_A_CONN_VRF + 1] = {
	[PEP_A_CONN_STAGE] = NLA_POLICY_MAX(NLA_U32, 5),
	[PEP_A_CONN_OPENER] = NLA_POLICY_MAX(NLA_U32, 1),
	[PEP_A_CONN_FAMILY] = { .type = NLA_U32, },
	[PEP_A_CONN_SUBSCRIBER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_CONN_SUBSCRIBER_PORT] = { .type = NLA_U16, },
	[PEP_A_CONN_SERVER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_CONN_SERVER_PORT] = { .type = NLA_U16, },
	[PEP_A_CONN_AGE_MS] = { .type = NLA_UINT, },
	[PEP_A_CONN_IDLE_MS] = { .type = NLA_U32, },
	[PEP_A_CONN_WIRELESS] = NLA_POLICY_NESTED(pep_end_nl_policy),
	[PEP_A_CONN_SERVER] = NLA_POLICY_NESTED(pep_end_nl_policy),
	[PEP_A_CONN_ISN] = { .type = NLA_U32, },
	[PEP_A_CONN_VRF] = { .type = NLA_NUL_STRING, .len = 15, },
};

/* PEP_CMD_PATH_GET - dump */
static const struct nla_policy pep_path_get_nl_policy[PEP_A_PATH_SUBSCRIBER_PREFIX + 1] = {
	[PEP_A_PATH_SUBSCRIBER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_PATH_SUBSCRIBER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
};

/* PEP_CMD_PATH_FLUSH - do */
static const struct nla_policy pep_path_flush_nl_policy[PEP_A_PATH_SUBSCRIBER_PREFIX + 1] = {
	[PEP_A_PATH_SUBSCRIBER_ADDR] = { .type = NLA_BINARY, },
	[PEP_A_PATH_SUBSCRIBER_PREFIX] = NLA_POLICY_MAX(NLA_U32, 128),
};

/* PEP_CMD_GAIN_GET - dump */
static const struct nla_policy pep_gain_get_nl_policy[PEP_A_GAIN_PROFILE + 1] = {
	[PEP_A_GAIN_PROFILE] = { .type = NLA_NUL_STRING, .len = 15, },
};

/* Ops table for pep */
static const struct genl_split_ops pep_nl_ops[] = {
	{
		.cmd		= PEP_CMD_PROFILE_GET,
		.doit		= pep_nl_profile_get_doit,
		.policy		= pep_profile_get_nl_policy,
		.maxattr	= PEP_A_PROFILE_NAME,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= PEP_CMD_PROFILE_GET,
		.dumpit	= pep_nl_profile_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= PEP_CMD_PROFILE_ADD,
		.doit		= pep_nl_profile_add_doit,
		.policy		= pep_profile_add_nl_policy,
		.maxattr	= PEP_A_PROFILE_CONTROL_BY,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_PROFILE_SET,
		.doit		= pep_nl_profile_set_doit,
		.policy		= pep_profile_set_nl_policy,
		.maxattr	= PEP_A_PROFILE_CONTROL_BY,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_PROFILE_DEL,
		.doit		= pep_nl_profile_del_doit,
		.policy		= pep_profile_del_nl_policy,
		.maxattr	= PEP_A_PROFILE_NAME,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_FLOW_GET,
		.doit		= pep_nl_flow_get_doit,
		.policy		= pep_flow_get_do_nl_policy,
		.maxattr	= PEP_A_FLOW_ID,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_FLOW_GET,
		.dumpit		= pep_nl_flow_get_dumpit,
		.policy		= pep_flow_get_dump_nl_policy,
		.maxattr	= PEP_A_FLOW_BYTES_MIN,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= PEP_CMD_FLOW_KILL,
		.doit		= pep_nl_flow_kill_doit,
		.policy		= pep_flow_kill_nl_policy,
		.maxattr	= PEP_A_FLOW_BYTES_MIN,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= PEP_CMD_LIMIT_GET,
		.doit	= pep_nl_limit_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_LIMIT_SET,
		.doit		= pep_nl_limit_set_doit,
		.policy		= pep_limit_set_nl_policy,
		.maxattr	= PEP_A_LIMIT_CONNECTIONS,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= PEP_CMD_STAT_GET,
		.doit	= pep_nl_stat_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= PEP_CMD_STAT_GET,
		.dumpit	= pep_nl_stat_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= PEP_CMD_RESIDENCE_GET,
		.doit	= pep_nl_residence_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_PROFILE_REPLACE,
		.doit		= pep_nl_profile_replace_doit,
		.policy		= pep_profile_replace_nl_policy,
		.maxattr	= PEP_A_PROFILE_CONTROL_BY,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_LIMIT_REPLACE,
		.doit		= pep_nl_limit_replace_doit,
		.policy		= pep_limit_replace_nl_policy,
		.maxattr	= PEP_A_LIMIT_CONNECTIONS,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_FLOW_RELEASE,
		.doit		= pep_nl_flow_release_doit,
		.policy		= pep_flow_release_nl_policy,
		.maxattr	= PEP_A_FLOW_BYTES_MIN,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_CONN_GET,
		.start		= pep_nl_conn_get_start,
		.dumpit		= pep_nl_conn_get_dumpit,
		.done		= pep_nl_conn_get_done,
		.policy		= pep_conn_get_nl_policy,
		.maxattr	= PEP_A_CONN_BYTES_MIN,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= PEP_CMD_FLOW_EXPORT,
		.start		= pep_nl_conn_get_start,
		.dumpit		= pep_nl_flow_export_dumpit,
		.done		= pep_nl_conn_get_done,
		.policy		= pep_flow_export_nl_policy,
		.maxattr	= PEP_A_CONN_BYTES_MIN,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= PEP_CMD_FLOW_IMPORT,
		.doit		= pep_nl_flow_import_doit,
		.policy		= pep_flow_import_nl_policy,
		.maxattr	= PEP_A_CONN_VRF,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_PATH_GET,
		.start		= pep_nl_path_get_start,
		.dumpit		= pep_nl_path_get_dumpit,
		.done		= pep_nl_path_get_done,
		.policy		= pep_path_get_nl_policy,
		.maxattr	= PEP_A_PATH_SUBSCRIBER_PREFIX,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= PEP_CMD_PATH_FLUSH,
		.doit		= pep_nl_path_flush_doit,
		.policy		= pep_path_flush_nl_policy,
		.maxattr	= PEP_A_PATH_SUBSCRIBER_PREFIX,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= PEP_CMD_PATH_STAT_GET,
		.doit	= pep_nl_path_stat_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= PEP_CMD_GAIN_GET,
		.dumpit		= pep_nl_gain_get_dumpit,
		.policy		= pep_gain_get_nl_policy,
		.maxattr	= PEP_A_GAIN_PROFILE,
		.flags		= GENL_CMD_CAP_DUMP,
	},
};

static const struct genl_multicast_group pep_nl_mcgrps[] = {
	[PEP_NLGRP_FLOWS] = { "flows", GENL_MCAST_CAP_NET_ADMIN, },
	[PEP_NLGRP_CONNS] = { "conns", GENL_MCAST_CAP_NET_ADMIN, },
};

struct genl_family pep_nl_family __ro_after_init = {
	.name		= PEP_FAMILY_NAME,
	.version	= PEP_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= pep_nl_ops,
	.n_split_ops	= ARRAY_SIZE(pep_nl_ops),
	.mcgrps		= pep_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(pep_nl_mcgrps),
};
