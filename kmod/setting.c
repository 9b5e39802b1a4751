// SPDX-License-Identifier: GPL-2.0
/*
 * A profile's settings in netlink: what is given is checked, one by one and
 * together, and every refusal names the attribute and what it may be.
 */

#include "setting.h"

#include <linux/netdevice.h>
#include <net/tcp.h>

/* A week: longer than any of TCP's own timers runs. */
#define PEP_SETTING_MAX_IDLE	604800

/**
 * struct pep_setting - a setting that is a number
 * @attr: its attribute, PEP_A_PROFILE_*
 * @offset: where it is in struct pep_values, bytes
 * @max: largest value; the smallest is 0
 * @text: its name and its range, for who gave another value
 */
struct pep_setting {
	u16 attr;
	u16 offset;
	u32 max;
	const char *text;
};

#define PEP_SETTING(_attr, _member, _max, _text) {		\
	.attr = PEP_A_PROFILE_##_attr,				\
	.offset = offsetof(struct pep_values, _member),		\
	.max = _max,						\
	.text = _text,						\
}

static const struct pep_setting pep_settings[] = {
	PEP_SETTING(CONNECT_MODE, mode, PEP_CONNECT_MODE_EARLY,
		    "connect: 0 truthful or 1 early"),
	PEP_SETTING(MPTCP, mptcp, PEP_MPTCP_MODE_SPLIT,
		    "mptcp: 0 bypass or 1 split"),
	PEP_SETTING(SOURCE, source, PEP_SOURCE_MODE_LOCAL,
		    "source: 0 client or 1 local"),
	PEP_SETTING(MARK, mark, U32_MAX, "mark: 0 to 4294967295"),
	PEP_SETTING(DSCP, dscp, PEP_DSCP_COPY,
		    "dscp: 0 to 63, or 64 to copy"),
	PEP_SETTING(KEEPALIVE_IDLE, keepalive_idle, MAX_TCP_KEEPIDLE,
		    "keepalive-idle: 1 to 32767 seconds, or 0"),
	PEP_SETTING(KEEPALIVE_INTERVAL, keepalive_interval, MAX_TCP_KEEPINTVL,
		    "keepalive-interval: 1 to 32767 seconds, or 0"),
	PEP_SETTING(KEEPALIVE_COUNT, keepalive_count, MAX_TCP_KEEPCNT,
		    "keepalive-count: 1 to 127 probes, or 0"),
	PEP_SETTING(USER_TIMEOUT, user_timeout, INT_MAX,
		    "user-timeout: 1 to 2147483647 milliseconds, or 0"),
	PEP_SETTING(IDLE_TIMEOUT, idle_timeout, PEP_SETTING_MAX_IDLE,
		    "idle-timeout: 1 to 604800 seconds, or 0"),
};

static int pep_setting_parse_numbers(struct genl_info *info,
				     struct pep_values *values)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pep_settings); i++) {
		const struct pep_setting *setting = &pep_settings[i];
		struct nlattr *attr = info->attrs[setting->attr];

		if (!attr)
			continue;
		if (nla_get_u32(attr) > setting->max) {
			NL_SET_BAD_ATTR(info->extack, attr);
			NL_SET_ERR_MSG_FMT_MOD(info->extack, "%s",
					       setting->text);
			return -ERANGE;
		}
		*(u32 *)((void *)values + setting->offset) = nla_get_u32(attr);
	}
	return 0;
}

static int pep_setting_parse_cc(struct pep_net *pn, struct genl_info *info,
				int attr, const char *what, char *cc)
{
	int err;

	if (!info->attrs[attr])
		return 0;
	strscpy(cc, nla_data(info->attrs[attr]), PEP_NAME_LEN);
	err = pep_profile_check_cc(pn, cc);
	if (!err)
		return 0;
	NL_SET_BAD_ATTR(info->extack, info->attrs[attr]);
	if (err == -ENOENT)
		NL_SET_ERR_MSG_FMT_MOD(info->extack,
				       "%s: no congestion control \"%s\" here",
				       what, cc);
	else
		NL_SET_ERR_MSG_FMT_MOD(info->extack,
				       "%s: \"%s\" cannot be used, error %d",
				       what, cc, -err);
	return err;
}

static int pep_setting_parse_dev(struct pep_net *pn, struct genl_info *info,
				 struct pep_values *values)
{
	struct nlattr *attr = info->attrs[PEP_A_PROFILE_SERVER_DEV];

	if (!attr)
		return 0;
	strscpy(values->server_dev, nla_data(attr));
	if (!*values->server_dev || pep_profile_server_ifindex(pn, values) > 0)
		return 0;
	NL_SET_BAD_ATTR(info->extack, attr);
	NL_SET_ERR_MSG_FMT_MOD(info->extack,
			       "server-dev: no device \"%s\" here",
			       values->server_dev);
	return -ENODEV;
}

/* Settings that are right by themselves and not together. */
static int pep_setting_check(struct genl_info *info,
			     const struct pep_values *values)
{
	struct nlattr *attr = info->attrs[PEP_A_PROFILE_SOURCE];

	if (values->source != PEP_SOURCE_MODE_LOCAL ||
	    values->mode == PEP_CONNECT_MODE_EARLY)
		return 0;
	if (attr) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "source: local needs connect early, a refusal could not be shown to the opener otherwise");
	} else {
		attr = info->attrs[PEP_A_PROFILE_CONNECT_MODE];
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "connect: source local needs connect early");
	}
	return -EINVAL;
}

/**
 * pep_setting_parse() - take over what a request says
 * @pn: instance
 * @info: the request
 * @values: what it changes; undefined after an error
 *
 * Context: may sleep, pep_net.lock held.
 * Return: 0 or a negative error, which is explained to the sender.
 */
int pep_setting_parse(struct pep_net *pn, struct genl_info *info,
		      struct pep_values *values)
{
	int err;

	err = pep_setting_parse_numbers(info, values);
	if (!err)
		err = pep_setting_parse_cc(pn, info, PEP_A_PROFILE_CC_WIRELESS,
					   "cc-wireless",
					   values->cc[PEP_SIDE_WIRELESS]);
	if (!err)
		err = pep_setting_parse_cc(pn, info, PEP_A_PROFILE_CC_SERVER,
					   "cc-server",
					   values->cc[PEP_SIDE_SERVER]);
	if (!err)
		err = pep_setting_parse_dev(pn, info, values);
	return err ? err : pep_setting_check(info, values);
}

/**
 * pep_setting_fill() - tell settings
 * @skb: message that they are added to
 * @values: settings
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE.
 */
int pep_setting_fill(struct sk_buff *skb, const struct pep_values *values)
{
	unsigned int i;

	if (nla_put_string(skb, PEP_A_PROFILE_CC_WIRELESS,
			   values->cc[PEP_SIDE_WIRELESS]) ||
	    nla_put_string(skb, PEP_A_PROFILE_CC_SERVER,
			   values->cc[PEP_SIDE_SERVER]) ||
	    nla_put_string(skb, PEP_A_PROFILE_SERVER_DEV, values->server_dev))
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(pep_settings); i++) {
		const struct pep_setting *setting = &pep_settings[i];

		if (nla_put_u32(skb, setting->attr,
				*(u32 *)((void *)values + setting->offset)))
			return -EMSGSIZE;
	}
	return 0;
}
