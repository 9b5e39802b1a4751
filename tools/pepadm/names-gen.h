/* SPDX-License-Identifier: GPL-2.0 */
/* Made by scripts/gen-names.py from the netlink spec. */
#ifndef _PEPADM_NAMES_GEN_H
#define _PEPADM_NAMES_GEN_H

static const char * const names_side[] = {
	[0] = "wireless",
	[1] = "server",
};

static const char * const names_connect_mode[] = {
	[0] = "truthful",
	[1] = "early",
};

static const char * const names_mptcp_mode[] = {
	[0] = "bypass",
	[1] = "split",
};

static const char * const names_source_mode[] = {
	[0] = "client",
	[1] = "local",
};

static const char * const names_flow_state[] = {
	[0] = "connecting",
	[1] = "answered",
	[2] = "established",
	[3] = "closing",
	[4] = "dead",
};

static const char * const names_bypass_reason[] = {
	[0] = "unanswered",
	[1] = "asymmetric",
};

static const char * const names_stat[] = {
	[1] = "",
	[2] = "flows",
	[3] = "pending",
	[4] = "pool_sockets",
	[5] = "delivered",
	[6] = "held",
	[7] = "dropped",
	[8] = "pass_other",
	[9] = "pass_no_flow",
	[10] = "pass_foreign",
	[11] = "pass_malformed",
	[12] = "pass_fragment",
	[13] = "pass_exthdr",
	[14] = "pass_icmp",
	[15] = "pass_not_host",
	[16] = "pass_syn",
	[17] = "pass_mirror",
	[18] = "syn_split",
	[19] = "syn_duplicate",
	[20] = "syn_wait_socket",
	[21] = "syn_pass_local",
	[22] = "syn_pass_scope",
	[23] = "syn_pass_ip_option",
	[24] = "syn_pass_data",
	[25] = "syn_pass_md5",
	[26] = "syn_pass_ao",
	[27] = "syn_pass_mptcp",
	[28] = "syn_pass_fastopen",
	[29] = "syn_pass_option",
	[30] = "syn_pass_vrf",
	[31] = "syn_pass_remembered",
	[32] = "syn_pass_in_use",
	[33] = "syn_pass_connect",
	[34] = "syn_pass_no_memory",
	[35] = "syn_pass_no_socket",
	[36] = "syn_pass_no_listener",
	[37] = "syn_pass_stopping",
	[38] = "syn_pass_drain",
	[39] = "syn_pass_max_flows",
	[40] = "syn_pass_max_pending",
	[41] = "syn_pass_pressure",
	[42] = "syn_pass_bypass",
	[43] = "syn_pass_unanswered",
	[44] = "syn_released",
	[45] = "syn_cookie",
	[46] = "time_wait_reused",
	[47] = "flow_established",
	[48] = "connect_refused",
	[49] = "connect_unreachable",
	[50] = "connect_timeout",
	[51] = "connect_asymmetric",
	[52] = "connect_failed",
	[53] = "opener_lost",
	[54] = "accept_unpaired",
	[55] = "icmp_delivered",
	[56] = "flow_closed",
	[57] = "flow_reset",
	[58] = "flow_killed",
	[59] = "flow_idle",
	[60] = "bytes_to_wireless",
	[61] = "bytes_to_server",
	[62] = "bytes_fragment",
	[63] = "bytes_copied",
	[64] = "relay_send",
	[65] = "relay_stall",
	[66] = "relay_owned",
	[67] = "relay_no_memory",
	[68] = "reset_late",
	[69] = "pool_refill",
	[70] = "pool_empty",
	[71] = "fragment_gathered",
	[72] = "syn_pass_hops",
	[73] = "pass_quic",
};

#endif
