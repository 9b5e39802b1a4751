// SPDX-License-Identifier: GPL-2.0
/*
 * Comparison of connections that may be split with a control group that never is.
 *
 * group.c chooses the group of a connection. A connection stays in its group whatever
 * happens to it: a connection that may be split and never is counts with the times it had.
 * object.c finds its objects by the packets of the ends. A sample of the queueing delay is
 * the part of a round trip above the smallest one of the connection; the round trip begins
 * when payload leaves for the subscriber, a time that a leg records itself.
 */

#include "meter.h"

#include <linux/slab.h>
#include <net/tcp.h>

#include "flow.h"
#include "gain.h"
#include "gen.h"
#include "object.h"
#include "packet.h"
#include "tally.h"
#include "track.h"

/* States in which a leg has had a FIN to send, except TCP_CLOSE. */
#define PEP_METER_FIN							\
	(TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 | TCPF_CLOSING | TCPF_LAST_ACK)

/* The bound that the design states; debug kernels have larger locks. */
#if !IS_ENABLED(CONFIG_DEBUG_SPINLOCK) && !IS_ENABLED(CONFIG_LOCKDEP)
static_assert(sizeof(struct pep_meter) <= 128);
#endif

/* The present comparison of the profile's connections, with a reference, or NULL. */
static struct pep_gain *pep_meter_gain(const struct pep_gen *gen)
{
	struct pep_gain *gain = rcu_dereference(gen->tally->gain);

	return gain && pep_gain_get(gain) ? gain : NULL;
}

/**
 * pep_meter_begin() - begin to measure a connection
 * @gen: generation of the profile that may split it
 * @conn: connection that is past its SYN, locked
 * @group: enum pep_gain_group
 *
 * One that is answered early counts as a connection at pep_meter_up(). Without memory
 * the connection is not measured.
 *
 * Context: BH off, RCU read side.
 */
void pep_meter_begin(const struct pep_gen *gen, struct pep_conn *conn,
		     unsigned int group)
{
	const struct pep_track_end *wireless = &conn->end[PEP_SIDE_WIRELESS];
	struct pep_meter *meter;
	struct pep_gain *gain;

	if (!gen->values.control)
		return;
	gain = pep_meter_gain(gen);
	if (!gain)
		return;
	meter = kzalloc(sizeof(*meter), GFP_ATOMIC);
	if (!meter) {
		pep_gain_put(gain);
		return;
	}
	meter->gain = gain;
	meter->group = group;
	spin_lock_init(&meter->lock);
	/* See pep_meter_learn(). */
	meter->known = conn->stage == PEP_TRACK_FOLLOWED;
	meter->ack = wireless->ack;
	meter->all = true;
	meter->rtt = wireless->rtt;
	meter->since = ktime_get_ns();
	if (meter->known) {
		meter->counted = true;
		atomic64_inc(&gain->group[group].conns);
	}
	/* Pairs with readers of a connection that is split. */
	smp_store_release(&conn->meter, meter);
}

/**
 * pep_meter_up() - count a connection that was answered early
 * @flow: its flow, locked, which both ends are connected to
 *
 * Context: BH off.
 */
void pep_meter_up(const struct pep_flow *flow)
{
	const struct pep_conn *conn = flow->conn;
	struct pep_meter *meter;

	rcu_read_lock();
	/* Pairs with pep_meter_begin(). */
	meter = conn ? smp_load_acquire(&conn->meter) : NULL;
	if (meter) {
		spin_lock(&meter->lock);
		meter->counted = true;
		atomic64_inc(&pep_meter_group(meter)->conns);
		spin_unlock(&meter->lock);
	}
	rcu_read_unlock();
}

/* Count a sample of the round trip. */
static void pep_meter_sample(struct pep_meter *meter, u32 rtt)
{
	if (!rtt)
		return;
	meter->rtt = min_not_zero(meter->rtt, rtt);
	pep_gain_add(&pep_meter_group(meter)->delay, rtt - meter->rtt, 0,
		     meter->samples++);
}

/* Count payload that was sent to the subscriber a second time. */
static void pep_meter_repeat(struct pep_meter *meter, u64 bytes)
{
	meter->again += min_t(u64, bytes, U32_MAX - meter->again);
}

/* Payload up to LAST leaves for the subscriber: the first of a round trip is timed,
 * unless some is sent again meanwhile (Karn's algorithm, RFC 6298).
 */
static void pep_meter_pass(struct pep_meter *meter, u32 last, bool again,
			   u64 now)
{
	if (again) {
		meter->probing = false;
	} else if (!meter->probing) {
		meter->probing = true;
		meter->leg = false;
		meter->probe = last;
		meter->probed = pep_meter_us(now);
	}
}

/* Count the payload from SEQ to LAST that has passed before, all before HIGH has, but for
 * one hole: payload that comes late was reordered, or lost, on its way here. A leg would
 * not have sent it a second time. Return: bytes.
 */
static u32 pep_meter_passed(struct pep_meter *meter, u32 seq, u32 last,
			    u32 high)
{
	u32 end = before(last, high) ? last : high, from, to, again;

	if (!after(meter->hole_end, meter->ack))
		meter->hole = meter->hole_end;
	again = after(end, seq) ? end - seq : 0;
	from = after(seq, meter->hole) ? seq : meter->hole;
	to = before(end, meter->hole_end) ? end : meter->hole_end;
	if (meter->hole != meter->hole_end && after(to, from)) {
		again -= to - from;
		if (from == meter->hole)
			meter->hole = to;
		else if (to == meter->hole_end)
			meter->hole_end = from;
	}
	if (after(seq, high)) {
		if (meter->hole == meter->hole_end)
			meter->hole = high;
		meter->hole_end = seq;
	}
	return again;
}

/* Evaluate payload of the server that is forwarded; all before HIGH has passed. */
static void pep_meter_forward(struct pep_meter *meter,
			      const struct pep_packet *pkt, u32 high, u64 now)
{
	u32 seq = ntohl(pkt->th->seq), last = seq + pkt->payload, again;

	if (after(last, meter->ack))
		meter->all = false;
	if (meter->asking && after(last, high))
		pep_object_answer(meter, !before(ntohl(pkt->th->ack_seq),
						 meter->turn), 0, now);
	again = pep_meter_passed(meter, seq, last, high);
	pep_meter_repeat(meter, again);
	pep_meter_pass(meter, last, again, now);
}

/* Sequence number behind all payload that an end has sent. */
static u32 pep_meter_end_of(const struct pep_track_end *end)
{
	return end->high - !!(end->flags & PEP_TRACK_FIN);
}

/**
 * pep_meter_followed() - update the meter of a connection that is not split
 * @conn: measured connection that is followed or is handed back, past its handshake,
 *	locked, not yet updated by the packet
 * @side: side that the packet came from, enum pep_side
 * @pkt: packet
 *
 * Context: softirq.
 */
void pep_meter_followed(const struct pep_conn *conn, enum pep_side side,
			const struct pep_packet *pkt)
{
	const struct pep_track_end *wireless = &conn->end[PEP_SIDE_WIRELESS];
	const struct pep_track_end *server = &conn->end[PEP_SIDE_SERVER];
	u32 last = ntohl(pkt->th->seq) + pkt->payload;
	u32 high = pep_meter_end_of(server);
	struct pep_meter *meter = conn->meter;
	u64 now = ktime_get_ns();

	spin_lock(&meter->lock);
	if (side == PEP_SIDE_SERVER) {
		if (pkt->payload && !after(last, wireless->edge))
			pep_meter_forward(meter, pkt, high, now);
	} else {
		pep_object_packet(meter, pkt, wireless->high, high, now);
		if (meter->probing && !before(meter->ack, meter->probe)) {
			if (!meter->leg)
				pep_meter_sample(meter, pep_meter_us(now) -
							meter->probed);
			meter->probing = false;
		}
	}
	spin_unlock(&meter->lock);
}

/* Payload that has arrived for the subscriber and is not relayed yet, bytes. */
static u32 pep_meter_unread(const struct sock *server)
{
	u32 copied, unread;

	if (!server)
		return 0;
	/* In this order: the relay can make it too large, but never negative. */
	copied = READ_ONCE(tcp_sk(server)->copied_seq);
	/* Pairs with the lock of the leg, under which the relay has seen rcv_nxt. */
	smp_rmb();
	unread = READ_ONCE(tcp_sk(server)->rcv_nxt) - copied;
	/* A FIN has a sequence number, too. */
	return unread && sock_flag(server, SOCK_DONE) ? unread - 1 : unread;
}

/* Sequence number behind all payload that a leg has had to send. */
static u32 pep_meter_written(const struct sock *sk)
{
	bool fin = BIT(inet_sk_state_load(sk)) & PEP_METER_FIN;

	return READ_ONCE(tcp_sk(sk)->write_seq) - fin;
}

/* Number of the first byte that a leg of a connection that was answered early has sent; a leg
 * that connects counts its SYN.
 */
static u32 pep_meter_first(const struct pep_flow *flow, enum pep_side side,
			   const struct tcp_sock *tp)
{
	return READ_ONCE(tp->snd_una) - (u32)READ_ONCE(tp->bytes_acked) +
	       (flow->opener != side);
}

/* Begin where the subscriber's leg began, for a connection that was answered early. */
static void pep_meter_learn(struct pep_meter *meter,
			    const struct pep_flow *flow,
			    const struct sock *wireless)
{
	const struct tcp_sock *tp = tcp_sk(wireless);
	u32 rtt = tcp_min_rtt(tp);

	meter->known = true;
	meter->ack = pep_meter_first(flow, PEP_SIDE_WIRELESS, tp);
	/* That of the handshake, as of a connection that is followed. */
	meter->rtt = rtt == ~0U ? 0 : rtt;
	meter->since = flow->at[PEP_FLOW_TIME_ACCEPTED] ?: meter->since;
}

/* Sample the round trip of the leg: TCP's, of the first acknowledgment of a packet that
 * was sent after the sample before, unless packets were sent again meanwhile.
 */
static void pep_meter_time(struct pep_meter *meter, const struct sock *wireless)
{
	const struct tcp_sock *tp = tcp_sk(wireless);
	u32 again = READ_ONCE(tp->bytes_retrans);

	if (meter->probing && meter->leg) {
		if (!meter->armed) {
			/* TCP has not seen this acknowledgment yet. */
			meter->armed = after(meter->ack, meter->probe);
			return;
		}
		if (meter->probed == again)
			pep_meter_sample(meter, READ_ONCE(tp->rack.rtt_us));
	}
	meter->probing = true;
	meter->leg = true;
	meter->armed = false;
	meter->probe = READ_ONCE(tp->snd_nxt);
	meter->probed = again;
}

/* Does payload of the server acknowledge the subscriber's turn? A leg that takes the place of
 * the subscriber has their numbers; of another one the places in the stream are compared.
 * The numbers of legs may change between two reads: at worst one object is not measured.
 */
static bool pep_meter_answers(const struct pep_meter *meter,
			      const struct pep_flow *flow,
			      const struct tcp_sock *wireless,
			      const struct tcp_sock *server,
			      const struct pep_packet *pkt)
{
	u32 ack = ntohl(pkt->th->ack_seq), first;

	if (flow->mode == PEP_CONNECT_MODE_FOLLOW)
		return !before(ack, meter->turn);
	first = READ_ONCE(wireless->rcv_nxt) -
		(u32)READ_ONCE(wireless->bytes_received);
	return !before(ack - pep_meter_first(flow, PEP_SIDE_SERVER, server),
		       meter->turn - first);
}

/* Evaluate a packet of the server of a connection that is split: new payload may be an
 * answer.
 */
static void pep_meter_served(struct pep_meter *meter,
			     const struct pep_flow *flow,
			     const struct tcp_sock *wireless,
			     const struct tcp_sock *server,
			     const struct pep_packet *pkt)
{
	if (!pkt->payload || !READ_ONCE(meter->asking) ||
	    !after(ntohl(pkt->th->seq) + pkt->payload,
		   READ_ONCE(server->rcv_nxt)))
		return;
	spin_lock(&meter->lock);
	if (meter->asking)
		pep_object_answer(meter, pep_meter_answers(meter, flow, wireless,
							   server, pkt),
				  flow->at[PEP_FLOW_TIME_ANSWERED],
				  ktime_get_ns());
	spin_unlock(&meter->lock);
}

/**
 * pep_meter_split() - update the meter of a connection that is split
 * @conn: connection
 * @flow: flow of the connection
 * @side: side that the packet came from, enum pep_side
 * @pkt: packet, which is not delivered yet
 *
 * Context: softirq, RCU read side.
 */
void pep_meter_split(const struct pep_conn *conn, const struct pep_flow *flow,
		     enum pep_side side, const struct pep_packet *pkt)
{
	/* Pairs with pep_flow_set_leg(). */
	struct sock *wireless = smp_load_acquire(&flow->leg[PEP_SIDE_WIRELESS].sk);
	/* This pairs with it, too. */
	struct sock *server = smp_load_acquire(&flow->leg[PEP_SIDE_SERVER].sk);
	/* Pairs with pep_meter_begin(); the meter stays valid under RCU. */
	struct pep_meter *meter = smp_load_acquire(&conn->meter);
	u32 high;

	if (!meter || !wireless ||
	    inet_sk_state_load(wireless) == TCP_CLOSE)
		return;
	if (side == PEP_SIDE_SERVER) {
		if (server)
			pep_meter_served(meter, flow, tcp_sk(wireless),
					 tcp_sk(server), pkt);
		return;
	}
	/* A SYN-ACK comes before there is a round trip. */
	if (inet_sk_state_load(wireless) == TCP_SYN_SENT)
		return;
	/* Payload that the relay moves meanwhile counts twice: not all of it has
	 * been acknowledged anyway.
	 */
	high = pep_meter_unread(server);
	high += pep_meter_written(wireless);
	spin_lock(&meter->lock);
	if (!meter->known)
		pep_meter_learn(meter, flow, wireless);
	pep_object_packet(meter, pkt, READ_ONCE(tcp_sk(wireless)->rcv_nxt), high,
			  ktime_get_ns());
	meter->hole = meter->hole_end;
	pep_meter_time(meter, wireless);
	spin_unlock(&meter->lock);
}

/**
 * pep_meter_leg() - note the end of the leg of a subscriber
 * @flow: flow that ends, with its legs locked
 *
 * Notes the payload that the leg has sent again, and whether the subscriber has
 * acknowledged all. The packets of a connection that is handed back show the latter
 * better: each end may have acknowledged the other end's payload beside the leg.
 *
 * Context: BH off.
 */
void pep_meter_leg(const struct pep_flow *flow)
{
	const struct pep_leg *leg = &flow->leg[PEP_SIDE_WIRELESS];
	const struct pep_conn *conn = flow->conn;
	const struct tcp_sock *tp;
	struct pep_meter *meter;

	rcu_read_lock();
	meter = conn ? READ_ONCE(conn->meter) : NULL;
	if (meter && leg->sk) {
		tp = tcp_sk(leg->sk);
		spin_lock(&meter->lock);
		pep_meter_repeat(meter, tp->bytes_retrans);
		/* Whether or not its FIN was acknowledged. */
		if (READ_ONCE(conn->stage) == PEP_TRACK_SPLIT)
			meter->all = !before(tp->snd_una,
					     tp->write_seq - leg->fin_sent) &&
				     !pep_meter_unread(flow->leg[PEP_SIDE_SERVER].sk);
		spin_unlock(&meter->lock);
	}
	rcu_read_unlock();
}

/**
 * pep_meter_closing() - count a connection whose payload is all acknowledged
 * @conn: measured connection that both ends have closed, locked
 *
 * Otherwise this waits for the last acknowledgment, or the end of the connection.
 *
 * Context: softirq.
 */
void pep_meter_closing(struct pep_conn *conn)
{
	struct pep_meter *meter = conn->meter;
	bool all;

	spin_lock(&meter->lock);
	all = meter->all;
	spin_unlock(&meter->lock);
	if (all)
		pep_meter_end(conn);
}

/**
 * pep_meter_end() - count a connection, and stop measuring it
 * @conn: connection that ends, whose packets may have passed unseen, or whose payload is all
 *	acknowledged, locked
 *
 * One in PEP_TRACK_GONE of which payload is missing counts as cut.
 *
 * Context: BH off.
 */
void pep_meter_end(struct pep_conn *conn)
{
	struct pep_meter *meter = conn->meter;
	struct pep_gain_conns *group;

	if (!meter)
		return;
	/* Only packets that have found it already still use it. */
	WRITE_ONCE(conn->meter, NULL);
	group = pep_meter_group(meter);
	spin_lock(&meter->lock);
	if (meter->all)
		pep_object_close(meter, meter->asking ? meter->before :
						       meter->sent);
	else if (meter->counted && conn->stage == PEP_TRACK_GONE)
		atomic64_inc(&group->cut);
	meter->open = false;
	WRITE_ONCE(meter->asking, false);
	atomic64_add(meter->bytes, &group->bytes);
	atomic64_add(meter->again, &group->again);
	spin_unlock(&meter->lock);
	pep_gain_put(meter->gain);
	kfree_rcu(meter, rcu);
}
