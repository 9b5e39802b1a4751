// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family, the part about the known properties of subscribers'
 * links: a dump of them, the distribution of subscribers by them, and a flush.
 */

#include "compat.h"
#include "netlink-gen.h"

#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "filter.h"
#include "learn.h"
#include "net.h"
#include "path.h"
#include "reply.h"
#include "share.h"

/* End of the first bucket of subscribers by rate, bytes per second: 100 kbit/s. */
#define PEP_PATHS_RATE_FIRST	12500

/* End of the first bucket by round trip, us. */
#define PEP_PATHS_RTT_FIRST	1000

/* Subscribers visited before other work gets its turn. */
#define PEP_PATHS_BATCH		1024

/**
 * struct pep_paths_filter - selects the subscribers that match all members
 * @family: AF_INET or AF_INET6, 0 for any
 * @end: the address
 */
struct pep_paths_filter {
	u32 family;
	struct pep_filter_end end;
};

/**
 * struct pep_paths - a dump in progress
 * @filter: subscribers to dump
 * @iter: place in pep_net.paths
 */
struct pep_paths {
	struct pep_paths_filter filter;
	struct rhashtable_iter iter;
};

static int pep_paths_parse(const struct genl_info *info,
			   struct pep_paths_filter *filter)
{
	*filter = (struct pep_paths_filter){};
	return pep_filter_parse_end(info, PEP_A_PATH_SUBSCRIBER_ADDR,
				    PEP_A_PATH_SUBSCRIBER_PREFIX, 0,
				    "subscriber", &filter->family,
				    &filter->end);
}

/* An address counts by the bits that make a subscriber. */
static bool pep_paths_match(const struct pep_path *path, const void *data)
{
	const struct pep_paths_filter *filter = data;
	u8 prefix = min_t(u16, filter->end.prefix, path->key.prefix);

	return (!filter->family || filter->family == path->key.family) &&
	       ipv6_prefix_equal(&filter->end.addr.v6, &path->key.addr.v6,
				 prefix);
}

/* Is there a table? It stays as long as the namespace. */
static bool pep_paths_started(struct pep_net *pn)
{
	bool started;

	mutex_lock(&pn->lock);
	started = pn->started;
	mutex_unlock(&pn->lock);
	return started;
}

/* Add the known properties of a link to a message. Return: 0 or -EMSGSIZE. */
static int pep_paths_fill(struct sk_buff *skb, struct pep_path *path)
{
	bool v6 = path->key.family == AF_INET6;
	struct pep_learn_known known;
	u64 segs, again;
	u32 flows;

	pep_learn_known(path, &known);
	spin_lock_bh(&path->lock);
	segs = path->segs;
	again = path->again;
	flows = path->flows;
	spin_unlock_bh(&path->lock);
	if (nla_put(skb, PEP_A_PATH_SUBSCRIBER_ADDR,
		    v6 ? sizeof(struct in6_addr) : sizeof(struct in_addr),
		    &path->key.addr) ||
	    nla_put_u32(skb, PEP_A_PATH_SUBSCRIBER_PREFIX,
			path->key.prefix) ||
	    (known.rate && nla_put_uint(skb, PEP_A_PATH_RATE, known.rate)) ||
	    (known.rtt && nla_put_u32(skb, PEP_A_PATH_RTT_US, known.rtt)) ||
	    nla_put_uint(skb, PEP_A_PATH_IDLE_MS, known.age * 1000ULL) ||
	    nla_put_u32(skb, PEP_A_PATH_FLOWS, flows) ||
	    nla_put_uint(skb, PEP_A_PATH_SEGS, segs) ||
	    nla_put_uint(skb, PEP_A_PATH_SEGS_AGAIN, again) ||
	    nla_put_uint(skb, PEP_A_PATH_IN_FLIGHT,
			 max(atomic_read(&path->claimed), 0)) ||
	    nla_put_u32(skb, PEP_A_PATH_LEGS,
			max(atomic_read(&path->legs), 0)) ||
	    nla_put_u32(skb, PEP_A_PATH_CONNECTIONS,
			max(atomic_read(&path->connections), 0)) ||
	    nla_put_u32(skb, PEP_A_PATH_SPLIT,
			max(atomic_read(&path->flows_up), 0)) ||
	    nla_put_u32(skb, PEP_A_PATH_REFUSED,
			atomic_read(&path->refused)) ||
	    nla_put_uint(skb, PEP_A_PATH_MEMORY, pep_share_held(path)))
		return -EMSGSIZE;
	return 0;
}

/**
 * pep_nl_path_get_start() - begin a dump of the known properties of links
 * @cb: state of the dump; args[0] becomes a struct pep_paths, or stays 0 where
 *	there is nothing
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_path_get_start(struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct pep_net *pn = pep_net(genl_info_net(info));
	struct pep_paths_filter filter;
	struct pep_paths *paths;
	int err;

	err = pep_paths_parse(info, &filter);
	if (err || !pep_paths_started(pn))
		return err;
	paths = kzalloc(sizeof(*paths), GFP_KERNEL);
	if (!paths)
		return -ENOMEM;
	paths->filter = filter;
	rhashtable_walk_enter(&pn->paths, &paths->iter);
	cb->args[0] = (long)paths;
	return 0;
}

/**
 * pep_nl_path_get_dumpit() - fill a part of a dump of the known properties of links
 * @skb: message to fill
 * @cb: state of the dump
 *
 * A subscriber may occur twice, or not at all, when the table is resized meanwhile.
 *
 * Context: may sleep.
 * Return: length or a negative error.
 */
int pep_nl_path_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct pep_paths *paths = (void *)cb->args[0];
	struct pep_path *path;
	int err = 0;
	void *hdr;

	if (!paths)
		return 0;
	pep_compat_walk_resume(&paths->iter);
	/* Begin with the one that did not fit into the part before. */
	for (path = rhashtable_walk_peek(&paths->iter); path;
	     path = rhashtable_walk_next(&paths->iter)) {
		if (IS_ERR(path) || !pep_paths_match(path, &paths->filter))
			continue;
		hdr = pep_reply_part(skb, info);
		err = hdr ? pep_paths_fill(skb, path) : -EMSGSIZE;
		pep_reply_part_end(skb, hdr, err);
		if (err)
			break;
	}
	rhashtable_walk_stop(&paths->iter);
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

/**
 * pep_nl_path_get_done() - end a dump of the known properties of links
 * @cb: state of the dump, which may not be complete
 *
 * Context: may sleep.
 * Return: 0.
 */
int pep_nl_path_get_done(struct netlink_callback *cb)
{
	struct pep_paths *paths = (void *)cb->args[0];

	if (!paths)
		return 0;
	rhashtable_walk_exit(&paths->iter);
	kfree(paths);
	return 0;
}

/**
 * pep_nl_path_flush_doit() - forget the known properties of links
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing forgotten.
 */
int pep_nl_path_flush_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));
	struct pep_paths_filter filter;
	struct sk_buff *reply;
	u32 flushed = 0;
	void *hdr;
	int err;

	err = pep_paths_parse(info, &filter);
	if (err)
		return err;
	reply = pep_reply_begin(info, &hdr);
	if (!reply)
		return -ENOMEM;
	mutex_lock(&pn->lock);
	if (pn->started)
		flushed = pep_path_flush(pn, pep_paths_match, &filter);
	mutex_unlock(&pn->lock);
	err = nla_put_u32(reply, PEP_A_PATH_FLUSHED, flushed);
	return pep_reply_send(reply, info, hdr, err);
}

/**
 * struct pep_paths_sum - subscribers whose links have known properties
 * @rates: number by rate, see pep_paths_bucket()
 * @rtts: number by round trip, in the same way
 * @rate: sum of the rates, bytes per second
 * @rtt: sum of the round trips, us
 */
struct pep_paths_sum {
	u64 rates[PEP_PATH_BUCKETS];
	u64 rtts[PEP_PATH_BUCKETS];
	u64 rate;
	u64 rtt;
};

/* The first bucket ends at @first, each other bucket at twice the end of the bucket
 * before, and the last one has no end.
 */
static unsigned int pep_paths_bucket(u64 value, u32 first)
{
	u64 parts = DIV_ROUND_UP_ULL(value, first);

	return parts <= 1 ? 0 : min_t(unsigned int, fls64(parts - 1),
				      PEP_PATH_BUCKETS - 1);
}

static void pep_paths_add(struct pep_paths_sum *sum,
			  const struct pep_path *path)
{
	struct pep_learn_known known;

	if (!pep_learn_known(path, &known))
		return;
	sum->rates[pep_paths_bucket(known.rate, PEP_PATHS_RATE_FIRST)]++;
	sum->rtts[pep_paths_bucket(known.rtt, PEP_PATHS_RTT_FIRST)]++;
	sum->rate += known.rate;
	sum->rtt += known.rtt;
}

/* A path may count twice, or not at all, when the table is resized meanwhile. */
static void pep_paths_sum_up(struct pep_net *pn, struct pep_paths_sum *sum)
{
	struct rhashtable_iter iter;
	struct pep_path *path;
	unsigned int n = 0;

	rhashtable_walk_enter(&pn->paths, &iter);
	rhashtable_walk_start(&iter);
	while ((path = rhashtable_walk_next(&iter))) {
		if (!IS_ERR(path))
			pep_paths_add(sum, path);
		if (++n % PEP_PATHS_BATCH == 0) {
			rhashtable_walk_stop(&iter);
			cond_resched();
			pep_compat_walk_resume(&iter);
		}
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

/**
 * pep_nl_path_stat_get_doit() - report the number of subscribers by rate and RTT
 * @skb: request
 * @info: its attributes, none
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_path_stat_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));
	struct pep_paths_sum sum = {};
	struct sk_buff *reply;
	void *hdr;
	int err;

	reply = pep_reply_begin(info, &hdr);
	if (!reply)
		return -ENOMEM;
	if (pep_paths_started(pn))
		pep_paths_sum_up(pn, &sum);
	err = nla_put(reply, PEP_A_PATH_STAT_BY_RATE, sizeof(sum.rates),
		      sum.rates) ?:
	      nla_put(reply, PEP_A_PATH_STAT_BY_RTT, sizeof(sum.rtts),
		      sum.rtts) ?:
	      nla_put_uint(reply, PEP_A_PATH_STAT_SUM_RATE, sum.rate) ?:
	      nla_put_uint(reply, PEP_A_PATH_STAT_SUM_RTT_US, sum.rtt);
	return pep_reply_send(reply, info, hdr, err);
}
