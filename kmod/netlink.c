// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family: profiles, flows, counters. Policy and
 * operations are generated from Documentation/netlink/specs/pep.yaml.
 * Handlers run in parallel: pep_net.lock guards what they change, and flows
 * are read under RCU without their locks, so that a dump holds nobody up.
 */

#include "netlink-gen.h"

#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "flow.h"
#include "gen.h"
#include "profile.h"
#include "setting.h"
#include "stat.h"

static struct pep_net *pep_netlink_net(const struct genl_info *info)
{
	return pep_net(genl_info_net(info));
}

/* Begin a reply to a request; NULL when it does not fit. */
static void *pep_netlink_put(struct sk_buff *skb, const struct genl_info *info,
			     int flags)
{
	return genlmsg_put(skb, info->snd_portid, info->snd_seq,
			   &pep_nl_family, flags, info->genlhdr->cmd);
}

/* Flows of a profile's name, counted by a walk: nothing counts on the way. */
static u32 pep_netlink_count_flows(struct pep_net *pn, const char *profile)
{
	struct pep_flow *flow;
	unsigned long id;
	u32 n = 0;

	rcu_read_lock();
	xa_for_each(&pn->flows, id, flow)
		n += !strcmp(flow->gen->name, profile);
	rcu_read_unlock();
	return n;
}

static int pep_netlink_fill_profile(struct sk_buff *skb,
				    const struct genl_info *info, int flags,
				    const struct pep_profile *profile)
{
	void *hdr = pep_netlink_put(skb, info, flags);

	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(skb, PEP_A_PROFILE_NAME, profile->name) ||
	    pep_setting_fill(skb, &profile->values) ||
	    nla_put_u32(skb, PEP_A_PROFILE_DEVICES, profile->devices) ||
	    nla_put_u32(skb, PEP_A_PROFILE_FLOWS,
			pep_netlink_count_flows(profile->pn, profile->name))) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/* The profile that a request names; pep_net.lock held. */
static struct pep_profile *pep_netlink_profile(struct pep_net *pn,
					       struct genl_info *info)
{
	struct pep_profile *profile;

	if (GENL_REQ_ATTR_CHECK(info, PEP_A_PROFILE_NAME)) {
		NL_SET_ERR_MSG_MOD(info->extack, "name: is required");
		return ERR_PTR(-EINVAL);
	}
	profile = pep_profile_find(pn,
				   nla_data(info->attrs[PEP_A_PROFILE_NAME]));
	if (profile)
		return profile;
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[PEP_A_PROFILE_NAME],
			    "name: no profile of this name");
	return ERR_PTR(-ENOENT);
}

/**
 * pep_nl_profile_get_doit() - tell one profile
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_profile_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	struct pep_profile *profile;
	struct sk_buff *reply;
	int err;

	reply = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	mutex_lock(&pn->lock);
	profile = pep_netlink_profile(pn, info);
	err = IS_ERR(profile) ? PTR_ERR(profile) :
	      pep_netlink_fill_profile(reply, info, 0, profile);
	mutex_unlock(&pn->lock);
	if (err) {
		nlmsg_free(reply);
		return err;
	}
	return genlmsg_reply(reply, info);
}

/**
 * pep_nl_profile_get_dumpit() - tell all profiles
 * @skb: where to
 * @cb: state of the dump; args[0] counts the profiles told
 *
 * Context: may sleep.
 * Return: length or a negative error.
 */
int pep_nl_profile_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct pep_net *pn = pep_netlink_net(info);
	struct pep_profile *profile;
	long n = 0;
	int err = 0;

	mutex_lock(&pn->lock);
	list_for_each_entry(profile, &pn->profiles, node) {
		if (n++ < cb->args[0])
			continue;
		err = pep_netlink_fill_profile(skb, info, NLM_F_MULTI,
					       profile);
		if (err)
			break;
		cb->args[0] = n;
	}
	mutex_unlock(&pn->lock);
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

static int pep_netlink_add(struct pep_net *pn, struct genl_info *info)
{
	struct nlattr *attr = info->attrs[PEP_A_PROFILE_NAME];
	struct pep_values values;
	int err;

	if (!attr) {
		GENL_SET_ERR_MSG(info, "name: is required");
		return -EINVAL;
	}
	if (!pep_profile_name_ok(nla_data(attr))) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "name: 1 to 15 of A-Z a-z 0-9 . _ -");
		return -EINVAL;
	}
	if (pep_profile_find(pn, nla_data(attr))) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "name: the profile exists");
		return -EEXIST;
	}
	pep_profile_defaults(&values);
	err = pep_setting_parse(pn, info, &values);
	if (err)
		return err;
	return pep_profile_add(pn, nla_data(attr), &values);
}

/**
 * pep_nl_profile_add_doit() - add a profile
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_profile_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	int err;

	mutex_lock(&pn->lock);
	err = pep_netlink_add(pn, info);
	mutex_unlock(&pn->lock);
	return err;
}

/**
 * pep_nl_profile_set_doit() - change a profile for new flows
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_profile_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	struct pep_profile *profile;
	struct pep_values values;
	int err;

	mutex_lock(&pn->lock);
	profile = pep_netlink_profile(pn, info);
	err = PTR_ERR_OR_ZERO(profile);
	if (err)
		goto out;
	values = profile->values;
	err = pep_setting_parse(pn, info, &values);
	if (err)
		goto out;
	err = pep_profile_set(profile, &values);
out:
	mutex_unlock(&pn->lock);
	return err;
}

static int pep_netlink_del(struct pep_net *pn, struct genl_info *info)
{
	struct nlattr *attr = info->attrs[PEP_A_PROFILE_NAME];
	struct pep_profile *profile;

	profile = pep_netlink_profile(pn, info);
	if (IS_ERR(profile))
		return PTR_ERR(profile);
	if (!strcmp(profile->name, PEP_PROFILE_DEFAULT)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "name: the default profile stays");
		return -EPERM;
	}
	if (profile->devices) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "name: a device uses the profile");
		return -EBUSY;
	}
	pep_profile_del(profile);
	return 0;
}

/**
 * pep_nl_profile_del_doit() - delete a profile that no device uses
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_profile_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	int err;

	mutex_lock(&pn->lock);
	err = pep_netlink_del(pn, info);
	mutex_unlock(&pn->lock);
	return err;
}

/* Smallest round trip time, us; 0 before a sample, which TCP keeps as ~0. */
static u32 pep_netlink_min_rtt(const struct tcp_sock *tp)
{
	u32 rtt = tcp_min_rtt(tp);

	return rtt == ~0U ? 0 : rtt;
}

/* One leg, read without its lock, as tcp_get_info() does for its part. */
static int pep_netlink_fill_leg(struct sk_buff *skb, int attr,
				const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_congestion_ops *ca;
	struct nlattr *nest;

	nest = nla_nest_start(skb, attr);
	if (!nest)
		return -EMSGSIZE;
	ca = READ_ONCE(icsk->icsk_ca_ops);
	if ((ca && nla_put_string(skb, PEP_A_LEG_CC, ca->name)) ||
	    nla_put_u32(skb, PEP_A_LEG_TCP_STATE,
			inet_sk_state_load(sk)) ||
	    nla_put_u32(skb, PEP_A_LEG_SRTT_US,
			READ_ONCE(tp->srtt_us) >> 3) ||
	    nla_put_u32(skb, PEP_A_LEG_MIN_RTT_US,
			pep_netlink_min_rtt(tp)) ||
	    nla_put_u32(skb, PEP_A_LEG_CWND, tcp_snd_cwnd(tp)) ||
	    nla_put_u32(skb, PEP_A_LEG_MSS, READ_ONCE(tp->mss_cache)) ||
	    nla_put_uint(skb, PEP_A_LEG_BYTES_RECEIVED,
			 READ_ONCE(tp->bytes_received)) ||
	    nla_put_uint(skb, PEP_A_LEG_BYTES_ACKED,
			 READ_ONCE(tp->bytes_acked)) ||
	    nla_put_u32(skb, PEP_A_LEG_RETRANS,
			READ_ONCE(tp->total_retrans)) ||
	    nla_put_u32(skb, PEP_A_LEG_UNREAD,
			max_t(int, READ_ONCE(tp->rcv_nxt) -
				   READ_ONCE(tp->copied_seq), 0)) ||
	    nla_put_u32(skb, PEP_A_LEG_UNSENT,
			max_t(int, READ_ONCE(tp->write_seq) -
				   READ_ONCE(tp->snd_nxt), 0)) ||
	    nla_put_u32(skb, PEP_A_LEG_UNACKED, READ_ONCE(tp->packets_out))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int pep_netlink_fill_legs(struct sk_buff *skb,
				 const struct pep_flow *flow)
{
	static const int attrs[] = {
		[PEP_SIDE_WIRELESS] = PEP_A_FLOW_WIRELESS,
		[PEP_SIDE_SERVER] = PEP_A_FLOW_SERVER,
	};
	int side, err;

	for (side = 0; side < 2; side++) {
		/* Pairs with the release in pep_flow_set_leg(). */
		const struct sock *sk = smp_load_acquire(&flow->leg[side].sk);

		if (!sk)
			continue;
		err = pep_netlink_fill_leg(skb, attrs[side], sk);
		if (err)
			return err;
	}
	return 0;
}

static int pep_netlink_fill_ends(struct sk_buff *skb,
				 const struct pep_flow *flow)
{
	const struct pep_tuple *t = &flow->tuple;
	bool up = flow->opener == PEP_SIDE_WIRELESS;
	int len = t->family == AF_INET6 ? sizeof(t->src.v6) :
					  sizeof(t->src.v4);

	if (nla_put_u32(skb, PEP_A_FLOW_FAMILY, t->family) ||
	    nla_put(skb, PEP_A_FLOW_SUBSCRIBER_ADDR, len,
		    up ? &t->src : &t->dst) ||
	    nla_put_be16(skb, PEP_A_FLOW_SUBSCRIBER_PORT,
			 up ? t->sport : t->dport) ||
	    nla_put(skb, PEP_A_FLOW_SERVER_ADDR, len,
		    up ? &t->dst : &t->src) ||
	    nla_put_be16(skb, PEP_A_FLOW_SERVER_PORT,
			 up ? t->dport : t->sport))
		return -EMSGSIZE;
	return 0;
}

static int pep_netlink_fill_flow(struct sk_buff *skb,
				 const struct genl_info *info, int flags,
				 const struct pep_flow *flow)
{
	void *hdr = pep_netlink_put(skb, info, flags);

	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u32(skb, PEP_A_FLOW_ID, flow->id) ||
	    nla_put_u32(skb, PEP_A_FLOW_STATE, READ_ONCE(flow->state)) ||
	    nla_put_u32(skb, PEP_A_FLOW_OPENER, flow->opener) ||
	    pep_netlink_fill_ends(skb, flow) ||
	    nla_put_string(skb, PEP_A_FLOW_PROFILE, flow->gen->name) ||
	    nla_put_u32(skb, PEP_A_FLOW_CONNECT_MODE, flow->mode) ||
	    nla_put_uint(skb, PEP_A_FLOW_AGE_MS,
			 div_u64(ktime_get_ns() - flow->born,
				 NSEC_PER_MSEC)) ||
	    nla_put_uint(skb, PEP_A_FLOW_BYTES_TO_WIRELESS,
			 READ_ONCE(flow->leg[PEP_SIDE_WIRELESS].relayed)) ||
	    nla_put_uint(skb, PEP_A_FLOW_BYTES_TO_SERVER,
			 READ_ONCE(flow->leg[PEP_SIDE_SERVER].relayed)) ||
	    nla_put_uint(skb, PEP_A_FLOW_BYTES_COPIED,
			 READ_ONCE(flow->copied)) ||
	    pep_netlink_fill_legs(skb, flow)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/**
 * pep_nl_flow_get_doit() - tell one flow
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_flow_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	struct pep_flow *flow;
	struct sk_buff *reply;
	int err = -ENOENT;

	if (!info->attrs[PEP_A_FLOW_ID]) {
		GENL_SET_ERR_MSG(info, "id: is required");
		return -EINVAL;
	}
	reply = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	rcu_read_lock();
	flow = xa_load(&pn->flows, nla_get_u32(info->attrs[PEP_A_FLOW_ID]));
	if (flow)
		err = pep_netlink_fill_flow(reply, info, 0, flow);
	rcu_read_unlock();
	if (err) {
		nlmsg_free(reply);
		if (err == -ENOENT)
			NL_SET_ERR_MSG_ATTR(info->extack,
					    info->attrs[PEP_A_FLOW_ID],
					    "id: no such flow");
		return err;
	}
	return genlmsg_reply(reply, info);
}

/**
 * pep_nl_flow_get_dumpit() - tell all flows
 * @skb: where to
 * @cb: state of the dump; args[0] is the id to go on with
 *
 * Ids only grow until they wrap, so a flow that is there throughout is told
 * once.
 *
 * Context: may sleep.
 * Return: length or a negative error.
 */
int pep_nl_flow_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct pep_net *pn = pep_netlink_net(info);
	unsigned long id = cb->args[0];
	struct pep_flow *flow;
	int err = 0;

	rcu_read_lock();
	xa_for_each_start(&pn->flows, id, flow, cb->args[0]) {
		err = pep_netlink_fill_flow(skb, info, NLM_F_MULTI, flow);
		if (err)
			break;
		cb->args[0] = id + 1;
	}
	rcu_read_unlock();
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

/**
 * pep_nl_flow_kill_doit() - end the flows that use a device
 * @skb: request
 * @info: its attributes
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_flow_kill_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	struct sk_buff *reply;
	void *hdr;

	if (!info->attrs[PEP_A_FLOW_IFINDEX]) {
		GENL_SET_ERR_MSG(info, "ifindex: is required");
		return -EINVAL;
	}
	reply = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	hdr = pep_netlink_put(reply, info, 0);
	if (!hdr ||
	    nla_put_u32(reply, PEP_A_FLOW_KILLED,
			pep_flow_kill(pn, nla_get_u32(info->attrs[PEP_A_FLOW_IFINDEX])))) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}

static u64 pep_netlink_count_ready(struct pep_net *pn)
{
	struct pep_gen *gen;
	int cpu, kind;
	u64 n = 0;

	mutex_lock(&pn->lock);
	list_for_each_entry(gen, &pn->gens, node)
		for_each_possible_cpu(cpu)
			for (kind = 0; kind < PEP_POOL_KINDS; kind++)
				n += READ_ONCE(per_cpu_ptr(gen->pools, cpu)
					       ->nready[kind]);
	mutex_unlock(&pn->lock);
	return n;
}

static u64 pep_netlink_stat(struct pep_net *pn, int attr)
{
	switch (attr) {
	case PEP_A_STAT_FLOWS:
		return atomic_read(&pn->nflows);
	case PEP_A_STAT_PENDING:
		return atomic_read(&pn->npending);
	case PEP_A_STAT_POOL_SOCKETS:
		return pep_netlink_count_ready(pn);
	default:
		return pep_stat_sum(pn, attr);
	}
}

/**
 * pep_nl_stat_get_doit() - tell the counters
 * @skb: request
 * @info: its attributes, none
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_nl_stat_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_netlink_net(info);
	struct sk_buff *reply;
	void *hdr;
	int attr;

	reply = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	hdr = pep_netlink_put(reply, info, 0);
	if (!hdr)
		goto too_small;
	for (attr = PEP_A_STAT_PAD + 1; attr <= PEP_A_STAT_MAX; attr++)
		if (nla_put_uint(reply, attr, pep_netlink_stat(pn, attr)))
			goto too_small;
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);

too_small:
	nlmsg_free(reply);
	return -EMSGSIZE;
}
