// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family, the part about control groups: a dump of the times and
 * bytes of each profile's groups of connections. Any user may request it: it holds
 * nothing about single connections.
 */

#include "netlink-gen.h"

#include <linux/string.h>
#include <linux/unaligned.h>
#include <net/genetlink.h>

#include "gain.h"
#include "net.h"
#include "profile.h"
#include "reply.h"

/* Messages of a group: one for all its connections, and one for each size. */
#define PEP_GAINS_PARTS		(1 + PEP_GAIN_SIZES)

/* Messages of a profile. */
#define PEP_GAINS_MESSAGES	(2 * PEP_GAINS_PARTS)

static int pep_gains_put_times(struct sk_buff *skb,
			       const struct pep_gain_times *times)
{
	struct nlattr *nla;
	unsigned int i;
	u64 *to;

	if (nla_put_uint(skb, PEP_A_GAIN_TIME_US, atomic64_read(&times->time)) ||
	    nla_put_uint(skb, PEP_A_GAIN_SQUARES,
			 atomic64_read(&times->squares)))
		return -EMSGSIZE;
	nla = nla_reserve(skb, PEP_A_GAIN_BINS, sizeof(u64) * PEP_GAIN_BINS);
	if (!nla)
		return -EMSGSIZE;
	to = nla_data(nla);
	for (i = 0; i < PEP_GAIN_BINS; i++)
		put_unaligned((u64)atomic64_read(&times->count[i]), &to[i]);
	return 0;
}

/* Add the objects of a size; -ENODATA when there were none. */
static int pep_gains_put_size(struct sk_buff *skb,
			      const struct pep_gain_times *size, u32 class)
{
	u64 conns = atomic64_read(&size->conns);

	if (!conns)
		return -ENODATA;
	if (nla_put_u32(skb, PEP_A_GAIN_SIZE, class) ||
	    nla_put_uint(skb, PEP_A_GAIN_CONNECTIONS, conns) ||
	    nla_put_uint(skb, PEP_A_GAIN_BYTES, atomic64_read(&size->bytes)))
		return -EMSGSIZE;
	return pep_gains_put_times(skb, size);
}

static int pep_gains_put_group(struct sk_buff *skb,
			       const struct pep_gain_conns *group)
{
	if (nla_put_uint(skb, PEP_A_GAIN_CONNECTIONS,
			 atomic64_read(&group->conns)) ||
	    nla_put_uint(skb, PEP_A_GAIN_CUT, atomic64_read(&group->cut)) ||
	    nla_put_uint(skb, PEP_A_GAIN_BYTES, atomic64_read(&group->bytes)) ||
	    nla_put_uint(skb, PEP_A_GAIN_BYTES_AGAIN,
			 atomic64_read(&group->again)) ||
	    nla_put_uint(skb, PEP_A_GAIN_DELAY_CONNECTIONS,
			 atomic64_read(&group->delay.conns)))
		return -EMSGSIZE;
	return pep_gains_put_times(skb, &group->delay);
}

/* Fill a message; -ENODATA when there is nothing to report in it. */
static int pep_gains_fill(struct sk_buff *skb, const char *profile,
			  const struct pep_gain *gain, unsigned int message)
{
	unsigned int which = message / PEP_GAINS_PARTS;
	unsigned int part = message % PEP_GAINS_PARTS;
	u32 age = (u32)ktime_get_seconds() - gain->since;

	if (nla_put_string(skb, PEP_A_GAIN_PROFILE, profile) ||
	    nla_put_u32(skb, PEP_A_GAIN_CONTROL, gain->share) ||
	    nla_put_u32(skb, PEP_A_GAIN_CONTROL_BY, gain->by) ||
	    nla_put_uint(skb, PEP_A_GAIN_SINCE_MS, age * 1000ULL) ||
	    nla_put_u32(skb, PEP_A_GAIN_GROUP, which))
		return -EMSGSIZE;
	if (!part)
		return pep_gains_put_group(skb, &gain->group[which]);
	return pep_gains_put_size(skb, &gain->group[which].size[part - 1],
				  part - 1);
}

/* Find the profile at a place of the list, and its comparison if @name matches;
 * pep_net.lock held. NULL at the end of the list; *gain is NULL without a comparison.
 */
static const struct pep_profile *pep_gains_at(struct pep_net *pn, long place,
					      const struct nlattr *name,
					      struct pep_gain **gain)
{
	struct pep_profile *profile;

	list_for_each_entry(profile, &pn->profiles, node) {
		if (place--)
			continue;
		*gain = rcu_dereference_protected(profile->tally->gain,
						  lockdep_is_held(&pn->lock));
		if (name && nla_strcmp(name, profile->name))
			*gain = NULL;
		return profile;
	}
	return NULL;
}

/**
 * pep_nl_gain_get_dumpit() - dump the comparisons of profiles' connections
 * @skb: message to fill
 * @cb: state of the dump; args[0] is the place in the list of the profile to continue
 *	with, and args[1] the number of its next message
 *
 * The dump is no snapshot while connections end.
 *
 * Context: may sleep.
 * Return: length or a negative error.
 */
int pep_nl_gain_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	const struct nlattr *name = info->attrs[PEP_A_GAIN_PROFILE];
	struct pep_net *pn = pep_net(genl_info_net(info));
	const struct pep_profile *profile;
	struct pep_gain *gain;
	int err = 0;
	void *hdr;

	mutex_lock(&pn->lock);
	cb->seq = pn->profiles_seq;
	while (!err && (profile = pep_gains_at(pn, cb->args[0], name, &gain))) {
		if (!gain || cb->args[1] == PEP_GAINS_MESSAGES) {
			cb->args[0]++;
			cb->args[1] = 0;
			continue;
		}
		hdr = pep_reply_part(skb, info);
		if (hdr)
			genl_dump_check_consistent(cb, hdr);
		err = hdr ? pep_gains_fill(skb, profile->name, gain,
					   cb->args[1]) : -EMSGSIZE;
		pep_reply_part_end(skb, hdr, err);
		if (err != -EMSGSIZE) {
			cb->args[1]++;
			err = 0;
		}
	}
	mutex_unlock(&pn->lock);
	return err && skb->len ? skb->len : err;
}
