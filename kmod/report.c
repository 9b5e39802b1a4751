// SPDX-License-Identifier: GPL-2.0
/*
 * Flows in netlink: their attributes, and notifications that one is established
 * or has ended.
 */

#include "report.h"

#include <linux/netdevice.h>
#include <linux/sock_diag.h>
#include <linux/string.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "flow.h"
#include "gen.h"
#include "name.h"
#include "netlink-gen.h"
#include "stat.h"

/* The family of the groups; set before there is one. */
static const struct genl_family *pep_report_family;

/* There is a group to notify. Read in softirq, written while it comes and goes. */
static bool pep_report_on;

/* Smallest round trip time, us; 0 before a sample, which TCP keeps as ~0. */
static u32 pep_report_min_rtt(const struct tcp_sock *tp)
{
	u32 rtt = tcp_min_rtt(tp);

	return rtt == ~0U ? 0 : rtt;
}

/**
 * pep_report_dev() - add the name of a device to a message, unless it has gone
 * @skb: message
 * @attr: number of the attribute
 * @net: namespace of the device
 * @ifindex: its number
 *
 * Context: RCU read side.
 * Return: 0 or -EMSGSIZE.
 */
int pep_report_dev(struct sk_buff *skb, int attr, struct net *net, int ifindex)
{
	const struct net_device *dev = dev_get_by_index_rcu(net, ifindex);
	char name[IFNAMSIZ];

	if (!dev)
		return 0;
	/* It may be renamed meanwhile. */
	strscpy(name, dev->name, sizeof(name));
	return nla_put_string(skb, attr, name);
}

/* The device that the latest packet of a leg's end came by, if there was one. */
static int pep_report_leg_dev(struct sk_buff *skb, const struct pep_leg *leg,
			      const struct sock *sk)
{
	int ifindex = pep_leg_device(leg, sk);

	if (!ifindex)
		return 0;
	if (nla_put_u32(skb, PEP_A_LEG_IFINDEX, ifindex))
		return -EMSGSIZE;
	return pep_report_dev(skb, PEP_A_LEG_DEV, sock_net(sk), ifindex);
}

static int pep_report_leg_packets(struct sk_buff *skb,
				  const struct tcp_sock *tp)
{
	if (nla_put_u32(skb, PEP_A_LEG_SEGS_OUT, READ_ONCE(tp->segs_out)) ||
	    nla_put_u32(skb, PEP_A_LEG_SEGS_IN, READ_ONCE(tp->segs_in)) ||
	    nla_put_u32(skb, PEP_A_LEG_DATA_SEGS_OUT,
			READ_ONCE(tp->data_segs_out)) ||
	    nla_put_u32(skb, PEP_A_LEG_DATA_SEGS_IN,
			READ_ONCE(tp->data_segs_in)))
		return -EMSGSIZE;
	return 0;
}

/* Measurements and counters of TCP. */
static int pep_report_leg_tcp(struct sk_buff *skb, const struct pep_leg *leg,
			      const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_congestion_ops *ca;

	ca = READ_ONCE(icsk->icsk_ca_ops);
	if ((ca && nla_put_string(skb, PEP_A_LEG_CC, ca->name)) ||
	    nla_put_u32(skb, PEP_A_LEG_TCP_STATE,
			inet_sk_state_load(sk)) ||
	    nla_put_u32(skb, PEP_A_LEG_SRTT_US,
			READ_ONCE(tp->srtt_us) >> 3) ||
	    nla_put_u32(skb, PEP_A_LEG_MIN_RTT_US,
			pep_report_min_rtt(tp)) ||
	    nla_put_u32(skb, PEP_A_LEG_CWND, tcp_snd_cwnd(tp)) ||
	    nla_put_u32(skb, PEP_A_LEG_MSS, READ_ONCE(tp->mss_cache)) ||
	    nla_put_uint(skb, PEP_A_LEG_BYTES_RECEIVED,
			 READ_ONCE(tp->bytes_received)) ||
	    nla_put_uint(skb, PEP_A_LEG_BYTES_ACKED,
			 READ_ONCE(tp->bytes_acked) - leg->acked) ||
	    nla_put_u32(skb, PEP_A_LEG_RETRANS,
			READ_ONCE(tp->total_retrans)) ||
	    nla_put_u32(skb, PEP_A_LEG_UNREAD,
			max_t(int, READ_ONCE(tp->rcv_nxt) -
				   READ_ONCE(tp->copied_seq), 0)) ||
	    nla_put_u32(skb, PEP_A_LEG_UNSENT,
			max_t(int, READ_ONCE(tp->write_seq) -
				   READ_ONCE(tp->snd_nxt), 0)) ||
	    nla_put_u32(skb, PEP_A_LEG_UNACKED, READ_ONCE(tp->packets_out)) ||
	    pep_report_leg_packets(skb, tp))
		return -EMSGSIZE;
	return 0;
}

/* Own address and port of a leg that does not use those of the opener. */
static int pep_report_leg_source(struct sk_buff *skb,
				 const struct pep_flow *flow, enum pep_side side,
				 const struct sock *sk)
{
	const struct pep_tuple *t = &flow->tuple;
	union pep_addr addr = {};
	__be16 port = READ_ONCE(inet_sk(sk)->inet_sport);
	int len;

	if (t->family == AF_INET6) {
		addr.v6 = sk->sk_v6_rcv_saddr;
		len = sizeof(addr.v6);
	} else {
		addr.v4 = READ_ONCE(inet_sk(sk)->inet_rcv_saddr);
		len = sizeof(addr.v4);
	}
	/* The leg has an address when it has a route. */
	if (side == flow->opener || !memchr_inv(&addr, 0, sizeof(addr)) ||
	    (port == t->sport && !memcmp(&addr, &t->src, sizeof(addr))))
		return 0;
	return nla_put(skb, PEP_A_LEG_SOURCE_ADDR, len, &addr) ?:
	       nla_put_be16(skb, PEP_A_LEG_SOURCE_PORT, port);
}

static int pep_report_leg_cookie(struct sk_buff *skb, struct sock *sk)
{
	u32 cookie[2];

	sock_diag_save_cookie(sk, cookie);
	return nla_put_uint(skb, PEP_A_LEG_COOKIE,
			    (u64)cookie[1] << 32 | cookie[0]);
}

/* Phase, rate and round trip that the leg of the subscriber has begun with. */
static int pep_report_leg_resume(struct sk_buff *skb,
				 const struct pep_resume *r)
{
	u64 rate = READ_ONCE(r->rate);

	if (nla_put_u32(skb, PEP_A_LEG_RESUME_PHASE, READ_ONCE(r->phase)) ||
	    (rate && nla_put_uint(skb, PEP_A_LEG_RESUME_RATE, rate)) ||
	    (rate && nla_put_u32(skb, PEP_A_LEG_RESUME_RTT_US,
				 READ_ONCE(r->rtt))))
		return -EMSGSIZE;
	return 0;
}

/* One leg, read without its lock, as tcp_get_info() does for its part. */
static int pep_report_fill_leg(struct sk_buff *skb, int attr,
			       const struct pep_flow *flow, enum pep_side side,
			       struct sock *sk)
{
	const struct pep_leg *leg = &flow->leg[side];
	struct nlattr *nest;

	nest = nla_nest_start(skb, attr);
	if (!nest)
		return -EMSGSIZE;
	if (pep_report_leg_tcp(skb, leg, sk) ||
	    nla_put(skb, PEP_A_LEG_RESIDENCE, sizeof(leg->residence.count),
		    leg->residence.count) ||
	    pep_report_leg_dev(skb, leg, sk) ||
	    pep_report_leg_cookie(skb, sk) ||
	    pep_report_leg_source(skb, flow, side, sk) ||
	    (side == PEP_SIDE_WIRELESS &&
	     pep_report_leg_resume(skb, &flow->resume))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int pep_report_fill_legs(struct sk_buff *skb,
				const struct pep_flow *flow)
{
	static const int attrs[] = {
		[PEP_SIDE_WIRELESS] = PEP_A_FLOW_WIRELESS,
		[PEP_SIDE_SERVER] = PEP_A_FLOW_SERVER,
	};
	enum pep_side side;
	int err;

	for (side = 0; side < 2; side++) {
		/* Pairs with the release in pep_flow_set_leg(). */
		struct sock *sk = smp_load_acquire(&flow->leg[side].sk);

		if (!sk)
			continue;
		err = pep_report_fill_leg(skb, attrs[side], flow, side, sk);
		if (err)
			return err;
	}
	return 0;
}

/**
 * pep_report_ends() - add the addresses and ports of both ends
 * @skb: message
 * @t: tuple of the opener's packets
 * @opener: side of the opener
 * @attrs: attributes for them
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE, with a part of them added.
 */
int pep_report_ends(struct sk_buff *skb, const struct pep_tuple *t, enum pep_side opener,
		    const struct pep_report_attrs *attrs)
{
	bool up = opener == PEP_SIDE_WIRELESS;
	int len = t->family == AF_INET6 ? sizeof(t->src.v6) :
					  sizeof(t->src.v4);

	if (nla_put_u32(skb, attrs->family, t->family) ||
	    nla_put(skb, attrs->subscriber_addr, len, up ? &t->src : &t->dst) ||
	    nla_put_be16(skb, attrs->subscriber_port, up ? t->sport : t->dport) ||
	    nla_put(skb, attrs->server_addr, len, up ? &t->dst : &t->src) ||
	    nla_put_be16(skb, attrs->server_port, up ? t->dport : t->sport))
		return -EMSGSIZE;
	return 0;
}

static const struct pep_report_attrs pep_report_flow_attrs = {
	.family = PEP_A_FLOW_FAMILY,
	.subscriber_addr = PEP_A_FLOW_SUBSCRIBER_ADDR,
	.subscriber_port = PEP_A_FLOW_SUBSCRIBER_PORT,
	.server_addr = PEP_A_FLOW_SERVER_ADDR,
	.server_port = PEP_A_FLOW_SERVER_PORT,
};

/* The device that the opener's SYN came by. */
static int pep_report_flow_dev(struct sk_buff *skb,
			       const struct pep_flow *flow)
{
	if (!flow->ifindex)
		return 0;
	if (nla_put_u32(skb, PEP_A_FLOW_IFINDEX, flow->ifindex))
		return -EMSGSIZE;
	return pep_report_dev(skb, PEP_A_FLOW_DEV, flow->pn->net,
			      flow->ifindex);
}

/**
 * pep_report_flow() - add all attributes of a flow to a message
 * @skb: message
 * @flow: flow, read without its lock
 *
 * Context: RCU read side.
 * Return: 0 or -EMSGSIZE, with a part of them added.
 */
int pep_report_flow(struct sk_buff *skb, const struct pep_flow *flow)
{
	if (nla_put_u32(skb, PEP_A_FLOW_ID, flow->id) ||
	    nla_put_u32(skb, PEP_A_FLOW_STATE, READ_ONCE(flow->state)) ||
	    nla_put_u32(skb, PEP_A_FLOW_OPENER, flow->opener) ||
	    pep_report_ends(skb, &flow->tuple, flow->opener, &pep_report_flow_attrs) ||
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
	    pep_report_flow_dev(skb, flow) ||
	    pep_report_fill_legs(skb, flow))
		return -EMSGSIZE;
	return 0;
}

static u32 pep_report_cause(enum pep_stat cause)
{
	switch (cause) {
	case PEP_STAT_FLOW_CLOSED:
		return PEP_FLOW_CAUSE_CLOSED;
	case PEP_STAT_FLOW_RESET:
		return PEP_FLOW_CAUSE_RESET;
	case PEP_STAT_FLOW_KILLED:
		return PEP_FLOW_CAUSE_KILLED;
	case PEP_STAT_FLOW_IDLE:
		return PEP_FLOW_CAUSE_IDLE;
	case PEP_STAT_FLOW_EVICTED:
		return PEP_FLOW_CAUSE_EVICTED;
	case PEP_STAT_FLOW_RELEASED:
	case PEP_STAT_FLOW_RELEASED_IDLE:
		return PEP_FLOW_CAUSE_RELEASED;
	case PEP_STAT_CONNECT_REFUSED:
		return PEP_FLOW_CAUSE_CONNECT_REFUSED;
	case PEP_STAT_CONNECT_UNREACHABLE:
		return PEP_FLOW_CAUSE_CONNECT_UNREACHABLE;
	case PEP_STAT_CONNECT_TIMEOUT:
		return PEP_FLOW_CAUSE_CONNECT_TIMEOUT;
	case PEP_STAT_OPENER_LOST:
		return PEP_FLOW_CAUSE_OPENER_LOST;
	default:
		return PEP_FLOW_CAUSE_CONNECT_FAILED;
	}
}

/* Times of the wall clock; those of events that did not occur are absent. */
static int pep_report_time(struct sk_buff *skb, int attr, u64 at)
{
	if (!at)
		return 0;
	return nla_put_uint(skb, attr,
			    ktime_to_ns(ktime_mono_to_real(ns_to_ktime(at))));
}

/* Times of the resets that the flow's end sends: now, see pep_flow_end(). */
static int pep_report_resets(struct sk_buff *skb, const struct pep_flow *flow,
			     enum pep_stat cause, u64 now)
{
	static const int attrs[] = {
		[PEP_SIDE_WIRELESS] = PEP_A_FLOW_TIME_RST_TO_WIRELESS,
		[PEP_SIDE_SERVER] = PEP_A_FLOW_TIME_RST_TO_SERVER,
	};
	enum pep_side side;

	/* The ends of a connection that goes on are not reset. */
	if (pep_report_cause(cause) == PEP_FLOW_CAUSE_RELEASED)
		return 0;
	for (side = 0; side < 2; side++) {
		const struct sock *sk = flow->leg[side].sk;

		if (sk && pep_leg_resets(sk) &&
		    pep_report_time(skb, attrs[side], now))
			return -EMSGSIZE;
	}
	return 0;
}

static int pep_report_end(struct sk_buff *skb, const struct pep_flow *flow,
			  enum pep_stat cause)
{
	static const int attrs[PEP_FLOW_TIMES] = {
		[PEP_FLOW_TIME_SYN_OUT] = PEP_A_FLOW_TIME_SYN_OUT,
		[PEP_FLOW_TIME_ANSWERED] = PEP_A_FLOW_TIME_ANSWERED,
		[PEP_FLOW_TIME_ACCEPTED] = PEP_A_FLOW_TIME_ACCEPTED,
		[PEP_FLOW_TIME_UP] = PEP_A_FLOW_TIME_ESTABLISHED,
		[PEP_FLOW_TIME_FIRST] = PEP_A_FLOW_TIME_FIRST_TO_WIRELESS,
		[PEP_FLOW_TIME_FIRST + PEP_SIDE_SERVER] = PEP_A_FLOW_TIME_FIRST_TO_SERVER,
		[PEP_FLOW_TIME_FIN] = PEP_A_FLOW_TIME_FIN_TO_WIRELESS,
		[PEP_FLOW_TIME_FIN + PEP_SIDE_SERVER] = PEP_A_FLOW_TIME_FIN_TO_SERVER,
		[PEP_FLOW_TIME_FIN_FROM] = PEP_A_FLOW_TIME_FIN_FROM_WIRELESS,
		[PEP_FLOW_TIME_FIN_FROM + PEP_SIDE_SERVER] = PEP_A_FLOW_TIME_FIN_FROM_SERVER,
		[PEP_FLOW_TIME_RST_FROM] = PEP_A_FLOW_TIME_RST_FROM_WIRELESS,
		[PEP_FLOW_TIME_RST_FROM + PEP_SIDE_SERVER] = PEP_A_FLOW_TIME_RST_FROM_SERVER,
	};
	u64 now = ktime_get_ns();
	unsigned int i;

	if (nla_put_u32(skb, PEP_A_FLOW_CAUSE, pep_report_cause(cause)) ||
	    pep_report_time(skb, PEP_A_FLOW_TIME_SYN, flow->born) ||
	    pep_report_resets(skb, flow, cause, now) ||
	    pep_report_time(skb, PEP_A_FLOW_TIME_CLOSED, now))
		return -EMSGSIZE;
	for (i = 0; i < PEP_FLOW_TIMES; i++)
		if (attrs[i] && pep_report_time(skb, attrs[i], flow->at[i]))
			return -EMSGSIZE;
	return 0;
}

/**
 * pep_report_begin() - begin a message to listeners
 * @net: namespace
 * @group: PEP_NLGRP_*
 * @cmd: PEP_CMD_*
 * @hdr: where its header goes
 *
 * Context: BH off.
 * Return: the message, for pep_report_finish(), or NULL when there is no memory;
 * listeners get ENOBUFS then.
 */
struct sk_buff *pep_report_begin(struct net *net, unsigned int group, u8 cmd,
				 void **hdr)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_ATOMIC);

	if (!skb) {
		/* Listeners see that they have missed a message. */
		genl_set_err(pep_report_family, net, 0, group, -ENOBUFS);
		return NULL;
	}
	/* A new message has room for its header. */
	*hdr = genlmsg_put(skb, 0, 0, pep_report_family, 0, cmd);
	return skb;
}

/**
 * pep_report_finish() - send a message to listeners
 * @net: namespace
 * @group: PEP_NLGRP_*
 * @skb: from pep_report_begin(); consumed
 * @hdr: its header
 * @err: 0, or the error for which it is incomplete and dropped, negative
 *
 * Context: BH off.
 */
void pep_report_finish(struct net *net, unsigned int group,
		       struct sk_buff *skb, void *hdr, int err)
{
	if (WARN_ON_ONCE(err)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(pep_report_family, net, skb, 0, group, GFP_ATOMIC);
}

/* Notify listeners of a flow; @cause is PEP_STAT_NONE when it is established. */
static void pep_report_send(const struct pep_flow *flow, u8 cmd,
			    enum pep_stat cause)
{
	struct net *net = flow->pn->net;
	struct sk_buff *skb;
	void *hdr;
	int err;

	skb = pep_report_begin(net, PEP_NLGRP_FLOWS, cmd, &hdr);
	if (!skb)
		return;
	err = pep_report_flow(skb, flow);
	if (!err && cause)
		err = pep_report_end(skb, flow, cause);
	pep_report_finish(net, PEP_NLGRP_FLOWS, skb, hdr, err);
}

/* Add the subscriber whose share is used up. Return: 0 or -EMSGSIZE. */
static int pep_report_subscriber(struct sk_buff *skb,
				 const struct pep_path *path)
{
	bool v6 = path->key.family == AF_INET6;

	return nla_put(skb, PEP_A_LIMIT_SUBSCRIBER_ADDR,
		       v6 ? sizeof(struct in6_addr) : sizeof(struct in_addr),
		       &path->key.addr) ?:
	       nla_put_u32(skb, PEP_A_LIMIT_SUBSCRIBER_PREFIX,
			   path->key.prefix);
}

/* Notify listeners of limits; @counter is PEP_STAT_NONE when none is reached, and @path is
 * NULL when the limit is no subscriber's.
 */
static void pep_report_limit(const struct pep_net *pn, u8 cmd,
			     enum pep_stat counter, const struct pep_path *path)
{
	struct sk_buff *skb;
	void *hdr;
	int err;

	skb = pep_report_begin(pn->net, PEP_NLGRP_FLOWS, cmd, &hdr);
	if (!skb)
		return;
	err = counter ? nla_put_string(skb, PEP_A_LIMIT_COUNTER,
				       pep_name_stat(counter)) : 0;
	if (!err && counter)
		err = nla_put_u32(skb, PEP_A_LIMIT_LIVE,
				  atomic_read(&pn->nflows));
	if (!err && path)
		err = pep_report_subscriber(skb, path);
	pep_report_finish(pn->net, PEP_NLGRP_FLOWS, skb, hdr, err);
}

/**
 * pep_report_wanted() - does anybody listen?
 * @pn: instance
 * @group: PEP_NLGRP_*
 *
 * Context: BH off or RCU read side, up to pep_report_finish().
 * Return: false when no message is needed.
 */
bool pep_report_wanted(const struct pep_net *pn, unsigned int group)
{
	/* Before the family; pairs with pep_report_start(). */
	return smp_load_acquire(&pep_report_on) &&
	       genl_has_listeners(pep_report_family, pn->net, group);
}

/**
 * pep_report_new() - notify listeners that a flow is established
 * @flow: flow, locked
 *
 * Context: BH off.
 */
void pep_report_new(const struct pep_flow *flow)
{
	if (pep_report_wanted(flow->pn, PEP_NLGRP_FLOWS))
		pep_report_send(flow, PEP_CMD_FLOW_NEW_NTF, PEP_STAT_NONE);
}

/**
 * pep_report_closed() - notify listeners that a flow ends
 * @flow: flow, locked, with the legs that it had
 * @cause: counter of the cause, PEP_STAT_*
 *
 * Context: BH off.
 */
void pep_report_closed(const struct pep_flow *flow, enum pep_stat cause)
{
	if (pep_report_wanted(flow->pn, PEP_NLGRP_FLOWS))
		pep_report_send(flow, PEP_CMD_FLOW_CLOSED_NTF, cause);
}

/**
 * pep_report_overload() - notify listeners that a limit is reached
 * @pn: instance
 * @counter: counter of the connections that are not split because of it,
 *	PEP_STAT_*
 * @path: entry of the subscriber whose share it is, or NULL
 *
 * Context: BH off.
 */
void pep_report_overload(const struct pep_net *pn, enum pep_stat counter,
			 const struct pep_path *path)
{
	if (pep_report_wanted(pn, PEP_NLGRP_FLOWS))
		pep_report_limit(pn, PEP_CMD_OVERLOAD_NTF, counter, path);
}

/**
 * pep_report_drained() - notify listeners that no flow is left
 * @pn: instance that drains
 *
 * Context: any.
 */
void pep_report_drained(const struct pep_net *pn)
{
	/* pep_report_stop() waits for the read side. */
	rcu_read_lock();
	if (pep_report_wanted(pn, PEP_NLGRP_FLOWS))
		pep_report_limit(pn, PEP_CMD_DRAINED_NTF, PEP_STAT_NONE, NULL);
	rcu_read_unlock();
}

/**
 * pep_report_start() - begin to notify listeners
 * @family: the netlink family, which stays until pep_report_stop()
 *
 * Context: any; the netlink family is registered.
 */
void pep_report_start(const struct genl_family *family)
{
	pep_report_family = family;
	/* Pairs with pep_report_wanted(). */
	smp_store_release(&pep_report_on, true);
}

/**
 * pep_report_stop() - stop notifying listeners
 *
 * Flows may end after the netlink family has gone; another family may have its
 * group then.
 *
 * Context: may sleep; on return no listener is being notified.
 */
void pep_report_stop(void)
{
	WRITE_ONCE(pep_report_on, false);
	synchronize_net();
}
