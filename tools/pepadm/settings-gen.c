// SPDX-License-Identifier: GPL-2.0
/* Made by scripts/gen-settings.py from the spec and settings.yaml. */
#include "setting.h"

#include <linux/pep.h>

#include "names-gen.h"
#include "split.h"

static const char * const words_dscp[] = {
	[PEP_DSCP_COPY] = "copy",
};

static const char * const words_link_rate[] = {
	[0] = "auto",
};

static const char * const words_link_rtt[] = {
	[0] = "auto",
};

static const char * const words_wireless_sndbuf[] = {
	[0] = "auto",
};

static const char * const words_wireless_max_rate[] = {
	[0] = "unlimited",
};

static const char * const words_control[] = {
	[0] = "off",
};

static const char * const words_max_flows[] = {
	[0] = "unlimited",
};

const struct pep_setting pep_settings[PEP_SETTINGS] = {
	{
		.attr = PEP_A_PROFILE_CC_WIRELESS,
		.option = {
			.word = "cc-wireless",
			.check = pep_args_check_name,
		},
		.key = "cc_wireless",
	},
	{
		.attr = PEP_A_PROFILE_CC_SERVER,
		.option = {
			.word = "cc-server",
			.check = pep_args_check_name,
		},
		.key = "cc_server",
	},
	{
		.attr = PEP_A_PROFILE_CONNECT_MODE,
		.option = {
			.word = "connect",
			.choices = names_connect_mode,
			.n_choices = ARRAY_SIZE(names_connect_mode),
			.gone = "truthful",
			.instead = "follow",
		},
		.key = "connect",
	},
	{
		.attr = PEP_A_PROFILE_SPLIT_TRIGGER,
		.option = {
			.word = "split",
			.check = pep_split_check,
		},
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_MPTCP,
		.option = {
			.word = "mptcp",
			.choices = names_mptcp_mode,
			.n_choices = ARRAY_SIZE(names_mptcp_mode),
		},
		.key = "mptcp",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_SOURCE,
		.option = {
			.word = "source",
			.choices = names_source_mode,
			.n_choices = ARRAY_SIZE(names_source_mode),
		},
		.key = "source",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_SERVER_DEV,
		.option = {
			.word = "server-dev",
			.check = pep_args_check_name,
		},
		.key = "server_dev",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_MARK,
		.option = {
			.word = "mark",
			.numeric = true,
			.max = 4294967295,
		},
		.key = "mark",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_DSCP,
		.option = {
			.word = "dscp",
			.choices = words_dscp,
			.n_choices = ARRAY_SIZE(words_dscp),
			.numeric = true,
			.max = 63,
		},
		.key = "dscp",
		.rare = true,
		.usual = PEP_DSCP_COPY,
	},
	{
		.attr = PEP_A_PROFILE_KEEPALIVE_IDLE,
		.option = {
			.word = "keepalive-idle",
			.numeric = true,
			.max = PEP_KEEPALIVE_TIME_MAX,
		},
		.key = "keepalive_idle",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_KEEPALIVE_INTERVAL,
		.option = {
			.word = "keepalive-interval",
			.numeric = true,
			.max = PEP_KEEPALIVE_TIME_MAX,
		},
		.key = "keepalive_interval",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_KEEPALIVE_COUNT,
		.option = {
			.word = "keepalive-count",
			.numeric = true,
			.max = PEP_KEEPALIVE_COUNT_MAX,
		},
		.key = "keepalive_count",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_USER_TIMEOUT,
		.option = {
			.word = "user-timeout",
			.numeric = true,
			.max = PEP_USER_TIMEOUT_MAX,
		},
		.key = "user_timeout",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_IDLE_TIMEOUT,
		.option = {
			.word = "idle-timeout",
			.numeric = true,
			.max = PEP_IDLE_TIMEOUT_MAX,
		},
		.key = "idle_timeout",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_RELEASE_IDLE,
		.option = {
			.word = "release-idle",
			.numeric = true,
			.max = PEP_RELEASE_IDLE_MAX,
		},
		.key = "release_idle",
		.rare = true,
		.usual = PEP_RELEASE_IDLE_DEFAULT,
	},
	{
		.attr = PEP_A_PROFILE_RESIDENCE,
		.option = {
			.word = "residence",
			.numeric = true,
			.max = PEP_RESIDENCE_MAX,
		},
		.key = "residence",
	},
	{
		.attr = PEP_A_PROFILE_INITIAL_WINDOW,
		.option = {
			.word = "initial-window",
			.numeric = true,
			.max = PEP_INITIAL_WINDOW_MAX,
		},
		.key = "initial_window",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_RESUME,
		.option = {
			.word = "resume",
			.choices = names_resume_mode,
			.n_choices = ARRAY_SIZE(names_resume_mode),
		},
		.key = "resume",
		.rare = true,
		.usual = PEP_RESUME_MODE_ON,
	},
	{
		.attr = PEP_A_PROFILE_RESUME_MAX,
		.option = {
			.word = "resume-max",
			.numeric = true,
			.min = PEP_RESUME_MAX_MIN,
			.max = PEP_RESUME_MAX_MAX,
		},
		.key = "resume_max",
		.rare = true,
		.usual = PEP_RESUME_MAX_DEFAULT,
	},
	{
		.attr = PEP_A_PROFILE_LINK_RATE,
		.option = {
			.word = "link-rate",
			.choices = words_link_rate,
			.n_choices = ARRAY_SIZE(words_link_rate),
			.numeric = true,
			.rate = true,
			.min = PEP_RATE_MIN,
			.max = PEP_RATE_MAX,
		},
		.key = "link_rate",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_LINK_RTT,
		.option = {
			.word = "link-rtt",
			.choices = words_link_rtt,
			.n_choices = ARRAY_SIZE(words_link_rtt),
			.numeric = true,
			.min = 1,
			.max = PEP_LINK_RTT_MAX,
		},
		.key = "link_rtt",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_WIRELESS_SNDBUF,
		.option = {
			.word = "wireless-sndbuf",
			.choices = words_wireless_sndbuf,
			.n_choices = ARRAY_SIZE(words_wireless_sndbuf),
			.numeric = true,
			.min = PEP_BUFFER_MIN,
			.max = PEP_BUFFER_MAX,
		},
		.key = "wireless_sndbuf",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_WIRELESS_RCVBUF,
		.option = {
			.word = "wireless-rcvbuf",
			.choices = words_wireless_sndbuf,
			.n_choices = ARRAY_SIZE(words_wireless_sndbuf),
			.numeric = true,
			.min = PEP_BUFFER_MIN,
			.max = PEP_BUFFER_MAX,
		},
		.key = "wireless_rcvbuf",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_SERVER_SNDBUF,
		.option = {
			.word = "server-sndbuf",
			.choices = words_wireless_sndbuf,
			.n_choices = ARRAY_SIZE(words_wireless_sndbuf),
			.numeric = true,
			.min = PEP_BUFFER_MIN,
			.max = PEP_BUFFER_MAX,
		},
		.key = "server_sndbuf",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_SERVER_RCVBUF,
		.option = {
			.word = "server-rcvbuf",
			.choices = words_wireless_sndbuf,
			.n_choices = ARRAY_SIZE(words_wireless_sndbuf),
			.numeric = true,
			.min = PEP_BUFFER_MIN,
			.max = PEP_BUFFER_MAX,
		},
		.key = "server_rcvbuf",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_WIRELESS_MAX_RATE,
		.option = {
			.word = "wireless-max-rate",
			.choices = words_wireless_max_rate,
			.n_choices = ARRAY_SIZE(words_wireless_max_rate),
			.numeric = true,
			.rate = true,
			.min = PEP_RATE_MIN,
			.max = PEP_RATE_MAX,
		},
		.key = "wireless_max_rate",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_SERVER_MAX_RATE,
		.option = {
			.word = "server-max-rate",
			.choices = words_wireless_max_rate,
			.n_choices = ARRAY_SIZE(words_wireless_max_rate),
			.numeric = true,
			.rate = true,
			.min = PEP_RATE_MIN,
			.max = PEP_RATE_MAX,
		},
		.key = "server_max_rate",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_CONTROL,
		.option = {
			.word = "control",
			.choices = words_control,
			.n_choices = ARRAY_SIZE(words_control),
			.numeric = true,
			.percent = true,
			.min = 1,
			.max = PEP_CONTROL_MAX,
		},
		.key = "control",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_CONTROL_BY,
		.option = {
			.word = "control-by",
			.choices = names_control_by,
			.n_choices = ARRAY_SIZE(names_control_by),
		},
		.key = "control_by",
		.rare = true,
	},
	{
		.attr = PEP_A_PROFILE_MAX_FLOWS,
		.option = {
			.word = "max-flows",
			.choices = words_max_flows,
			.n_choices = ARRAY_SIZE(words_max_flows),
			.numeric = true,
			.min = 1,
			.max = PEP_FLOWS_MAX,
		},
		.key = "max_flows",
		.rare = true,
	},
};
