// SPDX-License-Identifier: GPL-2.0
/*
 * Listening sockets, and accepting in softirq.
 *
 * A listener is bound to an unreachable address; it receives packets only
 * because steering attaches it to them. Children take the addresses of their
 * packets, as with TPROXY, and the congestion control of the listener.
 */

#include "listener.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <net/inet_connection_sock.h>
#include <net/request_sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "gen.h"
#include "pool.h"
#include "socket.h"

/* Connections that complete their handshake before they are accepted. */
#define PEP_LISTENER_BACKLOG	4096

/* Connections accepted in one run, so that other jobs get their turn. */
#define PEP_LISTENER_BATCH	32

/* IPv4 dummy address, RFC 7600, and a discard-only address, RFC 6666. */
#define PEP_LISTENER_ADDR4	0xc0000008
#define PEP_LISTENER_ADDR6	{ { { 0x01 } } }

/* Takes the connections; set at load. */
static pep_listener_take *pep_listener_accepted __ro_after_init;

/**
 * pep_listener_set_take() - set the function that takes accepted connections
 * @take: function
 *
 * Context: once, at load.
 */
void __init pep_listener_set_take(pep_listener_take *take)
{
	pep_listener_accepted = take;
}

/* Schedule a listener's job; in any context but hard interrupt. */
static void pep_listener_kick(struct pep_listener *l)
{
	if (pep_job_claim(&l->job))
		pep_queue_job(&l->job);
}

/*
 * Called when a child has completed its handshake, with the child's lock
 * held, so only queue the job. The children inherit the callback, hence the
 * test.
 */
static void pep_listener_data_ready(struct sock *sk)
{
	struct pep_listener *l;

	if (sk->sk_state != TCP_LISTEN)
		return;
	rcu_read_lock();
	l = rcu_dereference_sk_user_data(sk);
	if (l)
		pep_listener_kick(l);
	rcu_read_unlock();
}

/**
 * pep_listener_owns() - is it a listener of this module, or its child?
 * @sk: full socket
 *
 * Context: any.
 * Return: true for a listener, and for a connection that it has not accepted.
 */
bool pep_listener_owns(const struct sock *sk)
{
	return READ_ONCE(sk->sk_data_ready) == pep_listener_data_ready;
}

/* Accept one connection; false when there is none or no shell for it. */
static bool pep_listener_accept(struct pep_listener *l, struct sock *sk)
{
	struct pep_pool *pool = this_cpu_ptr(l->gen->pools);
	struct request_sock *req;
	struct pep_sock *shell;
	struct sock *child;

	if (reqsk_queue_empty(&inet_csk(sk)->icsk_accept_queue))
		return false;
	/* Connections in the queue can wait there for the pool. */
	if (!pep_pool_has(pool, pep_pool_shell(l->family))) {
		if (pep_job_claim(&l->job))
			pep_pool_wait_job(pool, &l->job);
		return false;
	}
	shell = pep_pool_take(pool, pep_pool_shell(l->family));
	req = reqsk_queue_remove(&inet_csk(sk)->icsk_accept_queue, sk);
	if (!req) {
		pep_pool_give_back(pool, pep_pool_shell(l->family), shell);
		return false;
	}
	child = req->sk;
	/* reqsk_put(), whose last step is not exported everywhere. */
	sock_gen_put(req_to_sk(req));
	inet_init_csk_locks(child);
	/* sk_clone_lock() has cleared the priority. */
	if (l->gen->values.dscp != PEP_DSCP_COPY)
		WRITE_ONCE(child->sk_priority, rt_tos2priority(l->gen->values.dscp << 2));
	pep_listener_accepted(l, child, shell);
	return true;
}

static unsigned int pep_listener_run(struct pep_job *job,
				     struct pep_queue *queue)
{
	struct pep_listener *l = container_of(job, struct pep_listener, job);
	struct sock *sk = rcu_dereference(l->sk);
	int n = PEP_LISTENER_BATCH;

	if (!sk)
		return 1;
	while (n && pep_listener_accept(l, sk))
		n--;
	if (!n)
		pep_listener_kick(l);
	return 1 + PEP_LISTENER_BATCH - n;
}

static int pep_listener_bind(struct socket *sock, int family)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(PEP_LISTENER_ADDR4),
	};
	struct sockaddr_in6 sin6 = {
		.sin6_family = AF_INET6,
		.sin6_addr = PEP_LISTENER_ADDR6,
	};

	if (family == AF_INET6)
		return kernel_bind(sock, (struct pep_compat_sockaddr *)&sin6,
				   sizeof(sin6));
	return kernel_bind(sock, (struct pep_compat_sockaddr *)&sin,
			   sizeof(sin));
}

/**
 * pep_listener_open() - start to listen
 * @l: listener
 * @gen: generation that it belongs to
 * @family: AF_INET or AF_INET6
 * @opener: side of the openers, enum pep_side
 *
 * Context: may sleep.
 * Return: 0 or a negative error; -EAFNOSUPPORT when the host lacks @family.
 */
int pep_listener_open(struct pep_listener *l, struct pep_gen *gen, int family,
		      enum pep_side opener)
{
	struct socket *sock;
	int err;

	pep_job_init(&l->job, pep_listener_run);
	l->gen = gen;
	l->family = family;
	l->opener = opener;
	err = pep_socket_make(gen, family, opener, &sock);
	if (err)
		return err;

	lock_sock(sock->sk);
	sock->sk->sk_data_ready = pep_listener_data_ready;
	/* A child must not inherit the pointer, see sk_clone_lock(). */
	__rcu_assign_sk_user_data_with_flags(sock->sk, l,
					     SK_USER_DATA_NOCOPY);
	release_sock(sock->sk);

	err = pep_listener_bind(sock, family);
	if (!err)
		err = kernel_listen(sock, PEP_LISTENER_BACKLOG);
	if (err) {
		sock_release(sock);
		return err;
	}
	/* Whatever net.ipv4.tcp_fastopen says: an opener of Fast Open has a request of
	 * its own, which accept() would have to keep.
	 */
	WRITE_ONCE(inet_csk(sock->sk)->icsk_accept_queue.fastopenq.max_qlen, 0);
	l->sock = sock;
	rcu_assign_pointer(l->sk, sock->sk);
	return 0;
}

/**
 * pep_listener_hide() - take no more SYNs and accept nothing any more
 * @l: listener
 *
 * Takes effect after a grace period.
 *
 * Context: any.
 */
void pep_listener_hide(struct pep_listener *l)
{
	RCU_INIT_POINTER(l->sk, NULL);
}

/**
 * pep_listener_close() - close the socket
 * @l: hidden listener, a grace period later; pending connections are reset
 *
 * Context: may sleep.
 */
void pep_listener_close(struct pep_listener *l)
{
	if (!l->sock)
		return;
	lock_sock(l->sock->sk);
	rcu_assign_sk_user_data(l->sock->sk, NULL);
	release_sock(l->sock->sk);
	sock_release(l->sock);
	l->sock = NULL;
}

/**
 * pep_listener_settle() - wait until the listener's job is not queued
 * @l: closed listener, a grace period later; its job finds nothing to do
 *
 * Context: may sleep.
 */
void pep_listener_settle(struct pep_listener *l)
{
	while (test_bit(0, &l->job.queued))
		usleep_range(100, 1000);
}
