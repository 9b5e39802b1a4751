// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake of a connection that is forwarded: the properties of its ends in the
 * SYN and SYN-ACK, the options that prevent splitting it, and both round trips.
 */

#include "handshake.h"

#include <net/tcp.h>

#include "adopt.h"
#include "gen.h"
#include "group.h"
#include "ipsec.h"
#include "leg.h"
#include "option.h"
#include "path.h"
#include "route.h"
#include "share.h"
#include "stat.h"
#include "synack.h"
#include "track.h"

/* The flag of AccECN, RFC 9768, once the nonce sum. */
#define PEP_HANDSHAKE_AE	htonl(0x01000000)

/* The ECN flags that an end negotiates, RFC 3168 and RFC 9768. */
static u8 pep_handshake_ecn(const struct tcphdr *th)
{
	bool ae = tcp_flag_word(th) & PEP_HANDSHAKE_AE;

	if (!th->ack)
		return (th->ece && th->cwr ? PEP_TRACK_ECN : 0) |
		       (ae ? PEP_TRACK_ACCECN : 0);
	if (ae || th->cwr)
		return PEP_TRACK_ACCECN;
	return th->ece ? PEP_TRACK_ECN : 0;
}

/* Note the state of an end from its SYN or SYN-ACK. */
static void pep_handshake_open(struct pep_track_end *end,
			       const struct sk_buff *skb,
			       const struct pep_packet *pkt,
			       const struct pep_options *options)
{
	const struct tcphdr *th = pkt->th;

	end->isn = ntohl(th->seq);
	end->next = end->isn + 1 + pkt->payload;
	end->high = end->next;
	end->label = pep_packet_label(skb);
	end->seen = jiffies;
	end->ifindex = skb->dev->ifindex;
	end->mss = options->mss ?: TCP_MSS_DEFAULT;
	end->wscale = options->wscale;
	end->tsval = options->tsval;
	end->flags = (options->has_wscale ? PEP_TRACK_SCALES : 0) |
		     (options->has_sack ? PEP_TRACK_SACK : 0) |
		     (options->has_ts ? PEP_TRACK_STAMPS : 0) |
		     pep_handshake_ecn(th);
}

/**
 * pep_handshake_new() - make a connection from its SYN
 * @pn: started instance
 * @side: side that the SYN came from, enum pep_side
 * @skb: SYN
 * @pkt: parsed @skb
 * @reason: set on failure: counter of the reason, for the caller to count
 *
 * Context: BH off, RCU read side; takes pep_path.lock.
 * Return: the connection, without triggers, for pep_track_insert(); or NULL.
 */
struct pep_conn *pep_handshake_new(struct pep_net *pn, enum pep_side side,
				   const struct sk_buff *skb,
				   const struct pep_packet *pkt,
				   enum pep_stat *reason)
{
	struct pep_options options;
	struct pep_conn *conn;
	struct pep_path *path;
	u64 now = ktime_get_ns();
	enum pep_stat refused;

	path = pep_path_find(pn, &pkt->tuple, side);
	refused = path ? pep_share_open(pn, path, now) : 0;
	if (refused) {
		pep_path_put(path);
		*reason = refused;
		return NULL;
	}
	conn = pep_track_new(&pkt->tuple, pep_tuple_vrf(skb->dev));
	if (!conn) {
		if (path) {
			pep_share_return(pn, path);
			pep_share_leave(path);
		}
		*reason = PEP_STAT_FOLLOW_NO_MEMORY;
		return NULL;
	}
	conn->path = path;
	pep_option_scan((const u8 *)(pkt->th + 1), pkt->options, &options);
	pep_job_init(&conn->job, pep_adopt_run);
	conn->opener = side;
	conn->seen = jiffies;
	conn->born = now;
	conn->dsfield[side] = pep_packet_dsfield(skb);
	pep_handshake_open(&conn->end[side], skb, pkt, &options);
	return conn;
}

/* May the SYN-ACK of a connection be sent again? Only connections that may be split use
 * the known properties of a link.
 */
static bool pep_handshake_renew(const struct pep_gen *gen,
				const struct pep_conn *conn)
{
	return gen->values.resume && conn->trigger &&
	       conn->opener == PEP_SIDE_WIRELESS &&
	       !pep_group_held_back(gen, &conn->tuple, conn->opener);
}

/**
 * pep_handshake_syn() - follow a connection from its SYN on
 * @gen: generation of the profile that may split it
 * @side: side that the SYN came from, enum pep_side
 * @skb: SYN, which passes
 * @pkt: parsed @skb
 * @reason: PEP_STAT_SPLIT_PASS_OPTION where something that steering looks at in the SYN
 *	prevents splitting the connection; another counter of a decision where the SYN
 *	was not answered early for a reason that holds later, too; or PEP_STAT_NONE
 *
 * Counts whether the connection is followed, or why not, unless its other SYN arrives on
 * another CPU, which counts it. One that is followed from now on counts in
 * PEP_STAT_SPLIT_PASS_OPTION, too, where the profile splits connections and this one must
 * not be; else in @reason where no trigger comes later, which would count that.
 *
 * Context: BH off, RCU read side; takes pep_path.lock, then pep_conn.lock and in it
 * pep_net.track_lock.
 */
void pep_handshake_syn(struct pep_gen *gen, enum pep_side side,
		       struct sk_buff *skb, const struct pep_packet *pkt,
		       enum pep_stat reason)
{
	enum pep_stat counter = PEP_STAT_FOLLOW_NO_MEMORY;
	u32 trigger = gen->values.split_trigger;
	bool wanted = trigger || gen->values.mode == PEP_CONNECT_MODE_EARLY;
	bool splittable = reason != PEP_STAT_SPLIT_PASS_OPTION &&
			  !pep_packet_gtsm(skb);
	struct pep_net *pn = gen->pn;
	struct pep_path *path = NULL;
	struct pep_conn *conn;
	int err = 0;

	if (!splittable)
		reason = PEP_STAT_SPLIT_PASS_OPTION;
	conn = pep_handshake_new(pn, side, skb, pkt, &counter);
	if (conn) {
		conn->trigger = splittable ? trigger : 0;
		if (!splittable)
			conn->end[side].flags |= PEP_TRACK_UNSPLIT;
		conn->renew = pep_handshake_renew(gen, conn);
		path = conn->path;
		err = pep_track_insert(pn, conn);
		if (err && path)
			pep_share_return(pn, path);
		switch (err) {
		case 0:
			counter = PEP_STAT_FOLLOW_NEW;
			if (!splittable ? wanted : reason && !trigger)
				pep_stat_unsplit(pn, side, &pkt->tuple, reason);
			break;
		case -EEXIST:
			/* Its other SYN arrived on another CPU. */
			return;
		case -ENOSPC:
			counter = PEP_STAT_FOLLOW_FULL;
			break;
		}
	}
	pep_stat_syn(pn, side, &pkt->tuple, counter);
}

/* Time since the SYN, us. */
static u32 pep_handshake_age(const struct pep_conn *conn)
{
	return div_u64(ktime_get_ns() - conn->born, NSEC_PER_USEC);
}

/* The target's answer to the SYN. */
static void pep_handshake_synack(struct pep_net *pn, struct pep_conn *conn,
				 struct sk_buff *skb,
				 const struct pep_packet *pkt)
{
	struct pep_track_end *opener = &conn->end[conn->opener];
	struct pep_track_end *target = &conn->end[!conn->opener];
	const struct tcphdr *th = pkt->th;
	u32 ack = ntohl(th->ack_seq);
	struct pep_options options;

	/* A target may refuse the payload of a SYN, RFC 7413. */
	if (!after(ack, opener->isn) || after(ack, opener->next))
		return;
	/* A leg of the connection before was in the VRF of its end; that of the opener's
	 * VRF went at the SYN.
	 */
	if (pep_tuple_vrf(skb->dev) != conn->vrf)
		pep_leg_clear_timewait(pn, &pkt->tuple, pep_tuple_vrf(skb->dev));
	pep_option_scan((const u8 *)(th + 1), pkt->options, &options);
	conn->dsfield[!conn->opener] = pep_packet_dsfield(skb);
	pep_handshake_open(target, skb, pkt, &options);
	target->ack = ack;
	target->edge = target->ack + ntohs(th->window);
	/* Half of all numbers lie before 0: begin with a valid one. */
	opener->ack = target->next;
	opener->edge = target->next;
	target->rtt = pep_handshake_age(conn);
	pep_track_advance(pn, conn, PEP_TRACK_SYNACK);
	/* Triggers may come later, see pep_choose_resumed(). */
	if (options.kind != PEP_OPTION_PLAIN || pep_packet_gtsm(skb) ||
	    (conn->trigger && !pep_ipsec_admits(skb)))
		target->flags |= PEP_TRACK_UNSPLIT;
	/* A reason in the SYN has been counted: there are no triggers. */
	if (!pep_track_splittable(conn))
		pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_OPTION);
	else if (conn->renew && !pkt->payload)
		pep_synack_keep(pn, conn, skb);
}

/* A SYN-ACK that its end has sent before shows that the end is alive. */
static void pep_handshake_again(struct pep_conn *conn, enum pep_side side,
				const struct sk_buff *skb,
				const struct pep_packet *pkt)
{
	struct pep_track_end *self = &conn->end[side];

	conn->repeated = true;
	if (ntohl(pkt->th->seq) + 1 + pkt->payload != self->next)
		return;
	self->seen = jiffies;
	/* Linux changes it when it repeats a SYN-ACK. */
	if (!conn->copies)
		self->label = pep_packet_label(skb);
}

/**
 * pep_handshake_answer() - note a SYN-ACK of a connection in the table
 * @pn: instance
 * @conn: connection, locked
 * @side: side that the packet came from, enum pep_side
 * @skb: packet
 * @pkt: parsed @skb
 *
 * Context: BH off, RCU read side.
 */
void pep_handshake_answer(struct pep_net *pn, struct pep_conn *conn,
			  enum pep_side side, struct sk_buff *skb,
			  const struct pep_packet *pkt)
{
	if (conn->stage == PEP_TRACK_OPENING && side != conn->opener)
		pep_handshake_synack(pn, conn, skb, pkt);
	else
		pep_handshake_again(conn, side, skb, pkt);
}

/* Does the route to an end lead to the device that its packets come by? */
static bool pep_handshake_routed(struct pep_net *pn, const struct pep_gen *gen,
				 const struct pep_conn *conn,
				 enum pep_side side)
{
	struct pep_tuple tuple = conn->tuple;
	struct dst_entry *dst;
	bool routed;

	if (side == conn->opener)
		pep_tuple_reverse(&tuple, &conn->tuple);
	dst = pep_route_out(pn->net, &tuple, conn->vrf, gen->values.mark, 0);
	routed = pep_route_uses(pn->net, dst, conn->end[side].ifindex);
	dst_release(dst);
	return routed;
}

/* Has one host made the handshake of two ends, of which one is elsewhere? */
static bool pep_handshake_spoofed(struct pep_net *pn, const struct pep_gen *gen,
				  const struct pep_conn *conn)
{
	return conn->end[0].ifindex == conn->end[1].ifindex &&
	       (!pep_handshake_routed(pn, gen, conn, 0) ||
		!pep_handshake_routed(pn, gen, conn, 1));
}

/**
 * pep_handshake_complete() - note that the opener has acknowledged the SYN-ACK
 * @pn: instance
 * @gen: generation of the opener's profile
 * @conn: connection in stage answered, locked
 *
 * The entry goes when it is beyond its subscriber's share, or when both ends' packets come
 * by one device and routing has another one for an end: one host may have sent them all.
 *
 * Context: softirq, RCU read side.
 */
void pep_handshake_complete(struct pep_net *pn, const struct pep_gen *gen,
			    struct pep_conn *conn)
{
	struct pep_track_end *opener = &conn->end[conn->opener];
	struct pep_track_end *target = &conn->end[!conn->opener];
	enum pep_stat reason = PEP_STAT_NONE;

	if (pep_handshake_spoofed(pn, gen, conn)) {
		reason = PEP_STAT_FOLLOW_SPOOFED;
	} else if (conn->path) {
		pep_path_touch(pn, conn->path);
	} else {
		conn->path = pep_path_get(pn, &conn->tuple, conn->opener);
		if (conn->path)
			reason = pep_share_join(pn, conn->path);
	}
	/* An entry would be the other subscriber's, or beyond the share of one who has
	 * opened many connections before they were known.
	 */
	if (reason) {
		pep_stat_inc(pn, reason);
		pep_track_close(pn, conn, PEP_CONN_CAUSE_EVICTED);
		return;
	}
	opener->rtt = pep_handshake_age(conn) - target->rtt;
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
	pep_stat_inc(pn, PEP_STAT_FOLLOW_ESTABLISHED);
}
