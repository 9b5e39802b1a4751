/* SPDX-License-Identifier: GPL-2.0 */
/* load - both ends of the connections that the benchmarks measure with. */
#ifndef PEP_BENCH_LOAD_H
#define PEP_BENCH_LOAD_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <linux/types.h>

/* Bytes of any request. */
#define REQUEST_SIZE	100

/* Events taken from epoll at once. */
#define EVENTS		64

/* Parts of all connections for which the busy time is shown separately. */
#define PARTS		10

/**
 * struct request - a request of a client, sent in one piece
 * @answer: bytes that the server sends, less than 4 GB
 * @close: 1 if the server has to close the connection then
 * @padding: zeros
 */
struct request {
	__u32 answer;
	__u32 close;
	__u8 padding[REQUEST_SIZE - 8];
};

/**
 * struct place - an IP address and a port
 * @sa: both, as bind() and connect() take them
 * @len: bytes of it
 */
struct place {
	struct sockaddr_storage sa;
	socklen_t len;
};

/**
 * struct job - the job of a client
 * @connections: connections in all
 * @concurrent: connections at the same time; those being made, when they are
 *	held
 * @requests: requests on each of them, one after the other's answer
 * @answer: bytes of an answer
 * @close: the server closes after the last answer, not the client
 * @hold: keep the connections until standard input ends
 * @ports: number of the server's ports, which are used in turn
 */
struct job {
	unsigned long connections;
	unsigned long concurrent;
	unsigned long requests;
	__u64 answer;
	bool close;
	bool hold;
	unsigned int ports;
};

/**
 * struct meter - the time that has elapsed, ns
 * @elapsed: by CLOCK_MONOTONIC
 * @idle: idle time of the CPUs, the sum of all
 */
struct meter {
	__u64 elapsed;
	__u64 idle;
};

/**
 * struct parts - the cost of making each part of all connections
 * @start: start of the measurement
 * @all: how many connections there will be
 * @busy: busy time at the end of each part, ns
 */
struct parts {
	struct meter start;
	unsigned long all;
	__u64 busy[PARTS];
};

struct meter meter_start(void);
struct meter meter_stop(struct meter start);
__u64 meter_busy(struct meter took);
void parts_note(struct parts *parts, unsigned long done);
void parts_print(const struct parts *parts);

void place_parse(struct place *place, const char *address, const char *port);
void place_port_add(struct place *place, unsigned int number);
__be16 place_port(const struct place *place);
void place_address_add(struct place *place, unsigned int number);
const void *place_address(const struct place *place);
int place_socket(const struct place *place, int type, int protocol);
void place_poll(int epoll, int op, int fd, __u32 events, void *data);

__u16 sum_segment(const void *segment, size_t size, const struct place *from,
		  const struct place *to);

void server_run(struct place *place, unsigned int ports);
void client_run(const struct place *place, const struct job *job);
void packets_run(const struct place *place, int protocol,
		 unsigned long count);
void frames_run(const char *dev, const char *path);
void handshakes_run(const struct place *server, const char *address,
		    const char *space, unsigned long count);

#endif /* PEP_BENCH_LOAD_H */
