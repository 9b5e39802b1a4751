// SPDX-License-Identifier: GPL-2.0
/*
 * A transparent proxy as users of sockmap write them: a daemon accepts and
 * connects, a BPF program moves the payload from socket to socket.
 *
 *   sockmap BPF-OBJECT PORT PORTS
 */
#include <err.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "sockmap.h"

/* Events taken from epoll at once. */
#define EVENTS	64

/* Time between two checks whether payload has moved, ms. */
#define AGAIN	1

/**
 * struct leg - one of the two sockets of a connection, or a listener
 * @fd: its descriptor
 * @number: its key in the map of sockets
 * @ended: its peer has closed its direction
 * @told: that end has been passed on to the other leg
 * @pair: the connection; NULL for a listener
 */
struct leg {
	int fd;
	__u32 number;
	bool ended;
	bool told;
	struct pair *pair;
};

/**
 * struct pair - a connection
 * @client: leg towards the client
 * @server: leg towards the server
 * @connected: @server is established
 * @waiting: it is in the list of those that wait for payload to move
 * @closed: it is in the list of those that are freed
 * @next: in either list
 */
struct pair {
	struct leg client;
	struct leg server;
	bool connected;
	bool waiting;
	bool closed;
	struct pair *next;
};

/**
 * struct proxy - the daemon
 * @epoll: descriptor
 * @sockets: descriptor of the map of sockets
 * @peers: descriptor of the map of pairs
 * @unused: keys of @sockets that are free
 * @n_unused: how many
 * @waiting: pairs of which a leg has ended and payload is still on its way
 * @closed: pairs to free when no event can refer to them any more
 */
struct proxy {
	int epoll;
	int sockets;
	int peers;
	__u32 unused[SOCKMAP_SOCKETS];
	unsigned int n_unused;
	struct pair *waiting;
	struct pair *closed;
};

static struct proxy proxy;

static const char usage[] =
	"usage: sockmap BPF-OBJECT PORT PORTS\n"
	"\n"
	"Takes connections to PORTS ports from PORT on, of any address, until it is\n"
	"ended; BPF-OBJECT is sockmap.bpf.o.\n"
	"\n"
	"Exit code: 1 when something fails; 2 when the command line is wrong.\n";

static void watch(int op, struct leg *leg, __u32 events)
{
	struct epoll_event event = { .events = events, .data.ptr = leg };

	if (epoll_ctl(proxy.epoll, op, leg->fd, &event))
		err(1, "epoll_ctl");
}

static __u64 cookie_of(int fd)
{
	socklen_t len = sizeof(__u64);
	__u64 cookie = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len))
		err(1, "SO_COOKIE");
	return cookie;
}

/* Let a socket use addresses that are not this machine's. */
static void set_transparent(int fd, int family)
{
	const int on = 1;
	int rc;

	if (family == AF_INET)
		rc = setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on,
				sizeof(on));
	else
		rc = setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &on,
				sizeof(on));
	if (rc)
		err(1, "IP_TRANSPARENT");
}

static void leg_close(struct leg *leg)
{
	__u64 cookie = cookie_of(leg->fd);

	bpf_map_delete_elem(proxy.peers, &cookie);
	bpf_map_delete_elem(proxy.sockets, &leg->number);
	close(leg->fd);
	proxy.unused[proxy.n_unused++] = leg->number;
}

static void pair_close(struct pair *pair)
{
	leg_close(&pair->client);
	leg_close(&pair->server);
	pair->closed = true;
	pair->next = proxy.closed;
	proxy.closed = pair;
}

/* Free the closed pairs. */
static void closed_run(void)
{
	struct pair *pair;

	while ((pair = proxy.closed)) {
		proxy.closed = pair->next;
		free(pair);
	}
}

/* Note the number of the other leg under a leg's cookie. */
static void leg_pair(const struct leg *leg, const struct leg *other)
{
	__u64 cookie = cookie_of(leg->fd);

	if (bpf_map_update_elem(proxy.peers, &cookie, &other->number, BPF_ANY))
		err(1, "map of peers");
}

/*
 * From here on the program moves the payload that a leg receives; reading makes
 * it see the payload that came before.
 */
static void leg_relay(const struct leg *leg)
{
	__u64 fd = leg->fd;
	char byte;

	if (bpf_map_update_elem(proxy.sockets, &leg->number, &fd, BPF_ANY))
		err(1, "map of sockets");
	if (recv(leg->fd, &byte, sizeof(byte), MSG_DONTWAIT) > 0)
		errx(1, "payload that was not redirected");
}

/* The server has answered: begin to relay. */
static void pair_connected(struct pair *pair)
{
	socklen_t len = sizeof(int);
	int error = 0;

	getsockopt(pair->server.fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error) {
		pair_close(pair);
		return;
	}
	pair->connected = true;
	leg_pair(&pair->client, &pair->server);
	leg_pair(&pair->server, &pair->client);
	leg_relay(&pair->server);
	leg_relay(&pair->client);
	watch(EPOLL_CTL_MOD, &pair->server, EPOLLRDHUP | EPOLLET);
	watch(EPOLL_CTL_ADD, &pair->client, EPOLLRDHUP | EPOLLET);
}

static void info_of(int fd, struct tcp_info *info)
{
	socklen_t len = sizeof(*info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len))
		err(1, "TCP_INFO");
}

/*
 * Has the other leg been given all bytes that one leg received? The end of a
 * direction counts as a byte received.
 */
static bool leg_drained(const struct leg *from, const struct leg *to)
{
	struct tcp_info in, out;

	info_of(from->fd, &in);
	info_of(to->fd, &out);
	return in.tcpi_bytes_received <= 1 + out.tcpi_bytes_sent -
		out.tcpi_bytes_retrans + out.tcpi_notsent_bytes;
}

/* Pass on the end of a direction once its payload is through. */
static void leg_end(struct leg *from, struct leg *to)
{
	if (from->ended && !from->told && leg_drained(from, to)) {
		shutdown(to->fd, SHUT_WR);
		from->told = true;
	}
}

/* Pass on the ends of both directions; close, or look again later. */
static void pair_end(struct pair *pair)
{
	struct leg *client = &pair->client, *server = &pair->server;

	leg_end(client, server);
	leg_end(server, client);
	if (client->told && server->told && !pair->waiting) {
		pair_close(pair);
	} else if (!pair->waiting && (client->ended != client->told ||
				      server->ended != server->told)) {
		pair->waiting = true;
		pair->next = proxy.waiting;
		proxy.waiting = pair;
	}
}

/* Look again at pairs that waited. */
static void waiting_run(void)
{
	struct pair *pair = proxy.waiting, *next;

	proxy.waiting = NULL;
	for (; pair; pair = next) {
		next = pair->next;
		pair->waiting = false;
		pair_end(pair);
	}
}

/* Connect to the client's destination, with the client's address. */
static void pair_connect(int client)
{
	struct sockaddr_storage from, to;
	socklen_t len = sizeof(from), to_len = sizeof(to);
	struct pair *pair = calloc(1, sizeof(*pair));
	int fd;

	if (!pair || proxy.n_unused < 2)
		errx(1, "too many connections");
	if (getpeername(client, (struct sockaddr *)&from, &len) ||
	    getsockname(client, (struct sockaddr *)&to, &to_len))
		err(1, "names of a connection");
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0)
		err(1, "socket");
	set_transparent(fd, to.ss_family);
	if (bind(fd, (struct sockaddr *)&from, len))
		err(1, "bind");
	if (connect(fd, (struct sockaddr *)&to, to_len) &&
	    errno != EINPROGRESS)
		err(1, "connect");
	pair->client = (struct leg){ .fd = client, .pair = pair };
	pair->server = (struct leg){ .fd = fd, .pair = pair };
	pair->client.number = proxy.unused[--proxy.n_unused];
	pair->server.number = proxy.unused[--proxy.n_unused];
	watch(EPOLL_CTL_ADD, &pair->server, EPOLLOUT);
}

static void leg_event(struct leg *leg)
{
	int fd;

	if (!leg->pair) {
		while ((fd = accept4(leg->fd, NULL, NULL, SOCK_NONBLOCK)) >= 0)
			pair_connect(fd);
	} else if (!leg->pair->connected) {
		pair_connected(leg->pair);
	} else if (!leg->pair->closed) {
		leg->ended = true;
		pair_end(leg->pair);
	}
}

/* Listen on a port of all addresses. */
static void listen_on(int family, unsigned int port)
{
	struct sockaddr_in6 sa6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in sa4 = { .sin_family = AF_INET };
	struct sockaddr *sa = (struct sockaddr *)&sa4;
	struct leg *leg = calloc(1, sizeof(*leg));
	socklen_t len = sizeof(sa4);
	const int on = 1;

	sa4.sin_port = htons(port);
	sa6.sin6_port = sa4.sin_port;
	if (family == AF_INET6) {
		sa = (struct sockaddr *)&sa6;
		len = sizeof(sa6);
	}
	if (!leg)
		err(1, "calloc");
	leg->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (leg->fd < 0)
		err(1, "socket");
	set_transparent(leg->fd, family);
	setsockopt(leg->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(leg->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
			   sizeof(on));
	if (bind(leg->fd, sa, len) || listen(leg->fd, 4096))
		err(1, "port %u", port);
	watch(EPOLL_CTL_ADD, leg, EPOLLIN);
}

/* Load the program and attach it to its map. */
static void load(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	__u32 i;

	if (!object || bpf_object__load(object))
		err(1, "%s", path);
	program = bpf_object__find_program_by_name(object, "relay");
	proxy.sockets = bpf_object__find_map_fd_by_name(object, "sockets");
	proxy.peers = bpf_object__find_map_fd_by_name(object, "peers");
	if (bpf_prog_attach(bpf_program__fd(program), proxy.sockets,
			    BPF_SK_SKB_STREAM_VERDICT, 0))
		err(1, "attaching the program");
	for (i = 0; i < SOCKMAP_SOCKETS; i++)
		proxy.unused[proxy.n_unused++] = i;
}

int main(int argc, char **argv)
{
	struct epoll_event events[EVENTS];
	unsigned int port, end;
	int i, n;

	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc != 4)
		errx(2, "usage: sockmap BPF-OBJECT PORT PORTS");
	load(argv[1]);
	proxy.epoll = epoll_create1(0);
	if (proxy.epoll < 0)
		err(1, "epoll_create1");
	port = strtoul(argv[2], NULL, 10);
	for (end = port + strtoul(argv[3], NULL, 10); port < end; port++) {
		listen_on(AF_INET, port);
		listen_on(AF_INET6, port);
	}
	for (;;) {
		n = epoll_wait(proxy.epoll, events, EVENTS,
			       proxy.waiting ? AGAIN : -1);
		for (i = 0; i < n; i++)
			leg_event(events[i].data.ptr);
		waiting_run();
		closed_run();
	}
}
