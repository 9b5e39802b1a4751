// SPDX-License-Identifier: GPL-2.0
/* Selection of flows, or connections, by a request. */

#include "filter.h"

#include <linux/ktime.h>
#include <net/genetlink.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>

#include "gen.h"
#include "route.h"

/**
 * pep_filter_parse_end() - read the selected addresses and ports of an end
 * @info: request
 * @addr: number of the attribute with the address
 * @prefix: number of the attribute with the address's significant bits
 * @port: number of the attribute with the port
 * @what: first word of the names of these attributes
 * @family: family of the other end, 0 for any; afterwards that of this end
 * @end: result; all 0 before
 *
 * Context: any.
 * Return: 0 or a negative error, which is explained to the sender.
 */
int pep_filter_parse_end(const struct genl_info *info, int addr, int prefix,
			 int port, const char *what, u32 *family,
			 struct pep_filter_end *end)
{
	struct nlattr *nla = info->attrs[port];
	u32 found, bits;

	/* Here 0 stands for any port, so a given port must not be 0. */
	if (nla && !nla_get_be16(nla)) {
		NL_SET_ERR_MSG_ATTR(info->extack, nla, "port: 1 to 65535");
		return -ERANGE;
	}
	if (nla)
		end->port = nla_get_be16(nla);
	nla = info->attrs[addr];
	if (!nla) {
		if (!info->attrs[prefix])
			return 0;
		NL_SET_BAD_ATTR(info->extack, info->attrs[prefix]);
		NL_SET_ERR_MSG_FMT_MOD(info->extack,
				       "%s-prefix: needs %s-addr", what, what);
		return -EINVAL;
	}
	if (nla_len(nla) == sizeof(end->addr.v6)) {
		found = AF_INET6;
		bits = 128;
	} else if (nla_len(nla) == sizeof(end->addr.v4)) {
		found = AF_INET;
		bits = 32;
	} else {
		found = 0;
	}
	if (!found || (*family && *family != found)) {
		NL_SET_BAD_ATTR(info->extack, nla);
		NL_SET_ERR_MSG_FMT_MOD(info->extack,
				       "%s-addr: 4 or 16 bytes, both of a family",
				       what);
		return -EINVAL;
	}
	*family = found;
	nla_memcpy(&end->addr, nla, sizeof(end->addr));
	end->prefix = bits;
	nla = info->attrs[prefix];
	if (!nla)
		return 0;
	if (nla_get_u32(nla) > bits) {
		NL_SET_BAD_ATTR(info->extack, nla);
		NL_SET_ERR_MSG_FMT_MOD(info->extack, "%s-prefix: 0 to %u", what,
				       bits);
		return -ERANGE;
	}
	end->prefix = nla_get_u32(nla);
	return 0;
}

/**
 * pep_filter_uint() - read a number that may be absent
 * @info: request
 * @attr: number of the attribute
 *
 * Context: any.
 * Return: the number, 0 when it is absent.
 */
u64 pep_filter_uint(const struct genl_info *info, int attr)
{
	return info->attrs[attr] ? nla_get_uint(info->attrs[attr]) : 0;
}

/**
 * pep_filter_older() - read the least age of a request
 * @info: request
 * @attr: number of the attribute, milliseconds
 *
 * Context: any.
 * Return: the age, ns, 0 when it is absent.
 */
u64 pep_filter_older(const struct genl_info *info, int attr)
{
	return min_t(u64, pep_filter_uint(info, attr),
		     U64_MAX / NSEC_PER_MSEC) * NSEC_PER_MSEC;
}

/**
 * pep_filter_parse() - read the selection of flows
 * @info: request, whose attributes the filter points into
 * @filter: result; undefined after an error
 *
 * Context: any.
 * Return: 0 or a negative error, which is explained to the sender.
 */
int pep_filter_parse(const struct genl_info *info, struct pep_filter *filter)
{
	struct nlattr **attrs = info->attrs;
	struct nlattr *id = attrs[PEP_A_FLOW_ID];
	int attr, err;

	*filter = (struct pep_filter){ .state = U32_MAX, .empty = true };
	/* Requests have no attribute behind this one, nor room for any. */
	for (attr = 1; attr <= PEP_A_FLOW_BYTES_MIN; attr++)
		if (attrs[attr])
			filter->empty = false;
	/* Here 0 stands for any flow, so a given number must not be 0. */
	if (id && !nla_get_u32(id)) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "id: 1 to 4294967295");
		return -ERANGE;
	}
	if (id)
		filter->id = nla_get_u32(id);
	if (attrs[PEP_A_FLOW_STATE])
		filter->state = nla_get_u32(attrs[PEP_A_FLOW_STATE]);
	if (attrs[PEP_A_FLOW_PROFILE])
		filter->profile = nla_data(attrs[PEP_A_FLOW_PROFILE]);
	if (attrs[PEP_A_FLOW_IFINDEX])
		filter->ifindex = nla_get_u32(attrs[PEP_A_FLOW_IFINDEX]);
	filter->older = pep_filter_older(info, PEP_A_FLOW_OLDER_MS);
	filter->bytes = pep_filter_uint(info, PEP_A_FLOW_BYTES_MIN);
	err = pep_filter_parse_end(info, PEP_A_FLOW_SUBSCRIBER_ADDR,
				   PEP_A_FLOW_SUBSCRIBER_PREFIX,
				   PEP_A_FLOW_SUBSCRIBER_PORT, "subscriber",
				   &filter->family, &filter->end[PEP_SIDE_WIRELESS]);
	if (err)
		return err;
	return pep_filter_parse_end(info, PEP_A_FLOW_SERVER_ADDR,
				    PEP_A_FLOW_SERVER_PREFIX,
				    PEP_A_FLOW_SERVER_PORT, "server",
				    &filter->family, &filter->end[PEP_SIDE_SERVER]);
}

/* Does a leg receive from a device, or from a VRF? */
static bool pep_filter_leg(const struct pep_leg *leg, int ifindex)
{
	const struct sock *sk = READ_ONCE(leg->sk);

	return sk && (READ_ONCE(sk->sk_rx_dst_ifindex) == ifindex ||
		      pep_leg_device(leg, sk) == ifindex);
}

/* Does a flow that is being opened receive from a device, or is it going to? */
static bool pep_filter_pending(const struct pep_flow *flow, int ifindex)
{
	const struct pep_leg *leg = &flow->leg[!flow->opener];
	const struct sock *target = READ_ONCE(leg->sk);
	struct net *net = flow->pn->net;
	const struct dst_entry *dst;

	if (flow->ifindex == ifindex ||
	    l3mdev_master_ifindex_by_index(net, flow->ifindex) == ifindex ||
	    pep_filter_leg(leg, ifindex))
		return true;
	/* Nothing is known without a route. */
	dst = target ? rcu_dereference(target->sk_dst_cache) : NULL;
	return !dst || l3mdev_master_ifindex_rcu(dst->dev) == ifindex ||
	       pep_route_uses(net, dst, ifindex);
}

/* Does the flow receive from a device, or is it going to? */
static bool pep_filter_device(const struct pep_flow *flow, int ifindex)
{
	if (READ_ONCE(flow->state) < PEP_FLOW_STATE_ESTABLISHED)
		return pep_filter_pending(flow, ifindex);
	return pep_filter_leg(&flow->leg[0], ifindex) ||
	       pep_filter_leg(&flow->leg[1], ifindex);
}

/* An IPv4 address is at the beginning of the union, the rest is zero. */
static bool pep_filter_end_match(const struct pep_filter_end *end,
				 const union pep_addr *addr, __be16 port)
{
	return (!end->port || end->port == port) &&
	       ipv6_prefix_equal(&end->addr.v6, &addr->v6, end->prefix);
}

/**
 * pep_filter_ends() - does a connection have the selected ends?
 * @family: AF_INET or AF_INET6, 0 for any
 * @end: the two selected ends, by enum pep_side
 * @opener: side that opened the connection
 * @t: its ends, in the direction of the opener's SYN
 *
 * Context: any.
 * Return: true when both match.
 */
bool pep_filter_ends(u32 family, const struct pep_filter_end *end,
		     enum pep_side opener, const struct pep_tuple *t)
{
	return (!family || family == t->family) &&
	       pep_filter_end_match(&end[opener], &t->src, t->sport) &&
	       pep_filter_end_match(&end[!opener], &t->dst, t->dport);
}

/**
 * pep_filter_match() - does a flow match a filter?
 * @flow: flow, read without its lock
 * @filter: struct pep_filter; untyped, for pep_flow_kill()
 *
 * Context: RCU read side.
 * Return: true when it matches all of the filter.
 */
bool pep_filter_match(const struct pep_flow *flow, const void *filter)
{
	const struct pep_filter *f = filter;
	u64 bytes = READ_ONCE(flow->leg[PEP_SIDE_WIRELESS].relayed) +
		    READ_ONCE(flow->leg[PEP_SIDE_SERVER].relayed);

	return (!f->id || f->id == flow->id) &&
	       (f->state == U32_MAX || f->state == READ_ONCE(flow->state)) &&
	       bytes >= f->bytes &&
	       ktime_get_ns() - flow->born >= f->older &&
	       (!f->profile || !strcmp(f->profile, flow->gen->name)) &&
	       pep_filter_ends(f->family, f->end, flow->opener, &flow->tuple) &&
	       (!f->ifindex || pep_filter_device(flow, f->ifindex));
}
