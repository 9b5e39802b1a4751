// SPDX-License-Identifier: GPL-2.0
/* The end that answers: sends as many bytes as a request asks for. */
#include "load.h"

#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Bytes given to the kernel at once. */
#define PIECE	262144

/**
 * struct conn - a connection, or a listener
 * @fd: its descriptor
 * @got: bytes of the present request that have arrived
 * @left: bytes of the present answer that are not sent
 * @request: the present one
 * @listens: it is a listener
 * @waits: it waits for room to send
 */
struct conn {
	int fd;
	unsigned int got;
	__u64 left;
	struct request request;
	bool listens;
	bool waits;
};

static const char piece[PIECE];

static void conn_close(struct conn *conn)
{
	close(conn->fd);
	free(conn);
}

/* Accept all connections of a listener. */
static void conn_accept(int epoll, int listener)
{
	const int on = 1;
	struct conn *conn;
	int fd;

	for (;;) {
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		if (fd < 0)
			return;
		conn = calloc(1, sizeof(*conn));
		if (!conn)
			err(1, "calloc");
		conn->fd = fd;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		place_poll(epoll, EPOLL_CTL_ADD, fd, EPOLLIN, conn);
	}
}

/*
 * Send the rest of an answer; false when the connection is over. Waits for room
 * only as long as there is none.
 */
static bool conn_send(int epoll, struct conn *conn)
{
	ssize_t n;

	while (conn->left) {
		n = conn->left < PIECE ? conn->left : PIECE;
		n = send(conn->fd, piece, n, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0) {
			if (!conn->waits)
				place_poll(epoll, EPOLL_CTL_MOD, conn->fd,
					   EPOLLOUT, conn);
			conn->waits = true;
			return true;
		}
		conn->left -= n;
	}
	if (conn->request.close)
		return false;
	if (conn->waits)
		place_poll(epoll, EPOLL_CTL_MOD, conn->fd, EPOLLIN, conn);
	conn->waits = false;
	conn->got = 0;
	return true;
}

/* Read a request and answer it; false when the connection is over. */
static bool conn_read(int epoll, struct conn *conn)
{
	ssize_t n;

	n = recv(conn->fd, (char *)&conn->request + conn->got,
		 REQUEST_SIZE - conn->got, 0);
	if (n < 0)
		return errno == EAGAIN;
	if (!n)
		return false;
	conn->got += n;
	if (conn->got < REQUEST_SIZE)
		return true;
	conn->left = conn->request.answer;
	return conn_send(epoll, conn);
}

static void conn_event(int epoll, struct conn *conn)
{
	bool alive;

	if (conn->listens) {
		conn_accept(epoll, conn->fd);
		return;
	}
	alive = conn->left ? conn_send(epoll, conn) : conn_read(epoll, conn);
	if (!alive)
		conn_close(conn);
}

/* Listen on a port. */
static void server_listen(int epoll, const struct place *place)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	const int on = 1;

	if (!conn)
		err(1, "calloc");
	conn->listens = true;
	conn->fd = place_socket(place, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(conn->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(conn->fd, (const struct sockaddr *)&place->sa, place->len))
		err(1, "bind");
	if (listen(conn->fd, 4096))
		err(1, "listen");
	place_poll(epoll, EPOLL_CTL_ADD, conn->fd, EPOLLIN, conn);
}

/**
 * server_run() - serve until killed
 * @place: address and first port to listen on
 * @ports: how many ports
 */
void server_run(struct place *place, unsigned int ports)
{
	struct epoll_event events[EVENTS];
	int epoll = epoll_create1(0);
	int i, n;

	if (epoll < 0)
		err(1, "epoll_create1");
	for (; ports--; place_port_add(place, 1))
		server_listen(epoll, place);
	for (;;) {
		n = epoll_wait(epoll, events, EVENTS, -1);
		for (i = 0; i < n; i++)
			conn_event(epoll, events[i].data.ptr);
	}
}
