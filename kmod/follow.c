// SPDX-License-Identifier: GPL-2.0
/*
 * Following connections that are forwarded: what the ends have agreed, sent and
 * acknowledged, and when one is worth to be split.
 *
 * Nothing is held back or changed. What is noted of an end is what the other
 * one will have seen of it: the highest acknowledgment, the highest right edge,
 * the latest clock. Until the decision is made copies are kept of payload that
 * is not acknowledged.
 */

#include "follow.h"

#include <linux/unaligned.h>
#include <net/tcp.h>

#include "adopt.h"
#include "copy.h"
#include "flow.h"
#include "gen.h"
#include "option.h"
#include "release.h"
#include "stat.h"
#include "track.h"

/**
 * struct pep_follow_options - options of a segment that is no SYN
 * @has_ts: there is a timestamp, RFC 7323
 * @has_sack: there are SACK blocks, RFC 2018
 * @tsval: the timestamp
 */
struct pep_follow_options {
	bool has_ts;
	bool has_sack;
	u32 tsval;
};

/* Look through the options of a segment; what is broken ends them. */
static void pep_follow_scan(const struct pep_packet *pkt,
			    struct pep_follow_options *found)
{
	const u8 *opt = (const u8 *)(pkt->th + 1);
	unsigned int len = pkt->options, size;

	memset(found, 0, sizeof(*found));
	for (; len && opt[0] != TCPOPT_EOL; opt += size, len -= size) {
		size = 1;
		if (opt[0] == TCPOPT_NOP)
			continue;
		if (len < 2 || opt[1] < 2 || opt[1] > len)
			return;
		size = opt[1];
		if (opt[0] == TCPOPT_TIMESTAMP && size == TCPOLEN_TIMESTAMP) {
			found->has_ts = true;
			found->tsval = get_unaligned_be32(opt + 2);
		} else if (opt[0] == TCPOPT_SACK) {
			found->has_sack = true;
		}
	}
}

/* The flag of AccECN, RFC 9768, once the nonce sum. */
#define PEP_FOLLOW_AE	htonl(0x01000000)

/* What an end negotiates, RFC 3168 and RFC 9768, by its SYN or SYN-ACK. */
static u8 pep_follow_ecn(const struct tcphdr *th)
{
	bool ae = tcp_flag_word(th) & PEP_FOLLOW_AE;

	if (!th->ack)
		return (th->ece && th->cwr ? PEP_TRACK_ECN : 0) |
		       (ae ? PEP_TRACK_ACCECN : 0);
	if (ae || th->cwr)
		return PEP_TRACK_ACCECN;
	return th->ece ? PEP_TRACK_ECN : 0;
}

/* Does an end hold the other to its distance, RFC 5082? A leg has another TTL. */
static bool pep_follow_gtsm(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6) ?
	       ipv6_hdr(skb)->hop_limit == 255 : ip_hdr(skb)->ttl == 255;
}

/* What a SYN or SYN-ACK says of its end. */
static void pep_follow_open(struct pep_track_end *end,
			    const struct sk_buff *skb,
			    const struct pep_packet *pkt,
			    const struct pep_options *options)
{
	const struct tcphdr *th = pkt->th;

	end->next = ntohl(th->seq) + 1 + pkt->payload;
	end->high = end->next;
	end->seen = jiffies;
	end->ifindex = skb->dev->ifindex;
	end->mss = options->mss ?: TCP_MSS_DEFAULT;
	end->wscale = options->wscale;
	end->tsval = options->tsval;
	end->flags = (options->has_wscale ? PEP_TRACK_SCALES : 0) |
		     (options->has_sack ? PEP_TRACK_SACK : 0) |
		     (options->has_ts ? PEP_TRACK_STAMPS : 0) |
		     pep_follow_ecn(th);
}

/**
 * pep_follow_new() - make a connection by its SYN
 * @side: side that the SYN came from, enum pep_side
 * @skb: SYN
 * @pkt: parsed @skb
 *
 * Context: softirq, RCU read side.
 * Return: the connection, which no event splits, for pep_track_insert(); or NULL.
 */
struct pep_conn *pep_follow_new(unsigned int side, const struct sk_buff *skb,
				const struct pep_packet *pkt)
{
	struct pep_options options;
	struct pep_conn *conn;

	conn = pep_track_new(&pkt->tuple, pep_tuple_vrf(skb->dev));
	if (!conn)
		return NULL;
	pep_option_scan((const u8 *)(pkt->th + 1), pkt->options, &options);
	pep_job_init(&conn->job, pep_adopt_run);
	conn->opener = side;
	conn->isn = ntohl(pkt->th->seq);
	conn->seen = jiffies;
	conn->born = ktime_get_ns();
	conn->dsfield[side] = pep_packet_dsfield(skb);
	pep_follow_open(&conn->end[side], skb, pkt, &options);
	return conn;
}

/* Does the flow of a connection that is answered early wait for its opener? */
static bool pep_follow_opening(const struct pep_flow *flow)
{
	return flow->mode == PEP_CONNECT_MODE_EARLY &&
	       READ_ONCE(flow->state) == PEP_FLOW_STATE_CONNECTING;
}

/*
 * May an end that sends a SYN open the connection anew? Its leg, which would judge
 * that, is over, or it is an opener that has not been accepted yet. A SYN for a
 * leg that lives has come on a way on which it does not find that.
 */
static bool pep_follow_forgotten(const struct pep_conn *conn, bool forth)
{
	unsigned int side = forth ? conn->opener : !conn->opener;
	/* Pairs with pep_flow_set_leg(). */
	const struct sock *sk = smp_load_acquire(&conn->flow->leg[side].sk);

	return sk ? inet_sk_state_load(sk) == TCP_CLOSE : forth;
}

/* A SYN of a connection that is in the table, with that locked. */
static enum pep_follow_verdict pep_follow_again(struct pep_net *pn,
						struct pep_conn *conn,
						const struct pep_packet *pkt)
{
	bool forth = !memcmp(&conn->tuple, &pkt->tuple, sizeof(pkt->tuple));
	bool same = forth && conn->isn == ntohl(pkt->th->seq);

	if (conn->stage == PEP_TRACK_GONE)
		return PEP_FOLLOW_UNKNOWN;
	/* It passes: the other end questions it. */
	if (conn->stage == PEP_TRACK_RELEASING)
		return PEP_FOLLOW_PASS;
	/* Another CPU is about to answer it. */
	if (conn->stage == PEP_TRACK_OPENING && conn->early)
		return PEP_FOLLOW_CONSUMED;
	if (conn->stage == PEP_TRACK_SPLIT &&
	    READ_ONCE(conn->flow->state) != PEP_FLOW_STATE_DEAD) {
		if (same && pep_follow_opening(conn->flow))
			return PEP_FOLLOW_SPLIT;
		/* The end has forgotten the connection: so do we, before it
		 * tries again.
		 */
		if (pep_follow_forgotten(conn, forth)) {
			WRITE_ONCE(conn->flow->killed, true);
			pep_flow_schedule(conn->flow);
		}
		return PEP_FOLLOW_CONSUMED;
	}
	if (same && conn->stage < PEP_TRACK_CLOSING) {
		conn->seen = jiffies;
		conn->repeated = true;
		return PEP_FOLLOW_PASS;
	}
	pep_track_end(pn, conn, PEP_CONN_CAUSE_REOPENED);
	return PEP_FOLLOW_UNKNOWN;
}

/**
 * pep_follow_known() - see to a SYN whose connection may be in the table
 * @pn: started instance
 * @skb: SYN
 * @pkt: parsed @skb
 *
 * Context: softirq, RCU read side.
 * Return: what to do with it; PEP_FOLLOW_UNKNOWN when it opens a connection.
 */
enum pep_follow_verdict pep_follow_known(struct pep_net *pn,
					 struct sk_buff *skb,
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
	verdict = pep_follow_again(pn, conn, pkt);
	spin_unlock(&conn->lock);
	if (verdict == PEP_FOLLOW_CONSUMED) {
		pep_stat_inc(pn, PEP_A_STAT_DROPPED);
		kfree_skb(skb);
	}
	return verdict;
}

/**
 * pep_follow_syn() - follow a connection from its SYN on
 * @gen: generation of the profile that may split it
 * @side: side that it came from, enum pep_side
 * @skb: SYN, which passes
 * @pkt: parsed @skb
 * @splittable: no option of the SYN is against splitting it
 *
 * Context: softirq, RCU read side.
 */
void pep_follow_syn(struct pep_gen *gen, unsigned int side,
		    struct sk_buff *skb, const struct pep_packet *pkt,
		    bool splittable)
{
	unsigned int counter = PEP_A_STAT_FOLLOW_NO_MEMORY;
	u32 trigger = gen->values.split_trigger;
	struct pep_net *pn = gen->pn;
	struct pep_conn *conn;

	splittable = splittable && !pep_follow_gtsm(skb);
	conn = pep_follow_new(side, skb, pkt);
	if (conn) {
		conn->trigger = splittable ? trigger : 0;
		conn->split_bytes = gen->values.split_bytes;
		switch (pep_track_insert(pn, conn)) {
		case 0:
			counter = PEP_A_STAT_FOLLOW_NEW;
			if (trigger && !splittable)
				pep_stat_inc(pn, PEP_A_STAT_SPLIT_PASS_OPTION);
			break;
		case -EEXIST:
			/* Its other SYN came by another CPU. */
			return;
		case -ENOSPC:
			counter = PEP_A_STAT_FOLLOW_FULL;
			break;
		}
	}
	pep_stat_syn(pn, side, &pkt->tuple, counter);
}

/* How long it is since the SYN, us. */
static u32 pep_follow_age(const struct pep_conn *conn)
{
	return div_u64(ktime_get_ns() - conn->born, NSEC_PER_USEC);
}

/* The target's answer to the SYN. */
static void pep_follow_synack(struct pep_net *pn, struct pep_conn *conn,
			      const struct sk_buff *skb,
			      const struct pep_packet *pkt)
{
	struct pep_track_end *opener = &conn->end[conn->opener];
	struct pep_track_end *target = &conn->end[!conn->opener];
	const struct tcphdr *th = pkt->th;
	struct pep_options options;

	if (ntohl(th->ack_seq) != opener->next)
		return;
	pep_option_scan((const u8 *)(th + 1), pkt->options, &options);
	conn->dsfield[!conn->opener] = pep_packet_dsfield(skb);
	pep_follow_open(target, skb, pkt, &options);
	target->ack = opener->next;
	target->edge = target->ack + ntohs(th->window);
	/* Half of all numbers lie before 0: begin with a true one. */
	opener->ack = target->next;
	opener->edge = target->next;
	target->rtt = pep_follow_age(conn);
	pep_track_advance(pn, conn, PEP_TRACK_SYNACK);
	if (options.kind != PEP_OPTION_PLAIN || pep_follow_gtsm(skb) ||
	    (opener->flags & target->flags & PEP_TRACK_ACCECN))
		pep_adopt_give_up(pn, conn, PEP_A_STAT_SPLIT_PASS_OPTION);
}

/* The handshake is complete: copies are kept from here on. */
static void pep_follow_established(struct pep_net *pn, struct pep_gen *gen,
				   struct pep_conn *conn)
{
	struct pep_track_end *opener = &conn->end[conn->opener];
	struct pep_track_end *target = &conn->end[!conn->opener];

	opener->rtt = pep_follow_age(conn) - target->rtt;
	/* Karn's algorithm, RFC 6298. */
	if (conn->repeated) {
		opener->rtt = 0;
		target->rtt = 0;
	}
	/* RFC 7323: only where both ends have the option. */
	if (!(opener->flags & target->flags & PEP_TRACK_SCALES)) {
		opener->wscale = 0;
		target->wscale = 0;
	}
	pep_track_advance(pn, conn, PEP_TRACK_ACK);
	pep_stat_inc(pn, PEP_A_STAT_FOLLOW_ESTABLISHED);
	if (!conn->trigger)
		return;
	conn->copies = pep_copies_new(gen, conn->end);
	if (!conn->copies)
		pep_adopt_give_up(pn, conn, PEP_A_STAT_SPLIT_PASS_NO_MEMORY);
	else
		pep_adopt_prepare(conn);
	conn->due = conn->trigger & PEP_SPLIT_TRIGGER_HANDSHAKE;
}

/* Keep payload that passes, and see what it means. */
static void pep_follow_payload(struct pep_net *pn, struct pep_conn *conn,
			       unsigned int side, struct sk_buff *skb,
			       const struct pep_packet *pkt)
{
	struct pep_track_end *self = &conn->end[side];
	u32 last = ntohl(pkt->th->seq) + pkt->payload;
	bool kept;

	self->bytes += pkt->payload;
	if (!after(last, self->next)) {
		self->repeated += pkt->payload;
		/* A probe repeats acknowledged payload. */
		if (side == PEP_SIDE_SERVER &&
		    after(last, conn->end[!side].ack))
			conn->due |= PEP_SPLIT_TRIGGER_LOSS;
	}
	if (self->bytes >= conn->split_bytes)
		conn->due |= PEP_SPLIT_TRIGGER_BYTES;
	kept = conn->copies &&
	       pep_copies_add(conn->copies, side, self, skb, pkt);
	if (after(last, self->high))
		self->high = last;
	if (conn->copies && !kept &&
	    !pep_copies_restart(conn->copies, side, self))
		pep_adopt_give_up(pn, conn, PEP_A_STAT_SPLIT_PASS_COPIES);
	if (!conn->copies)
		self->next = self->high;
}

/* What an end acknowledges and offers. */
static void pep_follow_ack(struct pep_conn *conn, unsigned int side,
			   const struct pep_packet *pkt)
{
	struct pep_track_end *self = &conn->end[side];
	u32 ack = ntohl(pkt->th->ack_seq);
	u32 edge = ack + (ntohs(pkt->th->window) << self->wscale);

	if (after(ack, self->ack)) {
		self->ack = ack;
		if (conn->copies)
			pep_copies_acked(conn->copies, !side, ack);
	}
	if (after(edge, self->edge))
		self->edge = edge;
}

/* Can the packet be what it says? The other end would drop it otherwise. */
static bool pep_follow_plausible(const struct pep_conn *conn,
				 unsigned int side, const struct sk_buff *skb,
				 const struct pep_packet *pkt)
{
	const struct pep_track_end *peer = &conn->end[!side];
	const struct tcphdr *th = pkt->th;

	return th->ack && !after(ntohl(th->ack_seq), peer->high) &&
	       !after(ntohl(th->seq) + pkt->payload, peer->edge) &&
	       !before(ntohl(th->seq) + pkt->payload, peer->ack) &&
	       (!conn->copies || pep_packet_csum_ok(skb, pkt));
}

/* A packet of an established connection. */
static void pep_follow_segment(struct pep_net *pn, struct pep_conn *conn,
			       unsigned int side, struct sk_buff *skb,
			       const struct pep_packet *pkt)
{
	struct pep_track_end *self = &conn->end[side];
	u32 seq = ntohl(pkt->th->seq);
	bool fin = pkt->th->fin, urg = pkt->th->urg;
	struct pep_follow_options options;

	if (!pep_follow_plausible(conn, side, skb, pkt))
		return;
	pep_follow_scan(pkt, &options);
	/* The other end ignores the clock of a segment behind a hole. */
	if (options.has_ts && !after(seq, self->next) &&
	    (s32)(options.tsval - self->tsval) > 0)
		self->tsval = options.tsval;
	self->seen = jiffies;
	if (options.has_sack && side == PEP_SIDE_WIRELESS)
		conn->due |= PEP_SPLIT_TRIGGER_LOSS;
	self->ifindex = skb->dev->ifindex;
	conn->dsfield[side] = pep_packet_dsfield(skb);
	pep_follow_ack(conn, side, pkt);
	if (pkt->payload)
		pep_follow_payload(pn, conn, side, skb, pkt);
	if (fin && self->high == seq + pkt->payload &&
	    !(self->flags & PEP_TRACK_FIN)) {
		self->flags |= PEP_TRACK_FIN;
		self->high++;
		self->next++;
		if (conn->end[!side].flags & PEP_TRACK_FIN) {
			pep_track_advance(pn, conn, PEP_TRACK_FINS);
			pep_stat_inc(pn, PEP_A_STAT_FOLLOW_CLOSED);
		}
	}
	if (fin || urg)
		pep_adopt_give_up(pn, conn, PEP_A_STAT_SPLIT_PASS_END);
	if (conn->copies && READ_ONCE(conn->copies->gen->closed))
		pep_adopt_give_up(pn, conn, PEP_A_STAT_SPLIT_PASS_STOPPING);
	conn->due &= conn->trigger;
	if (conn->due && pep_adopt_ready(conn))
		pep_track_schedule(conn);
}

/* Does a reset come from the end that it says? As TCP asks, RFC 5961. */
static bool pep_follow_reset(const struct pep_conn *conn, unsigned int side,
			     const struct tcphdr *th)
{
	const struct pep_track_end *self = &conn->end[side];
	const struct pep_track_end *peer = &conn->end[!side];
	u32 seq = ntohl(th->seq);

	if (conn->stage == PEP_TRACK_OPENING)
		return side == conn->opener ? seq == self->next :
		       th->ack && ntohl(th->ack_seq) == peer->next;
	return !before(seq, peer->ack) && !after(seq, peer->edge);
}

/* A packet that is no SYN of a connection whose flow is none of ours yet. */
static void pep_follow_step(struct pep_net *pn, struct pep_gen *gen,
			    struct pep_conn *conn, unsigned int side,
			    struct sk_buff *skb, const struct pep_packet *pkt)
{
	const struct tcphdr *th = pkt->th;

	WRITE_ONCE(conn->seen, jiffies);
	if (th->rst) {
		if (pep_follow_reset(conn, side, th) &&
		    pep_packet_csum_ok(skb, pkt)) {
			pep_track_end(pn, conn, PEP_CONN_CAUSE_RESET);
			pep_stat_inc(pn, PEP_A_STAT_FOLLOW_RESET);
		}
		return;
	}
	if (th->syn) {
		if (conn->stage == PEP_TRACK_OPENING && side != conn->opener)
			pep_follow_synack(pn, conn, skb, pkt);
		else
			conn->repeated = true;
		return;
	}
	if (conn->stage == PEP_TRACK_ANSWERED && side == conn->opener && gen &&
	    pep_follow_plausible(conn, side, skb, pkt) &&
	    ntohl(th->ack_seq) == conn->end[!side].next)
		pep_follow_established(pn, gen, conn);
	if (conn->stage == PEP_TRACK_FOLLOWED)
		pep_follow_segment(pn, conn, side, skb, pkt);
}

/**
 * pep_follow_packet() - follow a packet that is no SYN
 * @pn: started instance
 * @gen: generation of the profile of its device, or NULL
 * @skb: packet
 * @pkt: parsed @skb
 *
 * Context: softirq, RCU read side.
 * Return: what to do with it.
 */
enum pep_follow_verdict pep_follow_packet(struct pep_net *pn,
					  struct pep_gen *gen,
					  struct sk_buff *skb,
					  const struct pep_packet *pkt)
{
	enum pep_follow_verdict verdict = PEP_FOLLOW_PASS;
	struct pep_release_way way = { .leg = NULL };
	struct pep_conn *conn;
	unsigned int side;

	conn = pep_track_find(pn, &pkt->tuple, pep_tuple_vrf(skb->dev));
	if (!conn)
		return PEP_FOLLOW_UNKNOWN;
	/* Most packets of a split one; pairs with pep_track_advance(). */
	if (smp_load_acquire(&conn->stage) == PEP_TRACK_SPLIT)
		return PEP_FOLLOW_SPLIT;
	spin_lock(&conn->lock);
	side = pkt->tuple.sport == conn->tuple.sport &&
	       !memcmp(&pkt->tuple.src, &conn->tuple.src,
		       sizeof(pkt->tuple.src)) ? conn->opener : !conn->opener;
	if (conn->stage == PEP_TRACK_SPLIT)
		verdict = PEP_FOLLOW_SPLIT;
	else if (conn->stage == PEP_TRACK_GONE)
		verdict = PEP_FOLLOW_UNKNOWN;
	else if (conn->stage == PEP_TRACK_RELEASING)
		pep_release_packet(conn, side, skb, pkt, &way);
	else
		pep_follow_step(pn, gen, conn, side, skb, pkt);
	spin_unlock(&conn->lock);
	if (!way.leg)
		return verdict;
	pep_release_deliver(pn, skb, pkt, &way);
	return way.pass ? PEP_FOLLOW_PASS : PEP_FOLLOW_CONSUMED;
}
