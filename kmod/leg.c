// SPDX-License-Identifier: GPL-2.0
/*
 * One socket of a flow: its options, connecting, closing.
 *
 * Everything here runs with BH off, the socket's spinlock held and the
 * socket not owned by a process, unless stated otherwise. TCP functions that are
 * not exported are called through sk->sk_prot.
 */

#include "leg.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/random.h>
#include <net/inet_ecn.h>
#include <net/inet_timewait_sock.h>
#include <net/route.h>

#include "compat.h"
#include "packet.h"
#include "values.h"
#include "stat.h"

/* Ports tried for a leg that connects from an address of this host. */
#define PEP_LEG_PORTS	64

/* Payload that the leg of a subscriber may send in each of its first round trips,
 * bytes.
 */
#define PEP_LEG_START_BYTES	(1024 * 1024)

/* Maximum rate for that, bytes per second. */
#define PEP_LEG_START_RATE	(16 * 1000 * 1000)

/* How often a leg that is not heard repeats its payload. */
#define PEP_LEG_REPEATS	2

/**
 * pep_leg_lock() - lock a leg's socket
 * @sk: socket
 * @side: side of the leg, enum pep_side
 *
 * With two legs to lock, the wireless leg comes first. The lock of the server
 * leg is nested for lockdep, as both are of the same class.
 *
 * Context: BH off.
 */
void pep_leg_lock(struct sock *sk, enum pep_side side)
	__acquires(&sk->sk_lock.slock)
{
	if (side == PEP_SIDE_SERVER)
		bh_lock_sock_nested(sk);
	else
		bh_lock_sock(sk);
}

/**
 * pep_leg_unlock() - undo pep_leg_lock()
 * @sk: socket
 */
void pep_leg_unlock(struct sock *sk)
	__releases(&sk->sk_lock.slock)
{
	bh_unlock_sock(sk);
}

/**
 * pep_leg_detach() - undo pep_callback_attach()
 * @sk: locked socket in TCP_CLOSE, soon to be released
 */
void pep_leg_detach(struct sock *sk)
{
	rcu_assign_sk_user_data(sk, NULL);
}

/**
 * pep_leg_clear_timewait() - make way for a connection that begins anew
 * @pn: instance
 * @tuple: tuple of packets to the socket that may be in the way
 * @bound: device that such a socket is bound to, 0 for none
 *
 * A TIME_WAIT socket of an earlier leg must not refuse the same connection, or
 * receive the answers to it: the end that is spoofed here has decided already that
 * the tuple may be used again.
 *
 * Context: BH off, RCU read side.
 */
void pep_leg_clear_timewait(struct pep_net *pn, const struct pep_tuple *tuple,
			    int bound)
{
	struct sock *sk = pep_tuple_lookup(pn->net, tuple, bound);

	if (!sk)
		return;
	if (sk->sk_state == TCP_TIME_WAIT && inet_twsk(sk)->tw_transparent) {
		inet_twsk_deschedule_put(inet_twsk(sk));
		pep_stat_inc(pn, PEP_STAT_TIME_WAIT_REUSED);
	} else {
		sock_gen_put(sk);
	}
}

/* Take the source's address and port; follows inet_bind() and inet6_bind(). A port that is
 * in use and one that there is no memory for are the same to TCP.
 */
static int pep_leg_bind(struct sock *sk, const struct pep_tuple *tuple)
{
	struct inet_sock *inet = inet_sk(sk);
	int err;

	if (tuple->family == AF_INET6) {
#if IS_ENABLED(CONFIG_IPV6)
		sk->sk_v6_rcv_saddr = tuple->src.v6;
		inet6_sk(sk)->saddr = tuple->src.v6;
#endif
	} else {
		inet->inet_rcv_saddr = tuple->src.v4;
		inet->inet_saddr = tuple->src.v4;
	}
	err = sk->sk_prot->get_port(sk, ntohs(tuple->sport));
	if (err)
		return -EADDRINUSE;
	sk->sk_userlocks |= SOCK_BINDADDR_LOCK | SOCK_BINDPORT_LOCK;
	inet->inet_sport = htons(inet->inet_num);
	sk_dst_reset(sk);
	return 0;
}

/* Call the protocol's connect(). */
static int pep_leg_call_connect(struct sock *sk, const struct pep_tuple *tuple)
{
	struct sockaddr_in6 sin6 = {
		.sin6_family = AF_INET6,
		.sin6_addr = tuple->dst.v6,
		.sin6_port = tuple->dport,
	};
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = tuple->dst.v4,
		.sin_port = tuple->dport,
	};

	if (tuple->family == AF_INET6) {
		sin6.sin6_flowinfo = inet6_sk(sk)->flow_label;
		return sk->sk_prot->connect(sk, (struct pep_compat_sockaddr *)
					    &sin6, sizeof(sin6));
	}
	return sk->sk_prot->connect(sk, (struct pep_compat_sockaddr *)&sin,
				    sizeof(sin));
}

/**
 * pep_leg_connect() - connect a leg; under repair no packet is sent
 * @sk: locked new socket, attached
 * @tuple: source and destination of the packets that the leg is to send
 * @isn: number of the SYN, or under repair of the next byte; 0 to let TCP choose
 *
 * tcp_v4_connect() and tcp_v6_connect() keep a sequence number that is set.
 *
 * Return: 0 or a negative error, as connect(2).
 */
int pep_leg_connect(struct sock *sk, const struct pep_tuple *tuple, u32 isn)
{
	struct pep_tuple answer;
	int err;

	pep_tuple_reverse(&answer, tuple);
	pep_leg_clear_timewait(pep_net(sock_net(sk)), &answer,
			       sk->sk_bound_dev_if);
	err = pep_leg_bind(sk, tuple);
	if (err)
		return err;
	WRITE_ONCE(tcp_sk(sk)->write_seq, isn);
	return pep_leg_call_connect(sk, tuple);
}

/* Take a port from the local port range of the namespace. */
static int pep_leg_bind_port(struct sock *sk)
{
	int low, high, port;

	inet_sk_get_local_port_range(sk, &low, &high);
	port = low + get_random_u32_below(high - low + 1);
	if (inet_is_local_reserved_port(sock_net(sk), port))
		return -EADDRNOTAVAIL;
	if (sk->sk_prot->get_port(sk, port))
		return -EADDRINUSE;
	inet_sk(sk)->inet_sport = htons(inet_sk(sk)->inet_num);
	return 0;
}

/**
 * pep_leg_connect_local() - send the SYN of a target leg from this host's address
 * @sk: locked new socket, attached
 * @tuple: tuple of the opener's SYN, to whose target the leg connects
 *
 * The route gives the address. TCP would choose a port itself, but may call
 * cond_resched() while it looks for one, so ports are tried here; only
 * connections to the same end can collide.
 *
 * Return: 0 or a negative error, as connect(2).
 */
int pep_leg_connect_local(struct sock *sk, const struct pep_tuple *tuple)
{
	int tries = PEP_LEG_PORTS;
	int err;

	do {
		err = pep_leg_bind_port(sk);
		/* Where the addresses and ports are in use the port is given back,
		 * but not where there is no source address.
		 */
		if (!err)
			err = pep_leg_call_connect(sk, tuple);
	} while (err == -EADDRNOTAVAIL && !inet_csk(sk)->icsk_bind_hash &&
		 --tries);
	return err;
}

/**
 * pep_leg_set_label() - set the flow label that an IPv6 socket sends with
 * @sk: locked socket, not yet connected
 * @label: of pep_packet_label(); 0 leaves the choice to the kernel
 *
 * Routers choose among paths by it, and so does the route of the socket. Follows
 * IPV6_FLOWINFO_SEND and IPV6_AUTOFLOWLABEL. Where a process has reserved labels for
 * itself connect() would refuse others.
 */
void pep_leg_set_label(struct sock *sk, u32 label)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (label == PEP_PACKET_LABELLED) {
		inet6_clear_bit(AUTOFLOWLABEL, sk);
		inet6_set_bit(AUTOFLOWLABEL_SET, sk);
	} else if (label && !READ_ONCE(sock_net(sk)->ipv6.flowlabel_has_excl)) {
		inet6_set_bit(SNDFLOW, sk);
		inet6_sk(sk)->flow_label = htonl(label & ~PEP_PACKET_LABELLED);
	}
#endif
}

/**
 * pep_leg_forget_label() - undo pep_leg_set_label() with a label other than zero
 * @sk: locked socket that hears nothing from its end
 *
 * TCP changes its own label after a time-out, unless net.core.txrehash is 0, so that
 * routers may try another path. With the route the headers that it keeps are made anew.
 *
 * Context: RCU read side; softirq, or a process that owns the socket, with BH on or off.
 */
void pep_leg_forget_label(struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family != AF_INET6 || !inet6_test_bit(SNDFLOW, sk) ||
	    READ_ONCE(sk->sk_txrehash) != SOCK_TXREHASH_ENABLED)
		return;
	inet6_clear_bit(SNDFLOW, sk);
	inet6_sk(sk)->flow_label = 0;
	__sk_dst_reset(sk);
#endif
}

/**
 * pep_leg_set_dsfield() - set the DSCP that a socket sends with
 * @sk: locked socket
 * @dsfield: IPv4's TOS or IPv6's traffic class; its ECN bits are ignored
 *
 * Follows ip_sock_set_tos() and IPV6_TCLASS; ECN stays the leg's own. Routes
 * may depend on it, so the cached one is dropped.
 */
void pep_leg_set_dsfield(struct sock *sk, u8 dsfield)
{
	struct inet_sock *inet = inet_sk(sk);

	dsfield &= ~INET_ECN_MASK;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		inet6_sk(sk)->tclass = dsfield |
				       (inet6_sk(sk)->tclass & INET_ECN_MASK);
#endif
	WRITE_ONCE(inet->tos, dsfield | (inet->tos & INET_ECN_MASK));
	WRITE_ONCE(sk->sk_priority, rt_tos2priority(dsfield));
	sk_dst_reset(sk);
}

/**
 * pep_leg_set_cc() - set a socket's congestion control
 * @sk: TCP socket that is not released, not locked
 * @cc: name
 *
 * Loads the module if need be.
 *
 * Context: may sleep.
 * Return: 0 or a negative error, -ENOENT for an unknown name.
 */
int pep_leg_set_cc(struct sock *sk, const char *cc)
{
	return sk->sk_prot->setsockopt(sk, SOL_TCP, TCP_CONGESTION,
				       KERNEL_SOCKPTR((char *)cc),
				       strlen(cc));
}

/**
 * pep_leg_set_timers() - make a socket detect that its end has vanished
 * @sk: locked socket
 * @values: settings
 *
 * Follows TCP_KEEPIDLE and similar options, which cannot return to the namespace's
 * values. A running keepalive timer restarts when its values change.
 *
 * Context: any.
 */
void pep_leg_set_timers(struct sock *sk, const struct pep_values *values)
{
	unsigned int idle = values->keepalive_idle * HZ;
	unsigned int interval = values->keepalive_interval * HZ;
	struct tcp_sock *tp = tcp_sk(sk);

	WRITE_ONCE(inet_csk(sk)->icsk_user_timeout, values->user_timeout);
	/* Un-orphaned half-open connections have no other time-out. */
	if (sock_flag(sk, SOCK_KEEPOPEN) && tp->keepalive_time == idle &&
	    tp->keepalive_intvl == interval &&
	    tp->keepalive_probes == values->keepalive_count)
		return;
	WRITE_ONCE(tp->keepalive_time, idle);
	WRITE_ONCE(tp->keepalive_intvl, interval);
	WRITE_ONCE(tp->keepalive_probes, values->keepalive_count);
	pep_leg_keep_alive(sk);
}

/**
 * pep_leg_set_max_rate() - bound the rate that a socket sends with
 * @sk: locked socket
 * @rate: bytes per second, 0 for unlimited
 *
 * Follows SO_MAX_PACING_RATE: TCP paces by itself unless fq does. Children of a
 * listener inherit the rate.
 */
void pep_leg_set_max_rate(struct sock *sk, u64 rate)
{
	unsigned long most = min_t(u64, rate ?: U64_MAX, ULONG_MAX);

	if (rate)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
			SK_PACING_NEEDED);
	WRITE_ONCE(sk->sk_max_pacing_rate, most);
	WRITE_ONCE(sk->sk_pacing_rate, min(sk->sk_pacing_rate, most));
}

/**
 * pep_leg_start() - let a leg begin as fast as its congestion window opens
 * @sk: locked socket that has come up, towards the subscriber
 * @window: least congestion window to begin with, segments
 *
 * BBR paces its slow start by the rate of the round trip before, times 2.89, and
 * so takes two thirds of a round trip to send the payload that slow start sends at
 * once: 0.4 s of 600 ms. It only raises the pacing rate until it has found the
 * link full, see bbr_set_pacing_rate(). With a higher initial rate,
 * acknowledgments clock its slow start, as they clock CUBIC's. A MiB in a round
 * trip is more than windows have by then. A rate that is too high makes the window
 * larger than the link: bbr_quantization_budget() adds three bursts, each of a
 * millisecond.
 */
void pep_leg_start(struct sock *sk, u32 window)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = PEP_LEG_START_RATE;
	u32 rtt = tp->srtt_us >> 3;

	window = min(window, tp->snd_cwnd_clamp);
	if (window > tcp_snd_cwnd(tp))
		tcp_snd_cwnd_set(tp, window);
	if (!rtt)
		return;
	rate = min(rate, div_u64((u64)PEP_LEG_START_BYTES * USEC_PER_SEC,
				 rtt));
	rate = min_t(u64, rate, sk->sk_max_pacing_rate);
	WRITE_ONCE(sk->sk_pacing_rate,
		   max_t(unsigned long, sk->sk_pacing_rate, rate));
}

/**
 * pep_leg_change() - apply a profile's settings to a live leg, but for its congestion control
 * @sk: socket of a pinned flow, not locked
 * @side: side of the leg, enum pep_side
 * @values: settings
 *
 * Context: may sleep.
 */
void pep_leg_change(struct sock *sk, enum pep_side side,
		    const struct pep_values *values)
{
	lock_sock(sk);
	pep_leg_set_max_rate(sk, values->max_rate[side]);
	pep_leg_set_timers(sk, values);
	release_sock(sk);
}

/**
 * pep_leg_probe() - have an end acknowledge an old number, once in a second
 * @leg: leg that is up, its socket locked
 * @clock: what the end may have seen of the other end's clock; without meaning where they
 *	have no timestamps
 *
 * That of a keepalive probe, RFC 9293, section 3.8.4, in front of what is under way. It
 * shows @clock, or the time of TCP's latest packet when that is later: since 6.14 Linux
 * does not answer an acknowledgment that is older than what it has seen (PAWS). As its
 * number is old the end does not note its clock, RFC 7323, section 5.3.
 *
 * Context: BH off.
 * Return: false when the end was asked within the last second.
 */
bool pep_leg_probe(struct pep_leg *leg, u32 clock)
{
	struct tcp_sock *tp = tcp_sk(leg->sk);
	u32 next = tp->snd_nxt, offset = tp->tsoffset;
	s32 later;

	if (leg->probed && (u32)jiffies - leg->probed < HZ)
		return false;
	leg->probed = (u32)jiffies ?: 1;
	/* As __tcp_transmit_skb(). */
	later = clock - offset - (u32)div_u64(max(tp->tcp_wstamp_ns, tp->tcp_clock_cache),
					      NSEC_PER_MSEC);
	/* Any end answers a clock that far ahead, too, if it is forged. */
	WRITE_ONCE(tp->tsoffset, offset + clamp(later, 0, S32_MAX / 2));
	WRITE_ONCE(tp->snd_nxt, tp->snd_una - 1);
	__tcp_send_ack(leg->sk, tp->rcv_nxt, 0);
	WRITE_ONCE(tp->snd_nxt, next);
	WRITE_ONCE(tp->tsoffset, offset);
	return true;
}

/**
 * pep_leg_hasten() - have a leg repeat unacknowledged payload as soon as at first
 * @leg: leg, locked
 *
 * The time-outs so far were those of another way. As tcp_ld_RTO_revert(), but for all of
 * them.
 *
 * Context: BH off.
 */
void pep_leg_hasten(struct pep_leg *leg)
{
	struct sock *sk = leg->sk;
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!icsk->icsk_backoff || !tp->packets_out)
		return;
	icsk->icsk_backoff = 0;
	icsk->icsk_rto = tp->srtt_us ? min_t(u32, __tcp_set_rto(tp), TCP_RTO_MAX) :
				       TCP_TIMEOUT_INIT;
	inet_csk_reset_xmit_timer(sk, ICSK_TIME_RETRANS, icsk->icsk_rto, TCP_RTO_MAX);
}

/**
 * pep_leg_repeat() - send all payload that a time-out has marked as lost, and all that waits
 * @leg: leg that is up, locked, and that no process owns
 *
 * TCP repeats the first segment at each time-out, and sends the others as acknowledgments
 * come; tcp_release_cb() sends them when the congestion window has room. The end is not
 * heard, and TCP must not lose patience with it.
 *
 * Context: BH off.
 * Return: true when all payload had been repeated behind two time-outs before this call, but
 * for what the end has acknowledged selectively.
 */
bool pep_leg_repeat(struct pep_leg *leg)
{
	struct sock *sk = leg->sk;
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool waits = !tcp_write_queue_empty(sk);

	WRITE_ONCE(icsk->icsk_user_timeout, 0);
	if (waits) {
		leg->repeats = 0;
		pep_leg_hasten(leg);
	}
	if (waits || tp->lost_out > tp->retrans_out) {
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), 2 * tp->packets_out));
		if (!test_and_set_bit(TCP_TSQ_DEFERRED, &sk->sk_tsq_flags))
			sock_hold(sk);
		sk->sk_prot->release_cb(sk);
	}
	if (leg->repeats >= PEP_LEG_REPEATS)
		return true;
	/* RACK spares segments that were repeated just before a time-out. */
	if (tcp_write_queue_empty(sk) && icsk->icsk_retransmits != leg->timeouts &&
	    tp->retrans_out + tp->sacked_out == tp->packets_out &&
	    tp->total_retrans - leg->resent >= tp->retrans_out) {
		leg->timeouts = icsk->icsk_retransmits;
		leg->resent = tp->total_retrans;
		leg->repeats++;
	}
	return false;
}

/**
 * pep_leg_abort() - close a leg at once, with a reset where one is due
 * @sk: locked socket
 *
 * This is tcp_disconnect(), which inet_child_forget() calls in softirq, too. It
 * silently forgets unacknowledged payload when the end has ended its direction
 * as well: the end would wait for the rest. In FIN_WAIT1 it sends a reset.
 */
void pep_leg_abort(struct sock *sk)
{
	if ((1 << sk->sk_state) & (TCPF_LAST_ACK | TCPF_CLOSING))
		inet_sk_set_state(sk, TCP_FIN_WAIT1);
	if (sk->sk_state != TCP_CLOSE)
		sk->sk_prot->disconnect(sk, 0);
}

/**
 * pep_leg_shutdown() - send the FIN behind all payload
 * @sk: locked socket that can send
 *
 * Return: false when there was no memory for the FIN, which tcp_send_fin()
 * does not report: the end of the stream would never arrive.
 */
bool pep_leg_shutdown(struct sock *sk)
{
	u32 seq = tcp_sk(sk)->write_seq;

	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	return tcp_sk(sk)->write_seq != seq;
}

/**
 * pep_leg_keep_alive() - start the keepalive timer
 * @sk: locked socket that has come up
 *
 * TCP does not start it where both ends have sent a SYN:
 * tcp_rcv_state_process() omits this step of tcp_finish_connect(). The flag is
 * cleared for a moment because tcp_set_keepalive() starts the timer only where
 * the flag was not set.
 */
void pep_leg_keep_alive(struct sock *sk)
{
	sock_reset_flag(sk, SOCK_KEEPOPEN);
	sk->sk_prot->keepalive(sk, 1);
	sock_set_flag(sk, SOCK_KEEPOPEN);
}
