// SPDX-License-Identifier: GPL-2.0
/*
 * A profile's settings in netlink: the given ones are checked, one by one and
 * together, and every refusal names the attribute and its valid values.
 */

#include "setting.h"

#include <linux/netdevice.h>
#include <net/tcp.h>

#include "gen.h"
#include "settings-gen.h"

/*
 * The ranges are those of settings.yaml, from which pepadm takes them. Residence:
 * ten seconds, longer than any path has to be filled. Buffers: a page, and half
 * of the largest window that TCP can offer. Rates: a packet takes a second or
 * two, or 1 Tbit/s. Flows: as many as a namespace may have at most. Bytes
 * before a split: more than the first windows of any path. An idle time is
 * longer than any of TCP's own timers runs; TCP's limits bind the ranges below.
 */
static_assert(PEP_KEEPALIVE_TIME_MAX <= MAX_TCP_KEEPIDLE);
static_assert(PEP_KEEPALIVE_TIME_MAX <= MAX_TCP_KEEPINTVL);
static_assert(PEP_KEEPALIVE_COUNT_MAX <= MAX_TCP_KEEPCNT);
static_assert(PEP_USER_TIMEOUT_MAX <= INT_MAX);

/**
 * struct pep_setting - a setting that is a number
 * @attr: its attribute, PEP_A_PROFILE_*
 * @offset: where it is in struct pep_values, bytes
 * @size: how long it is there, 4 or 8 bytes
 * @live: it can be changed in flows that are up
 * @nonzero: 0 is out of range
 * @min: smallest value but for 0
 * @max: largest value
 * @text: its name and its range, for the error message
 */
struct pep_setting {
	u16 attr;
	u16 offset;
	u16 size;
	bool live;
	bool nonzero;
	u64 min;
	u64 max;
	const char *text;
};

static const struct pep_setting pep_settings[] = {
	PEP_SETTINGS_NUMBERS
};

static u64 pep_setting_get(const struct pep_setting *setting,
			   const struct pep_values *values)
{
	const void *at = (const void *)values + setting->offset;

	return setting->size == sizeof(u64) ? *(const u64 *)at :
					      *(const u32 *)at;
}

static void pep_setting_put(const struct pep_setting *setting,
			    struct pep_values *values, u64 value)
{
	void *at = (void *)values + setting->offset;

	if (setting->size == sizeof(u64))
		*(u64 *)at = value;
	else
		*(u32 *)at = value;
}

static bool pep_setting_in_range(const struct pep_setting *setting, u64 value)
{
	if (!value)
		return !setting->nonzero;
	return value >= setting->min && value <= setting->max;
}

static int pep_setting_parse_numbers(struct genl_info *info,
				     struct pep_values *values)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pep_settings); i++) {
		const struct pep_setting *setting = &pep_settings[i];
		struct nlattr *attr = info->attrs[setting->attr];
		u64 value;

		if (!attr)
			continue;
		value = nla_get_uint(attr);
		if (!pep_setting_in_range(setting, value)) {
			NL_SET_BAD_ATTR(info->extack, attr);
			NL_SET_ERR_MSG_FMT_MOD(info->extack, "%s",
					       setting->text);
			return -ERANGE;
		}
		pep_setting_put(setting, values, value);
	}
	return 0;
}

static int pep_setting_parse_cc(struct pep_net *pn, struct genl_info *info,
				int attr, const char *what, char *cc)
{
	int err;

	if (!info->attrs[attr])
		return 0;
	strscpy_pad(cc, nla_data(info->attrs[attr]), PEP_NAME_LEN);
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
				 const char *known, struct pep_values *values)
{
	struct nlattr *attr = info->attrs[PEP_A_PROFILE_SERVER_DEV];

	if (!attr)
		return 0;
	strscpy_pad(values->server_dev, nla_data(attr));
	if (!*values->server_dev || pep_gen_server_ifindex(pn, values) > 0)
		return 0;
	if (known && !strcmp(values->server_dev, known))
		return 0;
	NL_SET_BAD_ATTR(info->extack, attr);
	NL_SET_ERR_MSG_FMT_MOD(info->extack,
			       "server-dev: no device \"%s\" here",
			       values->server_dev);
	return -ENODEV;
}

/* Check the source address of server legs against the connect mode. */
static int pep_setting_check_source(struct genl_info *info,
				    const struct pep_values *values)
{
	struct nlattr *attr = info->attrs[PEP_A_PROFILE_SOURCE];

	if (values->source != PEP_SOURCE_MODE_LOCAL ||
	    values->mode == PEP_CONNECT_MODE_EARLY)
		return 0;
	if (attr) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "source: local needs connect early, the ends have each other's addresses otherwise");
	} else {
		attr = info->attrs[PEP_A_PROFILE_CONNECT_MODE];
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "connect: source local needs connect early");
	}
	return -EINVAL;
}

/*
 * Check the triggers of a split together, and with its bytes. These have their
 * default while no trigger needs them, so that equal profiles have equal
 * settings.
 */
static int pep_setting_check_split(struct genl_info *info,
				   struct pep_values *values)
{
	struct nlattr *bytes = info->attrs[PEP_A_PROFILE_SPLIT_BYTES];

	if ((values->split_trigger & PEP_SPLIT_TRIGGER_HANDSHAKE) &&
	    values->split_trigger != PEP_SPLIT_TRIGGER_HANDSHAKE) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[PEP_A_PROFILE_SPLIT_TRIGGER],
				    "split: handshake, which comes first, goes with no other trigger");
		return -EINVAL;
	}
	if (values->split_trigger & PEP_SPLIT_TRIGGER_BYTES)
		return 0;
	if (bytes) {
		NL_SET_ERR_MSG_ATTR(info->extack, bytes,
				    "split-bytes: needs the trigger bytes");
		return -EINVAL;
	}
	values->split_bytes = PEP_SPLIT_BYTES_DEFAULT;
	return 0;
}

/* A leg cannot begin with a known round trip alone. */
static int pep_setting_check_link(struct genl_info *info,
				  const struct pep_values *values)
{
	struct nlattr *attr = info->attrs[PEP_A_PROFILE_LINK_RTT];

	if (!values->link_rtt || values->link_rate)
		return 0;
	if (attr)
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "link-rtt: needs link-rate");
	else
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[PEP_A_PROFILE_LINK_RATE],
				    "link-rate: link-rtt needs it");
	return -EINVAL;
}

/**
 * pep_setting_parse() - take over the settings of a request
 * @pn: instance
 * @info: the request
 * @known: name of a server device that need not exist, or NULL
 * @values: settings to change; undefined after an error
 *
 * Context: may sleep, pep_net.lock held.
 * Return: 0 or a negative error, which is explained to the sender.
 */
int pep_setting_parse(struct pep_net *pn, struct genl_info *info,
		      const char *known, struct pep_values *values)
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
		err = pep_setting_parse_dev(pn, info, known, values);
	if (!err)
		err = pep_setting_check_source(info, values);
	if (!err)
		err = pep_setting_check_link(info, values);
	return err ? err : pep_setting_check_split(info, values);
}

static int pep_setting_refuse(const struct genl_info *info, int attr,
			      const char *text)
{
	if (!info->attrs[attr])
		return 0;
	NL_SET_BAD_ATTR(info->extack, info->attrs[attr]);
	NL_SET_ERR_MSG_FMT_MOD(info->extack,
			       "%.*s: cannot be changed of live flows",
			       (int)(strchrnul(text, ':') - text), text);
	return -EOPNOTSUPP;
}

/**
 * pep_setting_live() - can all settings of a request be changed in live flows?
 * @info: the request
 *
 * Context: any.
 * Return: 0, or -EOPNOTSUPP, which is explained to the sender.
 */
int pep_setting_live(const struct genl_info *info)
{
	unsigned int i;
	int err;

	err = pep_setting_refuse(info, PEP_A_PROFILE_SERVER_DEV, "server-dev");
	for (i = 0; !err && i < ARRAY_SIZE(pep_settings); i++)
		if (!pep_settings[i].live)
			err = pep_setting_refuse(info, pep_settings[i].attr,
						 pep_settings[i].text);
	return err;
}

/**
 * pep_setting_copy() - take over those settings that a request names
 * @info: the request, with settings that can be changed in live flows
 * @from: settings
 * @to: settings that become like them
 *
 * Context: any.
 */
void pep_setting_copy(const struct genl_info *info,
		      const struct pep_values *from, struct pep_values *to)
{
	static const int cc[] = {
		[PEP_SIDE_WIRELESS] = PEP_A_PROFILE_CC_WIRELESS,
		[PEP_SIDE_SERVER] = PEP_A_PROFILE_CC_SERVER,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cc); i++)
		if (info->attrs[cc[i]])
			strscpy_pad(to->cc[i], from->cc[i]);
	for (i = 0; i < ARRAY_SIZE(pep_settings); i++)
		if (info->attrs[pep_settings[i].attr])
			pep_setting_put(&pep_settings[i], to,
					pep_setting_get(&pep_settings[i],
							from));
}

/**
 * pep_setting_fill() - add settings to a message
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

		/* Numbers that fit in 32 bits are sent as such. */
		if (nla_put_uint(skb, setting->attr,
				 pep_setting_get(setting, values)))
			return -EMSGSIZE;
	}
	return 0;
}
