// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets that become the ends of a connection that they have not opened, and that end
 * without a packet.
 *
 * TCP_REPAIR: under repair tcp_connect() leads to TCP_ESTABLISHED, and disconnect() to
 * TCP_CLOSE, without a packet. Each leg goes on with the sequence numbers, the options
 * and the clock of the end that it speaks for, and its send queue holds the payload under
 * way as already sent. In this file the peer of a leg is the end on its own side, which it
 * talks to, and self the other end, which it speaks for.
 */

#include "repair.h"

#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/tcp.h>

#include "compat.h"
#include "copies.h"
#include "gen.h"
#include "leg.h"
#include "path.h"
#include "route.h"

/* Largest receive buffer for the window that a leg's end was promised, bytes. */
#define PEP_REPAIR_RCVBUF	(16 * 1024 * 1024)

/* Note one sample of the round trip as TCP does, RFC 6298, when the leg has sent up to @next.
 * Without a sample the leg starts with TCP's initial values.
 */
static void pep_repair_set_rtt(struct tcp_sock *tp, u32 rtt, u32 next)
{
	if (!rtt)
		return;
	tp->srtt_us = rtt << 3;
	tp->mdev_us = rtt << 1;
	tp->rttvar_us = max(tp->mdev_us, tcp_rto_min_us((struct sock *)tp));
	tp->mdev_max_us = tp->rttvar_us;
	tp->rtt_seq = next;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, rtt);
}

/* Options that both ends have. */
static u8 pep_repair_agreed(const struct pep_conn *conn)
{
	return conn->end[0].flags & conn->end[1].flags;
}

/* Have an IPv6 leg use the next hop that forwarded packets with its label use. Return: 0 or
 * a negative error.
 */
static int pep_repair_path(struct sock *sk)
{
	u32 hash;

	if (!PEP_COMPAT_PATH_BY_TXHASH || sk->sk_family != AF_INET6 ||
	    ip6_multipath_hash_policy(sock_net(sk)))
		return 0;
	hash = pep_route_hash6(sk);
	if (!hash)
		return 0;
	WRITE_ONCE(sk->sk_txhash, hash << 1 | 1);
	__sk_dst_reset(sk);
	return inet_csk(sk)->icsk_af_ops->rebuild_header(sk);
}

/* MSS towards the end on a side, bytes: that of its SYN, or the one that the other end has
 * gone by.
 */
static u16 pep_repair_mss(const struct pep_conn *conn, enum pep_side side)
{
	u16 full = conn->copies->full[!side];
	u16 mss = conn->end[side].mss;

	return full >= TCP_MSS_DEFAULT ? min(full, mss) : mss;
}

/*
 * Establish the leg of a side: set the state that precedes connect(), which
 * sends nothing under repair. Return: 0 or a negative error.
 */
static int pep_repair_connect(const struct pep_conn *conn, enum pep_side side,
			      struct sock *sk)
{
	const struct pep_track_end *peer = &conn->end[side];
	struct tcp_sock *tp = tcp_sk(sk);
	struct pep_tuple tuple;
	int err;

	/* The source is the end that the leg speaks for. */
	if (side == conn->opener)
		pep_tuple_reverse(&tuple, &conn->tuple);
	else
		tuple = conn->tuple;
	tp->repair = 1;
	tp->repair_queue = TCP_SEND_QUEUE;
	tp->rcv_nxt = peer->next;
	tp->rx_opt.user_mss = pep_repair_mss(conn, side);
	pep_repair_set_rtt(tp, peer->rtt, peer->ack);
	err = pep_leg_connect(sk, &tuple, peer->ack);
	tp->rx_opt.user_mss = 0;
	if (!err && sk->sk_state != TCP_ESTABLISHED)
		err = -EPROTO;
	if (!err)
		err = pep_repair_path(sk);
	if (err || !tp->srtt_us)
		return err;
	/* Before the payload under way starts the timer. */
	inet_csk(sk)->icsk_rto =
		min_t(u32, usecs_to_jiffies((tp->srtt_us >> 3) + tp->rttvar_us),
		      TCP_RTO_MAX);
	return 0;
}

/* Set the options that the ends have negotiated. */
static void pep_repair_set_options(const struct pep_conn *conn,
				   enum pep_side side, struct sock *sk)
{
	const struct pep_track_end *peer = &conn->end[side];
	const struct pep_track_end *self = &conn->end[!side];
	struct tcp_sock *tp = tcp_sk(sk);
	u8 agreed = pep_repair_agreed(conn);

	tp->rx_opt.wscale_ok = !!(agreed & PEP_TRACK_SCALES);
	tp->rx_opt.snd_wscale = peer->wscale;
	tp->rx_opt.rcv_wscale = self->wscale;
	tp->rx_opt.sack_ok = agreed & PEP_TRACK_SACK ? TCP_SACK_SEEN : 0;
	tp->rx_opt.tstamp_ok = !!(agreed & PEP_TRACK_STAMPS);
	tp->tcp_header_len = sizeof(struct tcphdr);
	if (tp->rx_opt.tstamp_ok) {
		tp->rx_opt.saw_tstamp = 1;
		tp->rx_opt.ts_recent = peer->tsval;
		tp->rx_opt.ts_recent_stamp = ktime_get_seconds();
		tp->tcp_header_len += TCPOLEN_TSTAMP_ALIGNED;
		/* Never ahead of the end's own clock, nor behind the value that
		 * the peer has seen. The first segment carries the time that TCP
		 * has stored: tcp_mstamp_refresh().
		 */
		tp->tcp_usec_ts = 0;
		pep_leg_refresh(sk);
		WRITE_ONCE(tp->tsoffset, self->tsval -
			   (u32)div_u64(tp->tcp_clock_cache, NSEC_PER_MSEC));
	}
	tp->advmss = min_t(u32, dst_metric_advmss(__sk_dst_get(sk)), self->mss);
	if (agreed & PEP_TRACK_ECN)
		tp->ecn_flags |= PEP_COMPAT_ECN_OK;
	/* The segment's size depends on the options: compute it again. */
	inet_csk(sk)->icsk_pmtu_cookie = 0;
}

/* Send within the window that the peer has offered, and keep the one that the
 * peer was promised.
 */
static void pep_repair_set_windows(const struct pep_conn *conn,
				   enum pep_side side, struct pep_leg *leg)
{
	const struct pep_track_end *peer = &conn->end[side];
	const struct pep_track_end *self = &conn->end[!side];
	struct sock *sk = leg->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	u32 offered = peer->edge - peer->ack, promised;
	/* A buffer of fixed size holds the promised window and no more. */
	u64 scale = sk->sk_userlocks & SOCK_RCVBUF_LOCK ? 2 : 4;

	tp->snd_wnd = offered;
	tp->max_window = offered;
	tp->snd_wl1 = peer->next;
	/* tcp_ack() takes older acknowledgments by as much as was acknowledged before:
	 * payload may have been overtaken on its way here.
	 */
	leg->acked = peer->ack - self->isn - 1;
	tp->bytes_acked = leg->acked;

	promised = self->edge - self->ack;
	tp->rcv_wup = self->ack;
	tp->rcv_wnd = promised;
	pep_compat_promised(tp);
	if (tcp_full_space(sk) < (int)promised)
		WRITE_ONCE(sk->sk_rcvbuf,
			   max_t(u64, sk->sk_rcvbuf,
				 min_t(u64, promised * scale, PEP_REPAIR_RCVBUF)));
	WRITE_ONCE(tp->window_clamp,
		   min_t(u32, tcp_full_space(sk),
			 U16_MAX << tp->rx_opt.rcv_wscale));
	tp->rcv_ssthresh = min(tp->window_clamp,
			       max(promised, tp->rcv_ssthresh));
	/* tcp_connect() has made it without a window; as tcp_initialize_rcv_mss(). */
	inet_csk(sk)->icsk_ack.rcv_mss =
		clamp_t(u32, min3(tp->advmss, tp->mss_cache, promised / 2),
			TCP_MIN_MSS, TCP_MSS_DEFAULT);
	/* No header prediction until the next segment in order. */
	tp->pred_flags = 0;
}

/* Segments that a leg may send at once, beyond those under way: none where its subscriber
 * has others in flight on other legs. Connections that begin at the same time would flood
 * the queue of their link.
 */
static u32 pep_repair_more(const struct pep_conn *conn, enum pep_side side)
{
	return side == PEP_SIDE_WIRELESS && conn->path &&
	       atomic_read(&conn->path->legs) ? 0 : 2;
}

/* Load the payload under way to the peer. Return: 0 or a negative error. */
static int pep_repair_load(const struct pep_conn *conn, enum pep_side side,
			   struct sock *sk, struct pep_queue *queue)
{
	const struct pep_track_end *peer = &conn->end[side];
	const struct pep_track_end *self = &conn->end[!side];
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = self->next - peer->ack, cwnd = tcp_snd_cwnd(tp);
	int sndbuf = sk->sk_sndbuf, err;

	/* Each copy becomes a packet of its own, and may take many times the size
	 * of its payload: all of them fit, regardless of the limit afterwards.
	 */
	WRITE_ONCE(sk->sk_sndbuf, INT_MAX);
	/* tcp_mtu_probe() sends even under repair, but not with a window of ten packets. */
	tcp_snd_cwnd_set(tp, min(cwnd, TCP_INIT_CWND));
	err = pep_copies_load(conn->copies, !side, sk, &queue->ubuf);
	if (!(sk->sk_userlocks & SOCK_SNDBUF_LOCK))
		sndbuf = max_t(u32, sndbuf, 4 * flight);
	WRITE_ONCE(sk->sk_sndbuf, sndbuf);
	if (err)
		return err;
	if (tp->write_seq != self->next || tp->snd_nxt != self->next)
		return -EBADMSG;
	tcp_snd_cwnd_set(tp, max(cwnd, tp->packets_out + pep_repair_more(conn, side)));
	tp->repair = 0;
	tp->repair_queue = 0;
	return 0;
}

/* Counter of an error that keeps a leg from taking the state of an end. Legs may share
 * ports, so it is connect() that finds the addresses and ports in use, EADDRNOTAVAIL, and
 * EADDRINUSE is want of memory to note the port, see pep_leg_bind(). connect() fails with
 * EINVAL for a blackhole, and over IPv4 with ENODEV for a device that is gone.
 */
static enum pep_stat pep_repair_reason(int err)
{
	switch (err) {
	case -EADDRINUSE:
	case -EADDRNOTAVAIL:
		return PEP_STAT_SPLIT_PASS_IN_USE;
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -EACCES:
	case -EINVAL:
	case -ENODEV:
		return PEP_STAT_SPLIT_PASS_ROUTE;
	case -EAGAIN:
	case -ENOMEM:
	case -ENOBUFS:
		return PEP_STAT_SPLIT_PASS_NO_MEMORY;
	default:
		return PEP_STAT_SPLIT_PASS_FAILED;
	}
}

/**
 * pep_repair_leg() - give a leg the state of the end that it speaks for
 * @flow: flow, locked, with its legs locked
 * @conn: its connection, locked, with copies of all payload under way
 * @side: side of the leg, enum pep_side
 * @queue: this CPU's queue, whose @ubuf the leg's payload is sent with
 *
 * The leg sends nothing. Afterwards it is no more under repair, or after a failure it
 * is for pep_repair_end().
 *
 * Context: softirq, RCU read side.
 * Return: PEP_STAT_NONE, or the counter of the reason against it.
 */
enum pep_stat pep_repair_leg(struct pep_flow *flow, const struct pep_conn *conn,
			     enum pep_side side, struct pep_queue *queue)
{
	const struct pep_track_end *peer = &conn->end[side];
	struct sock *sk = flow->leg[side].sk;
	int err, bound, vrf;

	vrf = l3mdev_master_ifindex_by_index(flow->pn->net, peer->ifindex);
	bound = pep_gen_bound(flow->gen, side, peer->ifindex);
	WRITE_ONCE(sk->sk_bound_dev_if, bound);
	if (flow->gen->values.dscp == PEP_DSCP_COPY)
		pep_leg_set_dsfield(sk, conn->dsfield[!side]);
	pep_leg_set_label(sk, conn->copies->label[!side]);
	/* Another one would mean that the end has heard nothing for a while. */
	inet_csk(sk)->icsk_ack.lrcv_flowlabel =
		conn->copies->label[side] & ~PEP_PACKET_LABELLED;
	err = pep_repair_connect(conn, side, sk);
	if (err)
		return pep_repair_reason(err);
	/* The leg's packets have to leave where its end's arrive. */
	if (!pep_route_uses(flow->pn->net, __sk_dst_get(sk), peer->ifindex))
		return PEP_STAT_SPLIT_PASS_ROUTE;
	/* And to where they go without it, unless the profile has a device. */
	if (bound == vrf &&
	    pep_route_aside(sk, conn->end[!side].ifindex, conn->dsfield[!side]))
		return PEP_STAT_SPLIT_PASS_ROUTE;
	WRITE_ONCE(sk->sk_rx_dst_ifindex, vrf ?: peer->ifindex);
	WRITE_ONCE(flow->leg[side].ifindex, peer->ifindex);
	pep_repair_set_options(conn, side, sk);
	pep_repair_set_windows(conn, side, &flow->leg[side]);
	err = pep_repair_load(conn, side, sk, queue);
	return err ? pep_repair_reason(err) : PEP_STAT_NONE;
}

/**
 * pep_repair_end() - end a flow without a packet to an end
 * @flow: as for pep_flow_end(), with both legs
 * @cause: counter of the cause, as for pep_flow_end()
 *
 * Context: BH off.
 */
void pep_repair_end(struct pep_flow *flow, enum pep_stat cause)
{
	enum pep_side side;

	for (side = 0; side < 2; side++)
		tcp_sk(flow->leg[side].sk)->repair = 1;
	pep_flow_end(flow, cause);
	for (side = 0; side < 2; side++)
		tcp_sk(flow->leg[side].sk)->repair = 0;
}
