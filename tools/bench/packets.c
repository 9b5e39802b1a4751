// SPDX-License-Identifier: GPL-2.0
/* Packets of no connection: UDP, and TCP segments that nobody expects. */
#include "load.h"

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Packets of one system call. */
#define BATCH		64

/* A port that the kernel does not assign by itself. */
#define FROM_PORT	1000

/* Bytes after the transport header. */
#define PAYLOAD		64

/*
 * Time between two calls, us. The kernel passes packets on one by one or, under
 * a load that does not end, many at once from a queue, which is cheaper; with
 * pauses it always does the former.
 */
#define PAUSE		1000

/* Time for the last packet to arrive, us. */
#define SETTLE		50000

/**
 * struct segment - a packet without its IP header
 * @tcp: its header; the kernel makes that of UDP
 * @payload: zeros
 */
struct segment {
	struct tcphdr tcp;
	char payload[PAYLOAD];
};

/*
 * Turn zeros into an ACK with payload in the middle of a connection that does
 * not exist.
 */
static void segment_make(struct segment *segment, int fd,
			 const struct place *place)
{
	struct place from = { .len = sizeof(from.sa) };
	const int offset = offsetof(struct tcphdr, check);

	segment->tcp.source = htons(FROM_PORT);
	segment->tcp.dest = place_port(place);
	segment->tcp.seq = htonl(1);
	segment->tcp.ack_seq = htonl(1);
	segment->tcp.doff = sizeof(segment->tcp) / 4;
	segment->tcp.ack = 1;
	segment->tcp.window = htons(1000);
	if (place->sa.ss_family == AF_INET6) {
		if (setsockopt(fd, IPPROTO_IPV6, IPV6_CHECKSUM, &offset,
			       sizeof(offset)))
			err(1, "IPV6_CHECKSUM");
		return;
	}
	if (getsockname(fd, (struct sockaddr *)&from.sa, &from.len))
		err(1, "getsockname");
	segment->tcp.check = sum_segment(segment, sizeof(*segment), &from,
					 place);
}

/**
 * packets_run() - send packets and print the cost as JSON
 * @place: destination
 * @protocol: IPPROTO_UDP or IPPROTO_TCP
 * @count: how many, rounded down to whole batches
 */
void packets_run(const struct place *place, int protocol, unsigned long count)
{
	struct mmsghdr batch[BATCH] = {};
	unsigned long sent = 0;
	struct segment segment = {};
	struct place peer = *place;
	struct meter took;
	struct iovec iov;
	int fd, i, n;

	if (protocol == IPPROTO_UDP) {
		fd = place_socket(place, SOCK_DGRAM, 0);
		iov = (struct iovec){ segment.payload, PAYLOAD };
	} else {
		fd = place_socket(place, SOCK_RAW, protocol);
		iov = (struct iovec){ &segment, sizeof(segment) };
		/* A raw socket of IPv6 takes no port. */
		((struct sockaddr_in *)&peer.sa)->sin_port = 0;
	}
	if (connect(fd, (struct sockaddr *)&peer.sa, peer.len))
		err(1, "connect");
	if (protocol == IPPROTO_TCP)
		segment_make(&segment, fd, place);
	for (i = 0; i < BATCH; i++) {
		batch[i].msg_hdr.msg_iov = &iov;
		batch[i].msg_hdr.msg_iovlen = 1;
	}
	took = meter_start();
	while (sent + BATCH <= count) {
		n = sendmmsg(fd, batch, BATCH, 0);
		if (n < 0)
			err(1, "sendmmsg");
		sent += n;
		usleep(PAUSE);
	}
	usleep(SETTLE);
	took = meter_stop(took);
	printf("{\"busy_ns\": %llu, ", meter_busy(took));
	printf("\"elapsed_ns\": %llu, ", took.elapsed);
	printf("\"packets\": %lu}\n", sent);
}
