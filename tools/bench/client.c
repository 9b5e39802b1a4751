// SPDX-License-Identifier: GPL-2.0
/* The end that sends requests, measures, and prints the figures as JSON. */
#include "load.h"

#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/*
 * Bytes taken from the kernel at once, which drops them: it copies nothing
 * with MSG_TRUNC.
 */
#define PIECE		(4 << 20)

/* Time for ACKs and ends after the last byte, which belong to the work, us. */
#define SETTLE		50000

/**
 * struct conn - a connection
 * @fd: its descriptor
 * @connected: it is established
 * @requests: requests sent
 * @left: bytes of the present answer that are missing
 */
struct conn {
	int fd;
	bool connected;
	unsigned long requests;
	__u64 left;
};

/**
 * struct client - all connections
 * @job: job of the client
 * @place: the server
 * @epoll: descriptor
 * @opened: connections so far
 * @done: connections that came to an end, or are held
 * @bytes: bytes received
 * @parts: busy time, since the start and by parts of the held connections
 */
struct client {
	const struct job *job;
	const struct place *place;
	int epoll;
	unsigned long opened;
	unsigned long done;
	__u64 bytes;
	struct parts parts;
};

/* Begin a connection. */
static void conn_open(struct client *client)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	struct place place = *client->place;
	const int on = 1;

	if (!conn)
		err(1, "calloc");
	place_port_add(&place, client->opened % client->job->ports);
	conn->fd = place_socket(&place, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(conn->fd, (struct sockaddr *)&place.sa, place.len) &&
	    errno != EINPROGRESS)
		err(1, "connect");
	place_poll(client->epoll, EPOLL_CTL_ADD, conn->fd, EPOLLOUT, conn);
	client->opened++;
}

/* A connection is over, or will be held: begin the next one. */
static void conn_done(struct client *client)
{
	const struct job *job = client->job;

	client->done++;
	if (job->hold)
		parts_note(&client->parts, client->done);
	if (client->opened < job->connections)
		conn_open(client);
}

/* Send the next request. */
static void conn_ask(struct client *client, struct conn *conn)
{
	const struct job *job = client->job;
	struct request request = { .answer = job->answer };

	conn->requests++;
	request.close = job->close && conn->requests == job->requests;
	conn->left = job->answer;
	if (send(conn->fd, &request, sizeof(request), MSG_NOSIGNAL) !=
	    (ssize_t)sizeof(request))
		err(1, "send");
}

/* The handshake is over. */
static void conn_connected(struct client *client, struct conn *conn)
{
	socklen_t len = sizeof(int);
	int error = 0;

	getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error)
		errx(1, "connection %lu: %s", client->opened, strerror(error));
	conn->connected = true;
	place_poll(client->epoll, EPOLL_CTL_MOD, conn->fd, EPOLLIN, conn);
	if (client->job->hold)
		conn_done(client);
	else
		conn_ask(client, conn);
}

/* Receive an answer; send a request or end when it is complete. */
static void conn_read(struct client *client, struct conn *conn)
{
	ssize_t n = recv(conn->fd, NULL, PIECE, MSG_TRUNC);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0)
		err(1, "recv");
	if (n == 0 && (conn->left || !client->job->close))
		errx(1, "the server closed, %llu bytes are missing",
		     conn->left);
	client->bytes += n;
	conn->left -= n;
	if (n && conn->left)
		return;
	if (n && conn->requests < client->job->requests) {
		conn_ask(client, conn);
		return;
	}
	if (n && client->job->close)
		return;
	close(conn->fd);
	free(conn);
	conn_done(client);
}

static void print(const struct client *client, struct meter took)
{
	printf("{\"busy_ns\": %llu, ", meter_busy(took));
	printf("\"elapsed_ns\": %llu, ", took.elapsed);
	printf("\"bytes\": %llu, ", client->bytes);
	printf("\"connections\": %lu", client->done);
	if (client->job->hold)
		parts_print(&client->parts);
	puts("}");
	fflush(stdout);
}

/**
 * client_run() - do a job and print its cost
 * @place: address and first port of the server
 * @job: the job
 */
void client_run(const struct place *place, const struct job *job)
{
	struct client client = { .job = job, .place = place,
				 .parts.all = job->connections };
	struct epoll_event events[EVENTS];
	struct meter took;
	struct conn *conn;
	char byte;
	int i, n;

	client.epoll = epoll_create1(0);
	if (client.epoll < 0)
		err(1, "epoll_create1");
	client.parts.start = meter_start();
	while (client.opened < job->concurrent &&
	       client.opened < job->connections)
		conn_open(&client);
	while (client.done < job->connections) {
		n = epoll_wait(client.epoll, events, EVENTS, 60000);
		if (n <= 0)
			errx(1, "nothing came for a minute");
		for (i = 0; i < n; i++) {
			conn = events[i].data.ptr;
			if (conn->connected)
				conn_read(&client, conn);
			else
				conn_connected(&client, conn);
		}
	}
	usleep(SETTLE);
	took = meter_stop(client.parts.start);
	print(&client, took);
	while (job->hold && read(STDIN_FILENO, &byte, 1) > 0)
		;
}
