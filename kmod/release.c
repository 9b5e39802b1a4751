// SPDX-License-Identifier: GPL-2.0
/*
 * Handing a connection back to its ends.
 *
 * A cut is made in each direction, at what its leg has received. The legs still
 * send and repeat what lies before the cuts; what comes behind them goes on to the
 * other end at once. When each end has acknowledged the cut of the other, the legs
 * have nothing left to do and go without a packet.
 *
 * The legs leave the table of sockets at the cut, so that early demux does not
 * take what passes. Until they are gone, packets find them by the connection.
 */

#include "release.h"

#include <net/tcp.h>

#include "deliver.h"
#include "stat.h"

/* How long no connection is taken over by a device that is being detached. */
#define PEP_RELEASE_LEAVE	(5 * HZ)

/* Can a leg be let go? What it has received out of order it could not forget, for
 * its end may have been told by SACK.
 */
static bool pep_release_can(const struct pep_leg *leg)
{
	return leg->sk->sk_state == TCP_ESTABLISHED && !leg->fin_sent &&
	       !leg->sk->sk_err && !sock_flag(leg->sk, SOCK_DONE) &&
	       RB_EMPTY_ROOT(&tcp_sk(leg->sk)->out_of_order_queue);
}

/* Note what is known of an end, and take its leg out of the table of sockets. */
static void pep_release_cut(struct pep_track_end *end, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	end->next = tp->rcv_nxt;
	end->high = tp->rcv_nxt;
	end->ack = tp->snd_una;
	end->edge = tp->snd_una + tp->snd_wnd;
	end->tsval = tp->rx_opt.ts_recent;
	end->seen = jiffies;
	sk->sk_prot->unhash(sk);
}

/* Has each end acknowledged what the other has sent before the cut? */
static bool pep_release_done(const struct pep_conn *conn,
			     const struct pep_flow *flow)
{
	int side;

	for (side = 0; side < 2; side++) {
		const struct tcp_sock *tp = tcp_sk(flow->leg[!side].sk);

		if (before(tp->snd_una, conn->end[side].next) &&
		    before(conn->end[!side].ack, conn->end[side].next))
			return false;
	}
	return true;
}

/* The legs go; with the connection, the flow and its legs locked. */
static void pep_release_finish(struct pep_conn *conn, struct pep_flow *flow,
			       enum pep_track_event event)
{
	int side;

	for (side = 0; side < 2; side++) {
		conn->end[side].next = conn->end[side].high;
		/* Under repair disconnect() sends nothing. */
		tcp_sk(flow->leg[side].sk)->repair = 1;
	}
	pep_flow_end(flow, PEP_A_STAT_FLOW_RELEASED);
	for (side = 0; side < 2; side++)
		tcp_sk(flow->leg[side].sk)->repair = 0;
	conn->seen = jiffies;
	pep_track_advance(flow->pn, conn, event);
}

/* Begin to hand a flow's connection back; false when that is impossible. */
static bool pep_release_begin(struct pep_flow *flow)
{
	struct pep_conn *conn = READ_ONCE(flow->conn);
	bool begun = false;
	int side;

	if (!conn)
		return false;
	spin_lock_bh(&conn->lock);
	spin_lock(&flow->lock);
	if (conn->stage != PEP_TRACK_SPLIT || conn->flow != flow ||
	    flow->state != PEP_FLOW_STATE_ESTABLISHED || flow->pinned)
		goto out;
	pep_flow_lock_legs(flow);
	begun = !pep_flow_legs_owned(flow) &&
		pep_release_can(&flow->leg[0]) && pep_release_can(&flow->leg[1]);
	if (begun) {
		for (side = 0; side < 2; side++)
			pep_release_cut(&conn->end[side], flow->leg[side].sk);
		pep_track_advance(flow->pn, conn, PEP_TRACK_CUT);
		if (pep_release_done(conn, flow))
			pep_release_finish(conn, flow, PEP_TRACK_RELEASED);
	}
	pep_flow_unlock_legs(flow);
out:
	spin_unlock(&flow->lock);
	spin_unlock_bh(&conn->lock);
	return begun;
}

/**
 * pep_release_leave() - take over no connections by a device for a while
 * @pn: instance
 * @ifindex: device that is about to be detached
 *
 * So that none is taken over between those that are handed back and the end of
 * its filters. Of several devices the last one counts: they are the two sides of
 * the same connections.
 *
 * Context: any.
 */
void pep_release_leave(struct pep_net *pn, int ifindex)
{
	WRITE_ONCE(pn->leaving_until, jiffies + PEP_RELEASE_LEAVE);
	/* Pairs with pep_adopt_leaving(). */
	smp_store_release(&pn->leaving, ifindex);
}

/**
 * pep_release_flows() - begin to hand connections back to their ends
 * @pn: instance
 * @match: tells which flows; called on the RCU read side; NULL for all
 * @filter: handed to @match
 *
 * It is done when their ends have acknowledged what is in the legs: within a
 * round trip and a residence where nothing is lost. What has begun already
 * counts, too.
 *
 * Context: may sleep.
 * Return: number of flows for which it has begun, or is done.
 */
unsigned int pep_release_flows(struct pep_net *pn, pep_flow_match *match,
			       const void *filter)
{
	struct pep_flow *flow;
	unsigned int n = 0;
	unsigned long id;

	rcu_read_lock();
	xa_for_each(&pn->flows, id, flow) {
		if ((!match || match(flow, filter)) && pep_release_begin(flow))
			n++;
		/* There may be a hundred thousand. */
		if (need_resched()) {
			rcu_read_unlock();
			cond_resched();
			rcu_read_lock();
		}
	}
	rcu_read_unlock();
	return n;
}

/* Let the legs go if that is possible by now; true when it is over. */
static bool pep_release_try(struct pep_conn *conn, struct pep_flow *flow,
			    bool reset)
{
	bool over = false;

	spin_lock(&flow->lock);
	if (flow->state == PEP_FLOW_STATE_DEAD) {
		pep_track_advance(flow->pn, conn, PEP_TRACK_END);
		over = true;
	} else {
		pep_flow_lock_legs(flow);
		if (!pep_flow_legs_owned(flow) &&
		    (reset || pep_release_done(conn, flow))) {
			pep_release_finish(conn, flow, reset ?
					   PEP_TRACK_END : PEP_TRACK_RELEASED);
			over = true;
		}
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);
	return over;
}

/**
 * pep_release_packet() - see to a packet of a connection that is released
 * @conn: connection in PEP_TRACK_RELEASING, locked
 * @side: side of the end that has sent it, enum pep_side
 * @pkt: parsed packet
 * @way: result
 *
 * Context: softirq, RCU read side.
 */
void pep_release_packet(struct pep_conn *conn, unsigned int side,
			const struct pep_packet *pkt,
			struct pep_release_way *way)
{
	struct pep_track_end *self = &conn->end[side];
	struct pep_track_end *peer = &conn->end[!side];
	struct pep_flow *flow = conn->flow;
	const struct tcphdr *th = pkt->th;
	u32 last = ntohl(th->seq) + pkt->payload + th->fin;
	u32 ack = ntohl(th->ack_seq);

	way->leg = NULL;
	way->pass = true;
	if (th->ack && after(ack, self->ack) && !after(ack, peer->high)) {
		self->ack = ack;
		self->edge = ack + (ntohs(th->window) << self->wscale);
	}
	if (pep_release_try(conn, flow, th->rst))
		return;
	way->seq = self->next;
	way->ack = before(ack, peer->next) ? ack : peer->next;
	way->pass = after(last, self->next) || after(ack, peer->next);
	if (after(last, self->high))
		self->high = last;
	if (th->fin)
		self->flags |= PEP_TRACK_FIN;
	way->leg = flow->leg[side].sk;
	sock_hold(way->leg);
}

/*
 * A copy of the headers of a packet that goes on, for what it acknowledges. Return:
 * the copy, or NULL: it is as good as a packet that is lost.
 */
static struct sk_buff *pep_release_copy(const struct sk_buff *skb,
					const struct pep_packet *pkt,
					const struct pep_release_way *way)
{
	u32 len = pkt->thoff + __tcp_hdrlen(pkt->th);
	struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC);
	struct tcphdr *th;

	if (!copy)
		return NULL;
	if (pskb_trim(copy, len)) {
		kfree_skb(copy);
		return NULL;
	}
	th = (struct tcphdr *)(skb_network_header(copy) + pkt->thoff);
	th->seq = htonl(way->seq);
	th->ack_seq = htonl(way->ack);
	th->fin = 0;
	th->urg = 0;
	if (copy->protocol == htons(ETH_P_IP))
		ip_hdr(copy)->tot_len = htons(len);
	else
		ipv6_hdr(copy)->payload_len =
			htons(len - sizeof(struct ipv6hdr));
	skb_gso_reset(copy);
	copy->ip_summed = CHECKSUM_UNNECESSARY;
	copy->csum_level = 0;
	return copy;
}

/**
 * pep_release_deliver() - let a leg have a packet, or what it acknowledges
 * @pn: instance
 * @skb: packet; consumed unless it passes
 * @pkt: parsed @skb
 * @way: from pep_release_packet()
 *
 * Context: softirq, RCU read side, no socket locked.
 */
void pep_release_deliver(struct pep_net *pn, struct sk_buff *skb,
			 const struct pep_packet *pkt,
			 const struct pep_release_way *way)
{
	if (!way->leg)
		return;
	if (way->pass)
		skb = pep_release_copy(skb, pkt, way);
	if (skb)
		pep_deliver_local(pn, skb, way->leg);
	else
		sock_put(way->leg);
}
