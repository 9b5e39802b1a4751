// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets with the settings of a generation. They get their options where sleeping
 * is allowed, so that nothing has to be set when a connection is opened in
 * softirq.
 */

#include "socket.h"

#include <net/inet_sock.h>
#include <net/tcp.h>

#include "gen.h"
#include "leg.h"
#include "settings-gen.h"

/* The least time that a leg towards a subscriber waits beyond the smoothed round trip
 * before it repeats a segment, ms.
 */
#define PEP_SOCKET_RTO_MIN	60

/* Time between two requests for a congestion control that is missing, s. */
#define PEP_SOCKET_CC_RETRY	10

/*
 * Fix the buffers that are not to be left to TCP, as SO_SNDBUFFORCE and
 * SO_RCVBUFFORCE do. A listener's children inherit them, and its SYN-ACK has
 * the window scale that the receive buffer needs.
 */
static void pep_socket_set_buffers(struct sock *sk, u32 sndbuf, u32 rcvbuf)
{
	if (sndbuf) {
		sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
		WRITE_ONCE(sk->sk_sndbuf, 2 * sndbuf);
	}
	if (rcvbuf) {
		sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
		WRITE_ONCE(sk->sk_rcvbuf, 2 * rcvbuf);
	}
}

/*
 * A leg repeats the last segment of an object sooner than TCP does. TCP waits for 200 ms
 * beyond the round trips, since an end may delay an acknowledgment as long (RFC 6298,
 * section 2.4; RFC 8985, section 7.2). Terminals delay by 40 ms as a rule, and a longer
 * delay costs a segment that is sent twice. A smaller net.ipv4.tcp_rto_min_us and the
 * rto_min of a route win.
 */
static void pep_socket_set_rto(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	u32 least = msecs_to_jiffies(PEP_SOCKET_RTO_MIN);

	WRITE_ONCE(icsk->icsk_rto_min, min(icsk->icsk_rto_min, least));
}

/**
 * pep_socket_set_cc() - set the congestion control of a socket
 * @gen: generation
 * @sk: TCP socket that is not released, not locked
 * @cc: name
 *
 * The default is a module beside this one, which may be missing: the kernel's BBR takes its
 * place. Each request runs modprobe: for a while the next sockets make no request.
 *
 * Context: may sleep.
 * Return: 0 or a negative error, -ENOENT for an unknown name.
 */
int pep_socket_set_cc(struct pep_gen *gen, struct sock *sk, const char *cc)
{
	bool ours = !strcmp(cc, PEP_SETTINGS_CC_WIRELESS);
	int err;

	if (!ours || (u32)ktime_get_seconds() >= READ_ONCE(gen->cc_retry)) {
		err = pep_leg_set_cc(sk, cc);
		if (err != -ENOENT || !ours)
			return err;
		WRITE_ONCE(gen->cc_retry,
			   (u32)ktime_get_seconds() + PEP_SOCKET_CC_RETRY);
	}
	return pep_leg_set_cc(sk, "bbr");
}

/**
 * pep_socket_make() - make a socket with the generation's settings
 * @gen: generation
 * @family: AF_INET or AF_INET6
 * @side: side that the socket will face, enum pep_side
 * @res: result
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int pep_socket_make(struct pep_gen *gen, int family, enum pep_side side,
		    struct socket **res)
{
	struct socket *sock;
	struct sock *sk;
	int err;

	err = sock_create_kern(gen->pn->net, family, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (err)
		return err;
	err = pep_socket_set_cc(gen, sock->sk, gen->values.cc[side]);
	if (err) {
		sock_release(sock);
		return err;
	}
	sk = sock->sk;
	tcp_sock_set_nodelay(sk);
	lock_sock(sk);
	pep_leg_set_timers(sk, &gen->values);
	inet_set_bit(TRANSPARENT, sk);
	/* Urgent data stays in line; tcp_check_urg() would skip a byte. */
	sock_set_flag(sk, SOCK_URGINLINE);
	sk->sk_reuse = SK_FORCE_REUSE;
	sk->sk_allocation = GFP_ATOMIC;
	sk->sk_use_task_frag = false;
	sk->sk_ipv6only = family == AF_INET6;
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, PEP_SOCKET_NOTSENT);
	WRITE_ONCE(sk->sk_mark, gen->values.mark);
	if (side == PEP_SIDE_SERVER)
		WRITE_ONCE(sk->sk_bound_dev_if, gen->server_ifindex);
	else
		pep_socket_set_rto(sk);
	if (gen->values.dscp != PEP_DSCP_COPY)
		pep_leg_set_dsfield(sk, gen->values.dscp << 2);
	pep_socket_set_buffers(sk, gen->values.sndbuf[side],
			       gen->values.rcvbuf[side]);
	pep_leg_set_max_rate(sk, gen->values.max_rate[side]);
	release_sock(sk);
	*res = sock;
	return 0;
}
