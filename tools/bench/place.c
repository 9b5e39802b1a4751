// SPDX-License-Identifier: GPL-2.0
/* Addresses, ports, and their sockets. */
#include "load.h"

#include <err.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>

/**
 * place_parse() - read a numeric address and a port, or end the program
 * @place: filled in
 * @address: IPv4 or IPv6
 * @port: decimal
 */
void place_parse(struct place *place, const char *address, const char *port)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *found;
	int rc;

	rc = getaddrinfo(address, port, &hints, &found);
	if (rc)
		errx(2, "%s port %s: %s", address, port, gai_strerror(rc));
	memcpy(&place->sa, found->ai_addr, found->ai_addrlen);
	place->len = found->ai_addrlen;
	freeaddrinfo(found);
}

/**
 * place_port_add() - go to another port
 * @place: changed
 * @number: added to the port
 */
void place_port_add(struct place *place, unsigned int number)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&place->sa;

	/* The port of a sockaddr_in6 is where that of a sockaddr_in is. */
	in->sin_port = htons(ntohs(in->sin_port) + number);
}

/**
 * place_port() - get the port
 * @place: address and port
 *
 * Return: the port in network byte order.
 */
__be16 place_port(const struct place *place)
{
	return ((const struct sockaddr_in *)&place->sa)->sin_port;
}

/**
 * place_address_add() - go to another address
 * @place: changed
 * @number: added to the last 32 bits of the address
 */
void place_address_add(struct place *place, unsigned int number)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&place->sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&place->sa;
	__be32 *last = place->sa.ss_family == AF_INET ? &in->sin_addr.s_addr :
		       &in6->sin6_addr.s6_addr32[3];

	*last = htonl(ntohl(*last) + number);
}

/**
 * place_address() - get the address alone
 * @place: address and port
 *
 * Return: its 4 or 16 bytes.
 */
const void *place_address(const struct place *place)
{
	const struct sockaddr_in *in = (const void *)&place->sa;
	const struct sockaddr_in6 *in6 = (const void *)&place->sa;

	return place->sa.ss_family == AF_INET ?
	       (const void *)&in->sin_addr : (const void *)&in6->sin6_addr;
}

/**
 * place_socket() - open a socket of an address's family, or end the program
 * @place: the address
 * @type: SOCK_*
 * @protocol: IPPROTO_*
 *
 * Return: the descriptor.
 */
int place_socket(const struct place *place, int type, int protocol)
{
	int fd = socket(place->sa.ss_family, type, protocol);

	if (fd < 0)
		err(1, "socket");
	return fd;
}

/**
 * place_poll() - epoll_ctl(), or end the program
 * @epoll: descriptor of epoll
 * @op: EPOLL_CTL_*
 * @fd: descriptor to wait for
 * @events: EPOLL*
 * @data: returned with an event
 */
void place_poll(int epoll, int op, int fd, __u32 events, void *data)
{
	struct epoll_event event = { .events = events, .data.ptr = data };

	if (epoll_ctl(epoll, op, fd, &event))
		err(1, "epoll_ctl");
}
