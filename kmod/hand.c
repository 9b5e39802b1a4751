// SPDX-License-Identifier: GPL-2.0
/*
 * Handing packets to the sockets of pep that they are for: legs, requests of openers and
 * TIME_WAIT sockets. The caller has looked the socket up.
 */

#include "hand.h"

#include <net/inet_timewait_sock.h>
#include <net/request_sock.h>
#include <net/tcp.h>

#include "accept.h"
#include "deliver.h"
#include "detour.h"
#include "flow.h"
#include "gather.h"
#include "leg.h"
#include "option.h"
#include "packet.h"
#include "resume.h"

/* States of a leg that has sequence numbers of both ends. */
#define PEP_HAND_SYNCED							\
	(TCPF_ESTABLISHED | TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 |		\
	 TCPF_CLOSE_WAIT | TCPF_CLOSING | TCPF_LAST_ACK)

/*
 * May a SYN open a connection anew on a TIME_WAIT socket? As
 * tcp_timewait_state_process() decides, by sequence number or timestamp, but an older
 * timestamp refuses none: many openers begin each connection with a random one.
 */
static bool pep_hand_reuses(const struct sock *tw,
			    const struct pep_packet *pkt)
{
	const struct tcp_timewait_sock *tcptw = tcp_twsk(tw);
	struct pep_options options;

	if (!pep_packet_is_syn(pkt->th))
		return false;
	if (after(ntohl(pkt->th->seq), READ_ONCE(tcptw->tw_rcv_nxt)))
		return true;
	pep_option_scan((const u8 *)(pkt->th + 1), pkt->options, &options);
	return options.has_ts && READ_ONCE(tcptw->tw_ts_recent_stamp) &&
	       (s32)(READ_ONCE(tcptw->tw_ts_recent) - options.tsval) < 0;
}

/*
 * A packet of the other end has come to this one past its leg: with a header that
 * pep does not skip, or by another route. Both ends have the same numbers where a
 * connection was taken over. The leg would discard all packets that the end sends
 * from then on; the payload reaches the leg as well, for the other leg acknowledges
 * it only then. An acknowledgment within the other leg's window is no forgery. The
 * packet may also have offered less than the leg had.
 */
static void pep_hand_catch_up(const struct pep_flow *flow, struct sock *sk,
			      struct sk_buff *skb, struct pep_packet *pkt)
{
	const struct tcp_sock *tp;
	const struct sock *other;
	u32 sent, seq;

	if (flow->mode != PEP_CONNECT_MODE_FOLLOW)
		return;
	/* TCP notes a segment as sent after it has sent it, under the lock. */
	bh_lock_sock_nested(sk);
	sent = tcp_sk(sk)->snd_nxt;
	seq = pep_detour_seq(tcp_sk(sk), pkt);
	bh_unlock_sock(sk);
	other = flow->leg[!pep_flow_side(flow, sk)].sk;
	tp = tcp_sk(other);
	if (after(ntohl(pkt->th->ack_seq), sent) &&
	    !after(ntohl(pkt->th->ack_seq), READ_ONCE(tp->rcv_wup) +
					    READ_ONCE(tp->rcv_wnd)))
		pep_packet_renumber(skb, pkt, seq, sent);
}

/* An end asks whether the other one is there, by a keepalive probe with the byte before the
 * one that its leg expects. The leg answers, but what is behind this host would see nothing,
 * as a firewall that forgets silent connections: the other leg asks its end, too.
 */
static noinline_for_stack void pep_hand_probe(struct pep_flow *flow, const struct sock *sk)
{
	struct pep_leg *other = &flow->leg[!pep_flow_side(flow, sk)];
	const struct tcp_sock *tp;

	spin_lock(&flow->lock);
	if (flow->state == PEP_FLOW_STATE_ESTABLISHED ||
	    flow->state == PEP_FLOW_STATE_CLOSING) {
		pep_flow_lock_legs(flow);
		tp = tcp_sk(other->sk);
		if (!pep_flow_legs_owned(flow) && !tp->packets_out)
			pep_leg_probe(other, (u32)tcp_clock_ms() + tp->tsoffset);
		pep_flow_unlock_legs(flow);
	}
	spin_unlock(&flow->lock);
}

/* Is a packet for a leg a keepalive probe, RFC 9293, section 3.8.4? */
static bool pep_hand_is_probe(const struct sock *sk, const struct pep_packet *pkt)
{
	return ntohl(pkt->th->seq) == READ_ONCE(tcp_sk(sk)->rcv_nxt) - 1 &&
	       pkt->payload <= 1 && !pkt->th->fin;
}

/*
 * Has a packet so little payload in so many pages that it is to be copied before it
 * waits? Payload that waits is out of order, or behind other payload; it may wait for as
 * long as the other end wants.
 */
static bool pep_hand_bloated(const struct sock *sk, const struct sk_buff *skb,
			     const struct pep_packet *pkt)
{
	u32 packets = max_t(u32, skb_shinfo(skb)->gso_segs, 1);

	if (likely(!pkt->payload ||
		   pkt->payload >= packets * PEP_GATHER_SMALL))
		return false;
	return (1 << sk->sk_state) & PEP_HAND_SYNCED &&
	       (!skb_queue_empty_lockless(&sk->sk_receive_queue) ||
		ntohl(pkt->th->seq) != READ_ONCE(tcp_sk(sk)->rcv_nxt));
}

/* Note the device in a VRF that a packet for a leg has come by. */
static void pep_hand_note(const struct sock *sk, const struct net_device *dev)
{
	struct pep_flow *flow;

	if (!((1 << sk->sk_state) & (PEP_HAND_SYNCED | TCPF_SYN_SENT)))
		return;
	flow = rcu_dereference_sk_user_data(sk);
	if (flow)
		WRITE_ONCE(flow->leg[pep_flow_side(flow, sk)].ifindex, dev->ifindex);
}

/* Hand a packet over. */
static void pep_hand_packet(struct pep_net *pn, struct sock *sk,
			    struct sk_buff *skb, struct pep_packet *pkt)
{
	struct pep_flow *flow = NULL;

	if ((1 << sk->sk_state) & PEP_HAND_SYNCED)
		flow = rcu_dereference_sk_user_data(sk);
	if (flow && likely(!pkt->th->rst && !pkt->th->syn)) {
		if (unlikely(pep_detour_packet(flow, sk, skb, pkt)))
			pep_hand_catch_up(flow, sk, skb, pkt);
		else if (unlikely(pep_hand_is_probe(sk, pkt)))
			pep_hand_probe(flow, sk);
	}
	if (unlikely(netif_is_l3_slave(skb->dev)))
		pep_hand_note(sk, skb->dev);
	if (flow && flow->leg[PEP_SIDE_WIRELESS].sk != sk)
		flow = NULL;
	if (unlikely(pep_hand_bloated(sk, skb, pkt)))
		skb = pep_deliver_compact(skb);
	pep_deliver_local(pn, skb, sk);
	if (flow)
		pep_resume_acked(flow);
}

/*
 * An end's reset, for its leg. One that another CPU has handed back meanwhile ignores it, and
 * the end does not send it again: it has to end the connection that is followed now. Return:
 * false then, with the packet untouched: the leg is closed, not by the reset.
 */
static noinline_for_stack bool pep_hand_reset(struct pep_net *pn, struct sock *sk,
					      struct sk_buff *skb,
					      const struct pep_packet *pkt)
{
	struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC);
	struct pep_packet parsed = *pkt;
	bool ignored;

	if (!copy) {
		pep_hand_packet(pn, sk, skb, &parsed);
		return true;
	}
	sock_hold(sk);
	pep_hand_packet(pn, sk, copy, &parsed);
	ignored = inet_sk_state_load(sk) == TCP_CLOSE && !pep_leg_was_reset(sk);
	sock_put(sk);
	if (!ignored)
		consume_skb(skb);
	return !ignored;
}

/**
 * pep_hand_leg() - hand a packet to a leg
 * @pn: started instance
 * @sk: leg, or another socket of pep; its reference is consumed
 * @skb: packet
 * @pkt: parsed @skb
 *
 * Context: BH off, RCU read side, no socket locked.
 * Return: true when the packet was consumed; false for a reset that @sk has ignored, as it
 * has just been handed back, or closed otherwise.
 */
bool pep_hand_leg(struct pep_net *pn, struct sock *sk, struct sk_buff *skb,
		  struct pep_packet *pkt)
{
	if (unlikely(pkt->th->rst) && sk_fullsock(sk))
		return pep_hand_reset(pn, sk, skb, pkt);
	pep_hand_packet(pn, sk, skb, pkt);
	return true;
}

/**
 * pep_hand_socket() - hand a packet to a socket in the table
 * @pn: started instance
 * @sk: a leg, a request of an opener, or a TIME_WAIT socket of a leg; its reference is
 *	consumed
 * @skb: packet
 * @pkt: parsed @skb
 *
 * Context: BH off, RCU read side, no socket locked.
 * Return: PEP_STAT_NONE when the packet was consumed, or a counter, not counted yet:
 * PEP_STAT_PASS_SYN for a SYN that opens a connection anew, the socket being no more;
 * PEP_STAT_PASS_NO_FLOW for a reset that passes, as its leg has just been handed back, or
 * closed otherwise.
 */
enum pep_stat pep_hand_socket(struct pep_net *pn, struct sock *sk,
			      struct sk_buff *skb, struct pep_packet *pkt)
{
	if (sk->sk_state == TCP_TIME_WAIT && pep_hand_reuses(sk, pkt)) {
		inet_twsk_deschedule_put(inet_twsk(sk));
		pep_stat_inc(pn, PEP_STAT_TIME_WAIT_REUSED);
		return PEP_STAT_PASS_SYN;
	}
	if (sk->sk_state == TCP_NEW_SYN_RECV && pkt->th->rst) {
		pep_accept_reset(pn, sk, skb, pkt);
		return PEP_STAT_NONE;
	}
	if (sk->sk_state == TCP_NEW_SYN_RECV && !pep_accept_routed(sk)) {
		/* Its sender repeats it. */
		sock_gen_put(sk);
		pep_stat_inc(pn, PEP_STAT_DROPPED);
		kfree_skb(skb);
		return PEP_STAT_NONE;
	}
	return pep_hand_leg(pn, sk, skb, pkt) ? PEP_STAT_NONE :
						PEP_STAT_PASS_NO_FLOW;
}

/**
 * pep_hand_over() - drop a packet of a split connection whose leg is over
 * @pn: started instance
 * @skb: packet for which pep_find_over(); consumed
 * @pkt: parsed @skb
 *
 * The opener may have been answered by SYN cookie, and resets. Else the leg has ended: by
 * a reset, behind which another queue brings payload, or it has acknowledged the end's FIN,
 * and an earlier reset has ended its TIME_WAIT. An end that is closed resets packets that
 * arrive late. The other end would take such a reset for the end of the connection, and
 * discard payload that its own leg is still sending; and behind payload that passes the leg
 * it would ignore the leg's reset, whose number is older.
 *
 * Context: BH off, RCU read side.
 */
void pep_hand_over(struct pep_net *pn, struct sk_buff *skb,
		   const struct pep_packet *pkt)
{
	if (!pkt->th->rst || !pep_accept_reset_cookie(pn, skb, pkt))
		pep_stat_inc(pn, PEP_STAT_RESET_OVER);
	kfree_skb(skb);
}
