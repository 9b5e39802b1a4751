// SPDX-License-Identifier: GPL-2.0
/*
 * The state needed to follow a connection elsewhere, in netlink: its export and its
 * import.
 *
 * Times are relative, and devices have names: both hold for another module, and for
 * another host. Copies of payload stay behind. The device that the opener's packets
 * come by determines the profile and the triggers that split the connection.
 */

#include "state.h"

#include <linux/inetdevice.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/tcp.h>

#include "adopt.h"
#include "conn.h"
#include "netlink-gen.h"
#include "report.h"
#include "stat.h"
#include "sweep.h"
#include "track.h"

/* Beyond this neither a window nor the payload under way is plausible, bytes. */
#define PEP_STATE_FAR		0x40000000

/* Age that no connection has, ms: a hundred years. */
#define PEP_STATE_AGE_MOST	(100ULL * 366 * 24 * 3600 * MSEC_PER_SEC)

/* Silence that is too long in any stage, ms: a day. */
#define PEP_STATE_IDLE_MOST	(24 * 3600 * MSEC_PER_SEC)

/**
 * pep_state_whole() - can the whole state of a connection be exported?
 * @conn: connection, locked
 *
 * Return: true when its handshake is complete and no flow has it.
 */
bool pep_state_whole(const struct pep_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	return conn->stage == PEP_TRACK_FOLLOWED ||
	       conn->stage == PEP_TRACK_CLOSING;
}

/* The last byte of an end may have passed unseen, and only its acknowledgment
 * have been noted.
 */
static int pep_state_put_end(struct sk_buff *skb, const struct pep_net *pn,
			     const struct pep_track_end *end, u32 acked)
{
	u32 high = after(acked, end->high) ? acked : end->high;

	if (pep_conn_put_end(skb, pn, end) ||
	    nla_put_u32(skb, PEP_A_END_HIGH, high) ||
	    nla_put_u32(skb, PEP_A_END_ACK, end->ack) ||
	    nla_put_u32(skb, PEP_A_END_EDGE, end->edge) ||
	    nla_put_u32(skb, PEP_A_END_TSVAL, end->tsval))
		return -EMSGSIZE;
	return 0;
}

static int pep_state_fill_end(struct sk_buff *skb, int attr,
			      const struct pep_net *pn,
			      const struct pep_conn *conn, enum pep_side side)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest || pep_state_put_end(skb, pn, &conn->end[side],
				       conn->end[!side].ack))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * pep_state_fill() - add the state needed to follow a connection elsewhere
 * @skb: message
 * @pn: instance of the connection
 * @conn: connection, locked, for which pep_state_whole() holds
 *
 * Context: RCU read side, BH off.
 * Return: 0 or -EMSGSIZE, with a part of it added.
 */
int pep_state_fill(struct sk_buff *skb, const struct pep_net *pn,
		   const struct pep_conn *conn)
{
	if (nla_put_u32(skb, PEP_A_CONN_STAGE, conn->stage) ||
	    nla_put_u32(skb, PEP_A_CONN_OPENER, conn->opener) ||
	    pep_conn_put_addresses(skb, conn) ||
	    pep_conn_put_ages(skb, conn) ||
	    nla_put_u32(skb, PEP_A_CONN_ISN,
			conn->end[conn->opener].isn) ||
	    pep_report_dev(skb, PEP_A_CONN_VRF, pn->net, conn->vrf) ||
	    pep_state_fill_end(skb, PEP_A_CONN_WIRELESS, pn, conn,
			       PEP_SIDE_WIRELESS) ||
	    pep_state_fill_end(skb, PEP_A_CONN_SERVER, pn, conn,
			       PEP_SIDE_SERVER))
		return -EMSGSIZE;
	return 0;
}

/**
 * struct pep_state_need - an attribute that is required
 * @attr: its number
 * @name: its name in the netlink spec
 */
struct pep_state_need {
	u16 attr;
	const char *name;
};

static const struct pep_state_need pep_state_needs[] = {
	{ PEP_A_CONN_STAGE, "stage" },
	{ PEP_A_CONN_OPENER, "opener" },
	{ PEP_A_CONN_FAMILY, "family" },
	{ PEP_A_CONN_SUBSCRIBER_ADDR, "subscriber-addr" },
	{ PEP_A_CONN_SUBSCRIBER_PORT, "subscriber-port" },
	{ PEP_A_CONN_SERVER_ADDR, "server-addr" },
	{ PEP_A_CONN_SERVER_PORT, "server-port" },
	{ PEP_A_CONN_AGE_MS, "age-ms" },
	{ PEP_A_CONN_IDLE_MS, "idle-ms" },
	{ PEP_A_CONN_ISN, "isn" },
	{ PEP_A_CONN_WIRELESS, "wireless" },
	{ PEP_A_CONN_SERVER, "server" },
};

static const struct pep_state_need pep_state_end_needs[] = {
	{ PEP_A_END_BYTES, "bytes" },
	{ PEP_A_END_REPEATED, "repeated" },
	{ PEP_A_END_MSS, "mss" },
	{ PEP_A_END_WSCALE, "wscale" },
	{ PEP_A_END_FLAGS, "flags" },
	{ PEP_A_END_HIGH, "high" },
	{ PEP_A_END_ACK, "ack" },
	{ PEP_A_END_EDGE, "edge" },
	{ PEP_A_END_TSVAL, "tsval" },
};

/* Refuse a request because of one of its attributes. */
#define pep_state_refuse(info, attr, fmt, args...) ({			\
	NL_SET_ERR_MSG_ATTR_FMT((info)->extack, attr, fmt, ##args);	\
	-EINVAL; })

/* Are all required attributes present? 0 or -EINVAL. */
static int pep_state_complete(const struct genl_info *info,
			      struct nlattr **attrs,
			      const struct nlattr *nest, const char *of,
			      const struct pep_state_need *needs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (attrs[needs[i].attr])
			continue;
		NL_SET_ERR_ATTR_MISS(info->extack, nest, needs[i].attr);
		NL_SET_ERR_MSG_FMT(info->extack, "%s%s: is required", of,
				   needs[i].name);
		return -EINVAL;
	}
	return 0;
}

#if IS_ENABLED(CONFIG_IPV6)
static bool pep_state_unicast6(struct net *net, const struct in6_addr *addr)
{
	/* Where IPv6 is disabled at boot there is no list of addresses. */
	return ipv6_mod_enabled() && pep_addr_scope6(addr) &&
	       !ipv6_chk_addr(net, addr, NULL, 0);
}
#else
static bool pep_state_unicast6(struct net *net, const struct in6_addr *addr)
{
	return false;
}
#endif

/* Can an address be that of an end whose packets are forwarded? */
static bool pep_state_unicast(struct net *net, u32 family,
			      const union pep_addr *addr)
{
	if (family == AF_INET6)
		return pep_state_unicast6(net, &addr->v6);
	return !ipv4_is_multicast(addr->v4) && !ipv4_is_lbcast(addr->v4) &&
	       !ipv4_is_zeronet(addr->v4) && !ipv4_is_loopback(addr->v4) &&
	       inet_addr_type(net, addr->v4) != RTN_LOCAL;
}

/* Parse an address and a port. Return: 0 or -EINVAL. */
static int pep_state_parse_place(const struct genl_info *info, u32 family,
				 int attr, int port, const char *of,
				 union pep_addr *addr, __be16 *number)
{
	const struct nlattr *a = info->attrs[attr], *p = info->attrs[port];
	int len = family == AF_INET ? sizeof(addr->v4) : sizeof(addr->v6);

	if (nla_len(a) != len)
		return pep_state_refuse(info, a, "%s-addr: %d bytes with this family",
					of, len);
	memcpy(addr, nla_data(a), len);
	if (!pep_state_unicast(genl_info_net(info), family, addr))
		return pep_state_refuse(info, a,
					"%s-addr: not a unicast address of another host",
					of);
	*number = nla_get_be16(p);
	if (!*number)
		return pep_state_refuse(info, p, "%s-port: 1 to 65535", of);
	return 0;
}

/* Parse both ends' addresses. Return: 0 or -EINVAL. */
static int pep_state_parse_tuple(const struct genl_info *info,
				 struct pep_tuple *tuple)
{
	u32 family = nla_get_u32(info->attrs[PEP_A_CONN_FAMILY]);
	struct pep_tuple up = { .family = family };
	int err;

	if (family != AF_INET && family != AF_INET6)
		return pep_state_refuse(info, info->attrs[PEP_A_CONN_FAMILY],
					"family: %d or %d", AF_INET, AF_INET6);
	err = pep_state_parse_place(info, family, PEP_A_CONN_SUBSCRIBER_ADDR,
				    PEP_A_CONN_SUBSCRIBER_PORT, "subscriber",
				    &up.src, &up.sport) ?:
	      pep_state_parse_place(info, family, PEP_A_CONN_SERVER_ADDR,
				    PEP_A_CONN_SERVER_PORT, "server", &up.dst,
				    &up.dport);
	if (err)
		return err;
	if (up.sport == up.dport && !memcmp(&up.src, &up.dst, sizeof(up.src)))
		return pep_state_refuse(info,
					info->attrs[PEP_A_CONN_SERVER_ADDR],
					"server-addr: both ends are the same");
	if (nla_get_u32(info->attrs[PEP_A_CONN_OPENER]) == PEP_SIDE_WIRELESS)
		*tuple = up;
	else
		pep_tuple_reverse(tuple, &up);
	return 0;
}

/* Parse the VRF, by its name; 0 for none. Return: its number or -EINVAL. */
static int pep_state_parse_vrf(const struct genl_info *info)
{
	const struct nlattr *attr = info->attrs[PEP_A_CONN_VRF];
	const struct net_device *dev;
	int ifindex = 0;

	if (!attr)
		return 0;
	rcu_read_lock();
	dev = dev_get_by_name_rcu(genl_info_net(info), nla_data(attr));
	if (dev && netif_is_l3_master(dev))
		ifindex = dev->ifindex;
	rcu_read_unlock();
	return ifindex ?: pep_state_refuse(info, attr, "vrf: no such VRF");
}

/* Read an end, whose nest is complete. */
static void pep_state_read_end(struct net *net, struct nlattr **tb,
			       struct pep_track_end *end)
{
	const struct net_device *dev = NULL;

	end->bytes = nla_get_uint(tb[PEP_A_END_BYTES]);
	end->repeated = nla_get_u32(tb[PEP_A_END_REPEATED]);
	end->rtt = tb[PEP_A_END_RTT_US] ? nla_get_u32(tb[PEP_A_END_RTT_US]) : 0;
	end->mss = nla_get_u32(tb[PEP_A_END_MSS]);
	end->wscale = nla_get_u32(tb[PEP_A_END_WSCALE]);
	end->flags = nla_get_u32(tb[PEP_A_END_FLAGS]);
	end->high = nla_get_u32(tb[PEP_A_END_HIGH]);
	end->next = end->high;
	end->ack = nla_get_u32(tb[PEP_A_END_ACK]);
	end->edge = nla_get_u32(tb[PEP_A_END_EDGE]);
	end->tsval = nla_get_u32(tb[PEP_A_END_TSVAL]);
	/* No packet has been received yet: earlier ones were elsewhere, but not so long ago
	 * that the clock may have gone half of its way round, see pep_follow_newer().
	 */
	end->seen = jiffies - TCP_PAWS_WRAP / 2 * HZ;
	rcu_read_lock();
	if (tb[PEP_A_END_DEV])
		dev = dev_get_by_name_rcu(net, nla_data(tb[PEP_A_END_DEV]));
	end->ifindex = dev ? dev->ifindex : 0;
	rcu_read_unlock();
}

/* Parse one end. Return: 0 or a negative error. */
static int pep_state_parse_end(const struct genl_info *info, int attr,
			       const char *of, struct pep_track_end *end)
{
	const struct nlattr *nest = info->attrs[attr];
	struct nlattr *tb[PEP_A_END_MAX + 1];
	int err;

	/* The request's policy has checked the attributes in it. */
	err = nla_parse_nested(tb, PEP_A_END_MAX, nest, NULL, info->extack) ?:
	      pep_state_complete(info, tb, nest, of, pep_state_end_needs,
				 ARRAY_SIZE(pep_state_end_needs));
	if (err)
		return err;
	pep_state_read_end(genl_info_net(info), tb, end);
	if (end->edge - end->ack > PEP_STATE_FAR)
		return pep_state_refuse(info, tb[PEP_A_END_EDGE],
					"%sedge: ack to ack + 2^30", of);
	return 0;
}

/* Do the ends fit each other? 0 or -EINVAL. */
static int pep_state_fit(const struct genl_info *info,
			 const struct pep_conn *conn)
{
	u8 agreed = conn->end[0].flags & conn->end[1].flags;
	u32 stage = nla_get_u32(info->attrs[PEP_A_CONN_STAGE]);
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		const struct nlattr *nest =
			info->attrs[side == PEP_SIDE_WIRELESS ?
				    PEP_A_CONN_WIRELESS : PEP_A_CONN_SERVER];
		const struct pep_track_end *end = &conn->end[side];

		if (end->wscale && !(agreed & PEP_TRACK_SCALES))
			return pep_state_refuse(info, nest,
						"wscale: 0 unless both ends have the flag");
		if (end->high - conn->end[!side].ack > PEP_STATE_FAR)
			return pep_state_refuse(info, nest,
						"high: the other end's ack to that + 2^30");
	}
	if (stage == (agreed & PEP_TRACK_FIN ? PEP_TRACK_CLOSING :
					       PEP_TRACK_FOLLOWED))
		return 0;
	return pep_state_refuse(info, info->attrs[PEP_A_CONN_STAGE],
				"stage: followed, closing after both ends' FINs");
}

/* Parse the attributes that belong to no single end. Return: 0 or -EINVAL. */
static int pep_state_parse_whole(const struct genl_info *info,
				 struct pep_conn *conn)
{
	u64 age = nla_get_uint(info->attrs[PEP_A_CONN_AGE_MS]);
	u32 idle = nla_get_u32(info->attrs[PEP_A_CONN_IDLE_MS]);

	if (age > PEP_STATE_AGE_MOST)
		return pep_state_refuse(info, info->attrs[PEP_A_CONN_AGE_MS],
					"age-ms: 0 to %llu",
					PEP_STATE_AGE_MOST);
	if (idle > PEP_STATE_IDLE_MOST)
		return pep_state_refuse(info, info->attrs[PEP_A_CONN_IDLE_MS],
					"idle-ms: 0 to %lu",
					PEP_STATE_IDLE_MOST);
	conn->opener = nla_get_u32(info->attrs[PEP_A_CONN_OPENER]);
	conn->end[conn->opener].isn =
		nla_get_u32(info->attrs[PEP_A_CONN_ISN]);
	conn->born = ktime_get_ns() - age * NSEC_PER_MSEC;
	conn->seen = jiffies - msecs_to_jiffies(idle);
	/* Round trips may be later ones than those of the handshake. */
	conn->repeated = true;
	return 0;
}

/* Make a connection from a request. Return: it or an error pointer. */
static struct pep_conn *pep_state_parse(const struct genl_info *info)
{
	struct pep_tuple tuple;
	struct pep_conn *conn;
	int err, vrf;

	err = pep_state_complete(info, info->attrs, NULL, "", pep_state_needs,
				 ARRAY_SIZE(pep_state_needs)) ?:
	      pep_state_parse_tuple(info, &tuple);
	if (err)
		return ERR_PTR(err);
	vrf = pep_state_parse_vrf(info);
	if (vrf < 0)
		return ERR_PTR(vrf);
	conn = pep_track_new(&tuple, vrf);
	if (!conn)
		return ERR_PTR(-ENOMEM);
	pep_job_init(&conn->job, pep_adopt_run);
	err = pep_state_parse_end(info, PEP_A_CONN_WIRELESS, "wireless: ",
				  &conn->end[PEP_SIDE_WIRELESS]) ?:
	      pep_state_parse_end(info, PEP_A_CONN_SERVER, "server: ",
				  &conn->end[PEP_SIDE_SERVER]) ?:
	      pep_state_fit(info, conn) ?:
	      pep_state_parse_whole(info, conn);
	if (!err)
		return conn;
	pep_track_put(conn);
	return ERR_PTR(err);
}

/* Enter a connection into the table, which exists; pep_net.lock held. */
static int pep_state_enter(const struct genl_info *info, struct pep_net *pn,
			   struct pep_conn *conn)
{
	bool fins = conn->end[0].flags & conn->end[1].flags & PEP_TRACK_FIN;
	int err = -ETIME;

	local_bh_disable();
	rcu_read_lock();
	if (pep_sweep_silent(conn, fins ? PEP_TRACK_CLOSING :
					  PEP_TRACK_FOLLOWED))
		pep_track_put(conn);
	else
		err = pep_track_import(pn, conn);
	rcu_read_unlock();
	if (!err)
		pep_stat_inc(pn, PEP_STAT_FOLLOW_IMPORTED);
	local_bh_enable();
	switch (err) {
	case -EEXIST:
		GENL_SET_ERR_MSG(info, "the connection is followed already");
		break;
	case -ENOSPC:
		GENL_SET_ERR_MSG(info, "the table of connections is full");
		break;
	case -ETIME:
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[PEP_A_CONN_IDLE_MS],
				    "idle-ms: silent for longer than its stage allows");
		break;
	}
	return err;
}

/**
 * pep_nl_flow_import_doit() - follow a connection that was followed before
 * @skb: request
 * @info: its attributes, whose ranges the policy has checked
 *
 * Context: may sleep.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_nl_flow_import_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pep_net *pn = pep_net(genl_info_net(info));
	struct pep_conn *conn = pep_state_parse(info);
	int err = -ENETDOWN;

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	mutex_lock(&pn->lock);
	if (pn->started && !pn->stopping) {
		err = pep_state_enter(info, pn, conn);
	} else {
		GENL_SET_ERR_MSG(info, "no device has been attached yet");
		pep_track_put(conn);
	}
	mutex_unlock(&pn->lock);
	return err;
}
