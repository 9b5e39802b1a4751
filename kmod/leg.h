/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_LEG_H
#define _PEP_LEG_H

#include <net/l3mdev.h>
#include <net/tcp.h>
#include <uapi/linux/pep.h>

#include "residence.h"
#include "tuple.h"

struct pep_again;
struct pep_net;
struct pep_sock;
struct pep_values;

/**
 * struct pep_leg - the socket of a flow towards one side
 * @sk: the socket with a reference until the flow is freed; NULL before it
 *	exists. Set once under pep_flow.lock, read locklessly
 * @ps: its owner in the pool's sense; NULL once it is being released
 * @relayed: payload handed to it, bytes
 * @again: numbers for the repetitions of its reset while it is being closed, else NULL;
 *	taken by xchg(), as a rule may queue the reset to a program
 * @reset_sent: a reset of it was on its way out; set with the flow locked, unless a rule
 *	has queued the reset to a program
 * @fin_sent: pep_leg_shutdown() has been called for it
 * @stalled: payload waits in the other leg for room in this one
 * @coupled: the other leg's rate bounds the payload that the end may send, or that there is
 *	none yet; see window.c
 * @ifindex: device that the end's packets came by at first, and in a VRF at last, where TCP
 *	sees the VRF alone; 0 before any; written without a lock
 * @face: ifindex of the device that the leg's packets left by while the end's came by it,
 *	see xmit.c; 0 before any; guarded by the socket's lock, and read by the other leg
 * @acked: part of tcp_sock.bytes_acked from before the leg's time, modulo 2^32, bytes;
 *	set before the flow is up
 * @window: window offered to the end when no payload waits here, as last
 *	calculated, bytes
 * @open: how far TCP has opened the window where the bound leaves it, bytes
 * @offer: window offered to the end at last, bytes: @open or less
 * @edge: sequence number up to which the end may send; guarded, as @coupled, @window, @open
 *	and @offer, by the socket's lock
 * @probed: when pep_leg_probe() last sent, jiffies, 0 for never
 * @asked: when the end was first asked for its numbers since it was last in line,
 *	jiffies, 0 when it was not; see detour.c, as for the following; written without a lock
 * @ahead: since when, while it is @asked, the end acknowledges payload that the leg has not
 *	sent, jiffies, 0 when it does not; written without a lock
 * @hole: since when the end's packets come behind a hole, jiffies, 0 when they do not;
 *	written without a lock
 * @beyond: while it is @ahead: the latest of these acknowledgments; guarded by the socket's
 *	lock
 * @heard: while the connection is handed back, when the end was heard last, jiffies, 0 when
 *	it was not; see unheard.c, as for the following; guarded, as these, by the
 *	connection's lock
 * @fresh: since when the end sends payload beyond the cut and repeats none, jiffies, 0 when
 *	it does not
 * @heard_again: when it was heard some time after @fresh, jiffies, or 0
 * @known: the end has acknowledgments that the other one has sent past this host
 * @echo: how far the other end's clock, as a packet of it echoes that, is ahead of the one
 *	here, ms; it may have seen a later one since
 * @repeats: how often all payload was repeated since it was heard, see pep_leg_repeat()
 * @timeouts: icsk_retransmits when it last was
 * @resent: tcp_sock.total_retrans then
 * @promised: right edge that the leg offered at the cut, or a higher one since, see edge.c;
 *	guarded by the connection's lock
 * @residence: times for which payload stays here on its way to the leg
 */
struct pep_leg {
	struct sock *sk;
	struct pep_sock *ps;
	u64 relayed;
	struct pep_again *again;
	bool reset_sent;
	bool fin_sent;
	bool stalled;
	bool coupled;
	int ifindex;
	int face;
	u32 acked;
	u32 window;
	u32 open;
	u32 offer;
	u32 edge;
	u32 probed;
	u32 asked;
	u32 ahead;
	u32 hole;
	u32 beyond;
	u32 heard;
	u32 fresh;
	u32 heard_again;
	u32 echo;
	u32 resent;
	u32 promised;
	u8 repeats;
	u8 timeouts;
	bool known;
	struct pep_residence residence;
};

/**
 * pep_leg_refresh() - let a leg's next packet show the present time
 * @sk: its socket, locked
 *
 * As tcp_mstamp_refresh(): __tcp_send_ack() goes by the time of the latest event.
 *
 * Context: any.
 */
static inline void pep_leg_refresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_clock_cache = tcp_clock_ns();
	tp->tcp_mstamp = div_u64(tp->tcp_clock_cache, NSEC_PER_USEC);
}

/**
 * pep_leg_device() - find the device that the latest packet of a leg's end came by
 * @leg: leg
 * @sk: its socket
 *
 * Context: RCU read side.
 * Return: its index, or 0 when the end has sent nothing.
 */
static inline int pep_leg_device(const struct pep_leg *leg, const struct sock *sk)
{
	int rx = READ_ONCE(sk->sk_rx_dst_ifindex);

	if (rx && !netif_index_is_l3_master(sock_net(sk), rx))
		return rx;
	return READ_ONCE(leg->ifindex);
}

/**
 * pep_leg_refused() - has a leg been refused before its handshake was complete?
 * @sk: leg in TCP_CLOSE
 *
 * By a reset, see tcp_reset(), or by an ICMP error, which is no segment of its end. Later an
 * ICMP error leaves ECONNREFUSED when TCP loses patience, see tcp_write_err(): the number of
 * the end is known then.
 *
 * Context: any.
 * Return: true when it has.
 */
static inline bool pep_leg_refused(const struct sock *sk)
{
	return READ_ONCE(sk->sk_err) == ECONNREFUSED &&
	       !READ_ONCE(tcp_sk(sk)->rcv_nxt);
}

/**
 * pep_leg_was_reset() - has a closed leg one of the errors that tcp_reset() leaves?
 * @sk: leg in TCP_CLOSE
 *
 * Context: any.
 * Return: true also for a leg that pep_leg_refused() finds refused by an ICMP error.
 */
static inline bool pep_leg_was_reset(const struct sock *sk)
{
	int err = READ_ONCE(sk->sk_err);

	return err == ECONNRESET || err == EPIPE || pep_leg_refused(sk);
}

/**
 * pep_leg_can_send() - can the leg take payload or a FIN?
 * @sk: locked socket
 *
 * Return: true in the states that may send.
 */
static inline bool pep_leg_can_send(const struct sock *sk)
{
	return (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/**
 * pep_leg_failed() - has the leg ended in another way than by FINs?
 * @sk: locked socket
 *
 * SOCK_DONE is set when a FIN has been received in order. The state alone
 * does not show that: a socket that enters TIME_WAIT is left in TCP_CLOSE.
 *
 * Return: true after a reset, a time-out or another error.
 */
static inline bool pep_leg_failed(const struct sock *sk)
{
	return sk->sk_err ||
	       (sk->sk_state == TCP_CLOSE && !sock_flag(sk, SOCK_DONE));
}

/**
 * pep_leg_resets() - does pep_leg_abort() send a reset?
 * @sk: locked socket
 *
 * Return: true in the states of an end that has answered and is not done.
 */
static inline bool pep_leg_resets(const struct sock *sk)
{
	return !((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_SYN_SENT));
}

void pep_leg_lock(struct sock *sk, enum pep_side side);
void pep_leg_unlock(struct sock *sk);
void pep_leg_detach(struct sock *sk);
void pep_leg_clear_timewait(struct pep_net *pn, const struct pep_tuple *tuple,
			    int bound);
int pep_leg_connect(struct sock *sk, const struct pep_tuple *tuple, u32 isn);
int pep_leg_connect_local(struct sock *sk, const struct pep_tuple *tuple);
void pep_leg_set_dsfield(struct sock *sk, u8 dsfield);
void pep_leg_set_label(struct sock *sk, u32 label);
void pep_leg_forget_label(struct sock *sk);
int pep_leg_set_cc(struct sock *sk, const char *cc);
void pep_leg_set_timers(struct sock *sk, const struct pep_values *values);
void pep_leg_set_max_rate(struct sock *sk, u64 rate);
void pep_leg_change(struct sock *sk, enum pep_side side,
		    const struct pep_values *values);
void pep_leg_abort(struct sock *sk);
void pep_leg_start(struct sock *sk, u32 window);
bool pep_leg_shutdown(struct sock *sk);
void pep_leg_keep_alive(struct sock *sk);
bool pep_leg_probe(struct pep_leg *leg, u32 clock);
void pep_leg_hasten(struct pep_leg *leg);
bool pep_leg_repeat(struct pep_leg *leg);

#endif
