// SPDX-License-Identifier: GPL-2.0
/*
 * Handshakes between ends that have no sockets, so that the connections take
 * memory of the gateway only. This program sends both ends' packets, and the
 * ends have to drop those that they receive.
 */
#include "load.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Handshakes at the same time. */
#define BATCH		50

/* Connections of one opener, and the first of their ports. */
#define OPENER_CONNS	1000
#define OPENER_PORT	10000

/* Time for the packets of one kind to pass, us; see packets.c. */
#define PAUSE		1000

/* Bytes of options of a SYN, and of an ACK. */
#define SYN_OPTIONS	20
#define ACK_OPTIONS	12

/* An end offers segments, a shift of its windows, and a window. */
#define MSS		1460
#define SCALE		7
#define WINDOW		512

/* Room for the name of a network namespace's file. */
#define NAME_SIZE	256

/**
 * enum step - a packet of a handshake
 * @STEP_SYN: from the opener
 * @STEP_SYNACK: from the server
 * @STEP_ACK: from the opener
 */
enum step {
	STEP_SYN,
	STEP_SYNACK,
	STEP_ACK,
};

/**
 * struct packet - a packet of a handshake
 * @ip: its IP header, of either family
 * @tcp: its TCP header
 * @options: its TCP options
 * @iov: the IP header, and all after it
 */
struct packet {
	union {
		struct iphdr v4;
		struct ip6_hdr v6;
	} ip;
	struct tcphdr tcp;
	__u8 options[SYN_OPTIONS];
	struct iovec iov[2];
};

/**
 * struct ends - all connections
 * @opener: address and port of the first one's opener
 * @server: address and port of the server of all
 * @fd: raw sockets that are connected to the server and to the first opener
 */
struct ends {
	struct place opener;
	struct place server;
	int fd[2];
};

static __u8 *option_stamp(__u8 *option, __u32 value, __u32 echo)
{
	__u32 words[] = { htonl(value), htonl(echo) };

	*option++ = TCPOPT_TIMESTAMP;
	*option++ = TCPOLEN_TIMESTAMP;
	memcpy(option, words, sizeof(words));
	return option + sizeof(words);
}

/* The options that Linux sends. */
static size_t options_make(__u8 *options, enum step step, __u32 stamp)
{
	__u8 *option = options;

	if (step == STEP_ACK) {
		*option++ = TCPOPT_NOP;
		*option++ = TCPOPT_NOP;
		option_stamp(option, stamp, stamp);
		return ACK_OPTIONS;
	}
	*option++ = TCPOPT_MAXSEG;
	*option++ = TCPOLEN_MAXSEG;
	*option++ = MSS >> 8;
	*option++ = MSS & 0xff;
	*option++ = TCPOPT_SACK_PERMITTED;
	*option++ = TCPOLEN_SACK_PERMITTED;
	option = option_stamp(option, stamp, step == STEP_SYN ? 0 : stamp);
	*option++ = TCPOPT_NOP;
	*option++ = TCPOPT_WINDOW;
	*option++ = TCPOLEN_WINDOW;
	*option++ = SCALE;
	return SYN_OPTIONS;
}

/* Make the IP header; the kernel fills in the checksum of IPv4's. */
static size_t ip_make(struct packet *packet, const struct place *from,
		      const struct place *to, size_t size)
{
	if (from->sa.ss_family == AF_INET) {
		packet->ip.v4 = (struct iphdr){
			.version = 4, .ihl = 5, .ttl = IPDEFTTL,
			.frag_off = htons(IP_DF), .protocol = IPPROTO_TCP,
		};
		memcpy(&packet->ip.v4.saddr, place_address(from), 4);
		memcpy(&packet->ip.v4.daddr, place_address(to), 4);
		return sizeof(packet->ip.v4);
	}
	packet->ip.v6 = (struct ip6_hdr){ };
	packet->ip.v6.ip6_flow = htonl(6U << 28);
	packet->ip.v6.ip6_plen = htons(size);
	packet->ip.v6.ip6_nxt = IPPROTO_TCP;
	packet->ip.v6.ip6_hlim = IPDEFTTL;
	memcpy(&packet->ip.v6.ip6_src, place_address(from), 16);
	memcpy(&packet->ip.v6.ip6_dst, place_address(to), 16);
	return sizeof(packet->ip.v6);
}

/* Make a packet of a connection, by its number. */
static void packet_make(struct packet *packet, const struct ends *ends,
			enum step step, __u32 number)
{
	bool back = step == STEP_SYNACK;
	struct place opener = ends->opener, server = ends->server;
	const struct place *from = back ? &server : &opener;
	const struct place *to = back ? &opener : &server;
	struct tcphdr *tcp = &packet->tcp;
	__u32 seq[2];
	size_t size;

	place_address_add(&opener, number / OPENER_CONNS);
	place_port_add(&opener, number % OPENER_CONNS);
	seq[0] = number << 12;
	seq[1] = ~seq[0];
	size = sizeof(*tcp) +
	       options_make(packet->options, step, number + 1);
	*tcp = (struct tcphdr){ .syn = step != STEP_ACK,
				.ack = step != STEP_SYN };
	tcp->source = place_port(from);
	tcp->dest = place_port(to);
	tcp->seq = htonl(seq[back] + (step == STEP_ACK));
	tcp->ack_seq = tcp->ack ? htonl(seq[!back] + 1) : 0;
	tcp->doff = size / 4;
	tcp->window = htons(WINDOW);
	tcp->check = sum_segment(tcp, size, from, to);
	packet->iov[0].iov_base = &packet->ip;
	packet->iov[0].iov_len = ip_make(packet, from, to, size);
	packet->iov[1].iov_base = tcp;
	packet->iov[1].iov_len = size;
}

/* Send one packet of each of some connections, and let them pass. */
static void batch_send(const struct ends *ends, enum step step,
		       unsigned long first, unsigned int count)
{
	static struct packet packets[BATCH];
	struct mmsghdr batch[BATCH] = { };
	unsigned int i;
	int sent;

	for (i = 0; i < count; i++) {
		packet_make(&packets[i], ends, step, first + i);
		batch[i].msg_hdr.msg_iov = packets[i].iov;
		batch[i].msg_hdr.msg_iovlen = 2;
	}
	sent = sendmmsg(ends->fd[step == STEP_SYNACK], batch, count, 0);
	if (sent < 0)
		err(1, "sendmmsg");
	if ((unsigned int)sent < count)
		errx(1, "%u packets sent, not %u", sent, count);
	usleep(PAUSE);
}

/* A raw socket for whole packets to a place. */
static int raw_socket(const struct place *to)
{
	int fd = place_socket(to, SOCK_RAW, IPPROTO_RAW);
	struct place peer = *to;

	/* A raw socket of IPv6 takes no port. */
	((struct sockaddr_in *)&peer.sa)->sin_port = 0;
	if (connect(fd, (struct sockaddr *)&peer.sa, peer.len))
		err(1, "connect");
	return fd;
}

static int space_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void space_enter(int fd)
{
	if (setns(fd, CLONE_NEWNET))
		err(1, "setns");
	close(fd);
}

/**
 * handshakes_run() - make connections and print the cost as JSON
 * @server: address and port that they are opened to
 * @address: address of the first opener, numeric; each further opener has the
 *	next one
 * @space: name of the server's network namespace
 * @count: how many, rounded down to whole batches
 */
void handshakes_run(const struct place *server, const char *address,
		    const char *space, unsigned long count)
{
	struct ends ends = { .server = *server };
	struct parts parts = { .all = count };
	char path[NAME_SIZE];
	unsigned long done;
	struct meter took;
	enum step step;
	int here;

	place_parse(&ends.opener, address, "0");
	if (ends.opener.sa.ss_family != server->sa.ss_family)
		errx(2, "%s is of another family than the server", address);
	place_port_add(&ends.opener, OPENER_PORT);
	ends.fd[0] = raw_socket(server);
	here = space_open("/proc/thread-self/ns/net");
	snprintf(path, sizeof(path), "/run/netns/%s", space);
	space_enter(space_open(path));
	ends.fd[1] = raw_socket(&ends.opener);
	space_enter(here);
	parts.start = meter_start();
	for (done = 0; done + BATCH <= count; parts_note(&parts, done)) {
		for (step = STEP_SYN; step <= STEP_ACK; step++)
			batch_send(&ends, step, done, BATCH);
		done += BATCH;
	}
	took = meter_stop(parts.start);
	printf("{\"busy_ns\": %llu, ", meter_busy(took));
	printf("\"elapsed_ns\": %llu, ", took.elapsed);
	printf("\"connections\": %lu", done);
	parts_print(&parts);
	puts("}");
}
