// SPDX-License-Identifier: GPL-2.0
/* SYNs of connections that are in the table: repeated ones, and those by which an
 * end opens another connection with the same addresses.
 */

#include "reopen.h"

#include <net/tcp.h>

#include "flow.h"
#include "release.h"
#include "stat.h"
#include "track.h"

/* Does the flow of a connection that is answered early wait for its opener? */
static bool pep_reopen_waits(const struct pep_flow *flow)
{
	return READ_ONCE(flow->state) == PEP_FLOW_STATE_CONNECTING;
}

/* Side that a SYN comes from, in the direction of the first one or not. */
static enum pep_side pep_reopen_side(const struct pep_conn *conn, bool forth)
{
	return forth ? conn->opener : !conn->opener;
}

/*
 * May an end that sends a SYN open the connection anew? Its leg, which would
 * decide that, is closed, or the end is an opener that has not been accepted yet.
 * A SYN for a live leg has come by a route on which it does not find the leg.
 */
static bool pep_reopen_forgotten(const struct pep_conn *conn, bool forth)
{
	enum pep_side side = pep_reopen_side(conn, forth);
	/* Pairs with pep_flow_set_leg(). */
	const struct sock *sk = smp_load_acquire(&conn->flow->leg[side].sk);

	return sk ? inet_sk_state_load(sk) == TCP_CLOSE : forth;
}

/* A SYN of a connection that is in the table, with the connection locked. */
static enum pep_follow_verdict pep_reopen_locked(struct pep_net *pn,
						 struct pep_conn *conn,
						 const struct pep_packet *pkt)
{
	bool forth, same;

	if (conn->stage == PEP_TRACK_GONE)
		return PEP_FOLLOW_UNKNOWN;
	forth = pep_tuple_equal(&conn->tuple, &pkt->tuple);
	same = forth && conn->end[conn->opener].isn == ntohl(pkt->th->seq);
	/* It passes: the other end challenges it, unless this one is done with the connection. */
	if (conn->stage == PEP_TRACK_RELEASING &&
	    (same || !pep_release_reopened(conn, pep_reopen_side(conn, forth),
					   ntohl(pkt->th->seq))))
		return PEP_FOLLOW_PASS;
	/* Another CPU is about to answer it. */
	if (conn->stage == PEP_TRACK_OPENING && conn->early)
		return PEP_FOLLOW_CONSUMED;
	if (conn->stage == PEP_TRACK_SPLIT &&
	    READ_ONCE(conn->flow->state) != PEP_FLOW_STATE_DEAD) {
		if (same && pep_reopen_waits(conn->flow))
			return PEP_FOLLOW_SPLIT;
		/* The end has forgotten the connection: so do we, before it
		 * tries again. A late duplicate of its SYN does not mean that.
		 */
		if (!same && pep_reopen_forgotten(conn, forth))
			pep_flow_kill_one(conn->flow);
		return PEP_FOLLOW_CONSUMED;
	}
	if (same && conn->stage < PEP_TRACK_CLOSING) {
		WRITE_ONCE(conn->seen, jiffies);
		conn->repeated = true;
		return PEP_FOLLOW_PASS;
	}
	pep_track_close(pn, conn, PEP_CONN_CAUSE_REOPENED);
	return PEP_FOLLOW_UNKNOWN;
}

/**
 * pep_reopen() - handle a SYN whose connection may be in the table
 * @pn: started instance
 * @skb: SYN
 * @pkt: parsed @skb
 *
 * Context: BH off, RCU read side.
 * Return: verdict on it; PEP_FOLLOW_UNKNOWN when it opens a connection.
 */
enum pep_follow_verdict pep_reopen(struct pep_net *pn, struct sk_buff *skb,
				   const struct pep_packet *pkt)
{
	int vrf = pep_tuple_vrf(skb->dev);
	enum pep_follow_verdict verdict;
	struct pep_conn *conn;

	conn = pep_track_find(pn, &pkt->tuple, vrf);
	if (!conn)
		return PEP_FOLLOW_UNKNOWN;
	/* One VRF does not open or end connections of another. */
	if (conn->vrf != vrf)
		return PEP_FOLLOW_PASS;
	spin_lock(&conn->lock);
	verdict = pep_reopen_locked(pn, conn, pkt);
	spin_unlock(&conn->lock);
	if (verdict == PEP_FOLLOW_CONSUMED) {
		pep_stat_inc(pn, PEP_STAT_DROPPED);
		kfree_skb(skb);
	}
	return verdict;
}
