// SPDX-License-Identifier: GPL-2.0
/* Frames from a file, unchanged. */
#include "load.h"

#include <arpa/inet.h>
#include <err.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Frames of one system call, and the longest one, bytes. */
#define BATCH		64
#define LONGEST		2048

/* Time between two calls, and for the last frame to arrive, us; see packets.c. */
#define PAUSE		1000
#define SETTLE		50000

/**
 * struct batch - frames of one system call
 * @iov: the data
 * @messages: a message each
 * @data: all frames, one after the other
 * @count: how many
 */
struct batch {
	struct iovec iov[BATCH];
	struct mmsghdr messages[BATCH];
	unsigned char data[BATCH * LONGEST];
	unsigned int count;
};

/* Read the next frames: a length in two bytes, the lower one first, and the data. */
static void batch_read(struct batch *batch, FILE *file)
{
	unsigned char *at = batch->data;
	unsigned char head[2];
	size_t size;

	memset(batch->messages, 0, sizeof(batch->messages));
	batch->count = 0;
	while (batch->count < BATCH && fread(head, sizeof(head), 1, file) == 1) {
		size = head[0] | head[1] << 8;
		if (size > LONGEST || fread(at, size, 1, file) != 1)
			errx(1, "no frame of %zu bytes", size);
		batch->iov[batch->count] = (struct iovec){ at, size };
		batch->messages[batch->count].msg_hdr.msg_iov =
			&batch->iov[batch->count];
		batch->messages[batch->count++].msg_hdr.msg_iovlen = 1;
		at += size;
	}
}

static int frames_socket(const char *dev)
{
	struct sockaddr_ll sa = { .sll_family = AF_PACKET };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0)
		err(1, "socket");
	sa.sll_ifindex = if_nametoindex(dev);
	if (!sa.sll_ifindex)
		err(1, "%s", dev);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)))
		err(1, "bind");
	return fd;
}

/**
 * frames_run() - send frames and print the cost as JSON
 * @dev: device that they leave by
 * @path: file that they are in
 */
void frames_run(const char *dev, const char *path)
{
	static struct batch batch;
	struct meter took = {};
	unsigned long sent = 0;
	FILE *file = fopen(path, "r");
	int fd = frames_socket(dev);
	__u64 busy = 0;
	int n;

	if (!file)
		err(1, "%s", path);
	/* The cost does not include reading the file. */
	for (batch_read(&batch, file); batch.count; batch_read(&batch, file)) {
		took = meter_start();
		n = sendmmsg(fd, batch.messages, batch.count, 0);
		if (n != (int)batch.count)
			err(1, "sendmmsg");
		usleep(PAUSE);
		busy += meter_busy(meter_stop(took));
		sent += n;
	}
	took = meter_start();
	usleep(SETTLE);
	busy += meter_busy(meter_stop(took));
	fclose(file);
	close(fd);
	printf("{\"busy_ns\": %llu, \"packets\": %lu}\n", busy, sent);
}
