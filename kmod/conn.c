// SPDX-License-Identifier: GPL-2.0
/* Connections that are followed, in netlink. */

#include "conn.h"

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>

#include "copies.h"
#include "flow.h"
#include "netlink-gen.h"
#include "report.h"
#include "track.h"

/* Both enums number the stages, except the last one, and the flags alike. */
static_assert((int)PEP_CONN_STAGE_OPENING == PEP_TRACK_OPENING);
static_assert((int)PEP_CONN_STAGE_ANSWERED == PEP_TRACK_ANSWERED);
static_assert((int)PEP_CONN_STAGE_FOLLOWED == PEP_TRACK_FOLLOWED);
static_assert((int)PEP_CONN_STAGE_CLOSING == PEP_TRACK_CLOSING);
static_assert((int)PEP_CONN_STAGE_SPLIT == PEP_TRACK_SPLIT);
static_assert((int)PEP_CONN_STAGE_RELEASING == PEP_TRACK_RELEASING);
static_assert(PEP_CONN_FLAG_WSCALE == PEP_TRACK_SCALES);
static_assert(PEP_CONN_FLAG_SACK == PEP_TRACK_SACK);
static_assert(PEP_CONN_FLAG_TIMESTAMPS == PEP_TRACK_STAMPS);
static_assert(PEP_CONN_FLAG_ECN == PEP_TRACK_ECN);
static_assert(PEP_CONN_FLAG_ACCECN == PEP_TRACK_ACCECN);
static_assert(PEP_CONN_FLAG_FIN == PEP_TRACK_FIN);
static_assert(PEP_CONN_FLAG_UNSPLIT == PEP_TRACK_UNSPLIT);

/* Part of an end's sequence space that the other end has not acknowledged. */
static u32 pep_conn_unacked(const struct pep_track_end *self,
			    const struct pep_track_end *peer)
{
	/* Before the SYN-ACK there is no acknowledgment. */
	return peer->mss ? max_t(s32, self->high - peer->ack, 0) : 0;
}

/**
 * pep_conn_put_end() - add the notes of an end that its report and its export
 * have in common
 * @skb: message, in the nest of the end
 * @pn: instance of the connection
 * @end: end of a connection, which is locked
 *
 * Context: RCU read side.
 * Return: 0 or -EMSGSIZE, with a part of it added.
 */
int pep_conn_put_end(struct sk_buff *skb, const struct pep_net *pn,
		     const struct pep_track_end *end)
{
	if (nla_put_uint(skb, PEP_A_END_BYTES, end->bytes) ||
	    nla_put_u32(skb, PEP_A_END_REPEATED, end->repeated) ||
	    (end->rtt && nla_put_u32(skb, PEP_A_END_RTT_US, end->rtt)) ||
	    nla_put_u32(skb, PEP_A_END_MSS, end->mss) ||
	    nla_put_u32(skb, PEP_A_END_WSCALE, end->wscale) ||
	    nla_put_u32(skb, PEP_A_END_FLAGS, end->flags & PEP_TRACK_SHOWN))
		return -EMSGSIZE;
	return pep_report_dev(skb, PEP_A_END_DEV, pn->net, end->ifindex);
}

/* Add one end, once its SYN or SYN-ACK has passed. */
static int pep_conn_fill_end(struct sk_buff *skb, int attr,
			     const struct pep_net *pn,
			     const struct pep_track_end *self,
			     const struct pep_track_end *peer)
{
	struct nlattr *nest;

	if (!self->mss)
		return 0;
	nest = nla_nest_start(skb, attr);
	if (!nest)
		return -EMSGSIZE;
	if (pep_conn_put_end(skb, pn, self) ||
	    nla_put_u32(skb, PEP_A_END_UNACKED, pep_conn_unacked(self, peer)) ||
	    nla_put_u32(skb, PEP_A_END_IFINDEX, self->ifindex)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static const struct pep_report_attrs pep_conn_attrs = {
	.family = PEP_A_CONN_FAMILY,
	.subscriber_addr = PEP_A_CONN_SUBSCRIBER_ADDR,
	.subscriber_port = PEP_A_CONN_SUBSCRIBER_PORT,
	.server_addr = PEP_A_CONN_SERVER_ADDR,
	.server_port = PEP_A_CONN_SERVER_PORT,
};

/**
 * pep_conn_put_addresses() - add the addresses and ports of a connection
 * @skb: message
 * @conn: connection
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE, with a part of it added.
 */
int pep_conn_put_addresses(struct sk_buff *skb, const struct pep_conn *conn)
{
	return pep_report_ends(skb, &conn->tuple, conn->opener, &pep_conn_attrs);
}

/**
 * pep_conn_put_ages() - add the ages of a connection and of its latest packet
 * @skb: message
 * @conn: connection, locked
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE, with a part of it added.
 */
int pep_conn_put_ages(struct sk_buff *skb, const struct pep_conn *conn)
{
	u64 age = ktime_get_ns() - conn->born;

	if (nla_put_uint(skb, PEP_A_CONN_AGE_MS, div_u64(age, NSEC_PER_MSEC)))
		return -EMSGSIZE;
	return nla_put_u32(skb, PEP_A_CONN_IDLE_MS,
			   jiffies_to_msecs((u32)jiffies - conn->seen));
}

/* Add the number of the flow that owns a connection. */
static int pep_conn_fill_flow(struct sk_buff *skb, const struct pep_conn *conn)
{
	if (conn->stage != PEP_TRACK_SPLIT &&
	    conn->stage != PEP_TRACK_RELEASING)
		return 0;
	return nla_put_u32(skb, PEP_A_CONN_FLOW, conn->flow->id);
}

/**
 * pep_conn_fill() - add the whole report of a connection to a message
 * @skb: message
 * @pn: instance of the connection
 * @conn: connection, locked, not in PEP_TRACK_GONE
 *
 * Context: RCU read side, BH off.
 * Return: 0 or -EMSGSIZE, with a part of it added.
 */
int pep_conn_fill(struct sk_buff *skb, const struct pep_net *pn,
		  const struct pep_conn *conn)
{
	const struct pep_track_end *wireless = &conn->end[PEP_SIDE_WIRELESS];
	const struct pep_track_end *server = &conn->end[PEP_SIDE_SERVER];

	lockdep_assert_held(&conn->lock);
	if (nla_put_u32(skb, PEP_A_CONN_STAGE, conn->stage) ||
	    nla_put_u32(skb, PEP_A_CONN_OPENER, conn->opener) ||
	    pep_conn_put_addresses(skb, conn) ||
	    pep_conn_fill_flow(skb, conn) ||
	    pep_conn_put_ages(skb, conn) ||
	    pep_conn_fill_end(skb, PEP_A_CONN_WIRELESS, pn, wireless, server) ||
	    pep_conn_fill_end(skb, PEP_A_CONN_SERVER, pn, server, wireless) ||
	    nla_put_u32(skb, PEP_A_CONN_TRIGGER, conn->trigger) ||
	    nla_put_u32(skb, PEP_A_CONN_DUE, conn->due) ||
	    nla_put_u32(skb, PEP_A_CONN_COPIES,
			conn->copies ? conn->copies->memory : 0))
		return -EMSGSIZE;
	return 0;
}

/**
 * pep_conn_closed() - notify listeners that a connection ends
 * @pn: its instance
 * @conn: connection, locked, in the stage that it has reached
 * @cause: enum pep_conn_cause
 *
 * Context: RCU read side, BH off.
 */
void pep_conn_closed(const struct pep_net *pn, const struct pep_conn *conn,
		     unsigned int cause)
{
	struct sk_buff *skb;
	void *hdr;
	int err;

	if (!pep_report_wanted(pn, PEP_NLGRP_CONNS))
		return;
	skb = pep_report_begin(pn->net, PEP_NLGRP_CONNS,
			       PEP_CMD_CONN_CLOSED_NTF, &hdr);
	if (!skb)
		return;
	err = pep_conn_fill(skb, pn, conn) ?:
	      nla_put_u32(skb, PEP_A_CONN_CAUSE, cause);
	pep_report_finish(pn->net, PEP_NLGRP_CONNS, skb, hdr, err);
}
