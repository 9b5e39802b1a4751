// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family, reports of the counters: of a namespace and of
 * each CPU. Any user may request them, so they hold nothing of single flows.
 */

#include "netlink-gen.h"

#include <linux/unaligned.h>

#include "gen.h"
#include "name.h"
#include "net.h"
#include "pool.h"
#include "reply.h"
#include "stat.h"
#include "track.h"

static int pep_counter_fill_residence(struct sk_buff *skb, int attr,
				      int sum_attr, const struct pep_net *pn,
				      enum pep_side side)
{
	struct nlattr *nla;
	unsigned int i;
	u64 *count;

	nla = nla_reserve(skb, attr, sizeof(u64) * PEP_RESIDENCE_BUCKETS);
	if (!nla)
		return -EMSGSIZE;
	count = nla_data(nla);
	for (i = 0; i < PEP_RESIDENCE_BUCKETS; i++)
		put_unaligned(pep_stat_sum(pn, pep_stat_residence(side, i)),
			      &count[i]);
	return nla_put_uint(skb, sum_attr,
			    pep_stat_sum(pn, PEP_STAT_RESIDENCE_SUM + side));
}

/**
 * pep_nl_residence_get_doit() - report how long payload has stayed
 * @skb: request
 * @info: its attributes, none
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_residence_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));
	struct sk_buff *reply;
	void *hdr;
	int err;

	reply = pep_reply_begin(info, &hdr);
	if (!reply)
		return -ENOMEM;
	err = pep_counter_fill_residence(reply, PEP_A_RESIDENCE_TO_WIRELESS,
					 PEP_A_RESIDENCE_SUM_TO_WIRELESS, pn,
					 PEP_SIDE_WIRELESS) ?:
	      pep_counter_fill_residence(reply, PEP_A_RESIDENCE_TO_SERVER,
					 PEP_A_RESIDENCE_SUM_TO_SERVER, pn,
					 PEP_SIDE_SERVER);
	return pep_reply_send(reply, info, hdr, err);
}

/* Sockets that a CPU keeps ready; pep_net.lock held. */
static u64 pep_counter_ready(const struct pep_net *pn, int cpu)
{
	const struct pep_gen *gen;
	u64 n = 0;
	int kind;

	lockdep_assert_held(&pn->lock);
	list_for_each_entry(gen, &pn->gens, node)
		for (kind = 0; kind < PEP_POOL_KINDS; kind++)
			n += READ_ONCE(per_cpu_ptr(gen->pools, cpu)
				       ->nready[kind]);
	return n;
}

static u64 pep_counter_count_ready(struct pep_net *pn)
{
	u64 n = 0;
	int cpu;

	mutex_lock(&pn->lock);
	for_each_possible_cpu(cpu)
		n += pep_counter_ready(pn, cpu);
	mutex_unlock(&pn->lock);
	return n;
}

static u64 pep_counter_stat(struct pep_net *pn, enum pep_stat stat)
{
	switch (stat) {
	case PEP_STAT_FLOWS:
		return atomic_read(&pn->nflows);
	case PEP_STAT_PENDING:
		return atomic_read(&pn->npending);
	case PEP_STAT_FOLLOWED:
		return pn->started ? atomic_read(&pn->track.nelems) : 0;
	case PEP_STAT_FOLLOWED_LIMIT:
		return READ_ONCE(pn->limits.connections);
	case PEP_STAT_POOL_SOCKETS:
		return pep_counter_count_ready(pn);
	default:
		return pep_stat_sum(pn, stat);
	}
}

/**
 * pep_nl_stat_get_doit() - report the counters
 * @skb: request
 * @info: its attributes, none
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_stat_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));
	struct sk_buff *reply;
	enum pep_stat stat;
	void *hdr;
	int err = 0;

	reply = pep_reply_begin(info, &hdr);
	if (!reply)
		return -ENOMEM;
	for (stat = PEP_STAT_NONE + 1; !err && stat < PEP_STAT_NAMED; stat++)
		err = nla_put_uint(reply, pep_name_attr(stat),
				   pep_counter_stat(pn, stat));
	return pep_reply_send(reply, info, hdr, err);
}

/*
 * Report the counters of a CPU; pep_net.lock held. -ENODATA when there is
 * nothing to report.
 */
static int pep_counter_fill_cpu(struct sk_buff *skb, const struct pep_net *pn,
				int cpu)
{
	/* A CPU in use is reported even if its counters are 0. */
	bool worth = cpu_online(cpu);
	enum pep_stat stat;
	u64 n;

	if (nla_put_u32(skb, PEP_A_STAT_CPU, cpu))
		return -EMSGSIZE;
	/* Flows and limits belong to no CPU: they read 0. */
	for (stat = PEP_STAT_NONE + 1; stat < PEP_STAT_NAMED; stat++) {
		n = stat == PEP_STAT_POOL_SOCKETS ?
		    pep_counter_ready(pn, cpu) : pep_stat_read(pn, stat, cpu);
		if (!n)
			continue;
		if (nla_put_uint(skb, pep_name_attr(stat), n))
			return -EMSGSIZE;
		worth = true;
	}
	return worth ? 0 : -ENODATA;
}

/**
 * pep_nl_stat_get_dumpit() - report the counters of each CPU
 * @skb: message to fill
 * @cb: state of the dump; args[0] is the CPU to go on with
 *
 * A CPU's counters are in one message, read one after the other: not a snapshot
 * while packets flow.
 *
 * Context: may sleep.
 * Return: length or a negative error.
 */
int pep_nl_stat_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct pep_net *pn = pep_net(genl_info_net(info));
	int cpu, err = 0;
	void *hdr;

	mutex_lock(&pn->lock);
	for_each_possible_cpu(cpu) {
		if (cpu < cb->args[0])
			continue;
		hdr = pep_reply_part(skb, info);
		err = hdr ? pep_counter_fill_cpu(skb, pn, cpu) : -EMSGSIZE;
		pep_reply_part_end(skb, hdr, err);
		if (err == -EMSGSIZE)
			break;
		cb->args[0] = cpu + 1;
		err = 0;
	}
	mutex_unlock(&pn->lock);
	return err && skb->len ? skb->len : err;
}
