// SPDX-License-Identifier: GPL-2.0
/* load: the command line. */
#include "load.h"

#include <err.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const char usage[] =
	"usage: load server ADDRESS PORT PORTS\n"
	"       load bulk ADDRESS PORT BYTES FLOWS\n"
	"       load short ADDRESS PORT CONNECTIONS CONCURRENT BYTES\n"
	"       load transact ADDRESS PORT TRANSACTIONS BYTES\n"
	"       load idle ADDRESS PORT CONNECTIONS PORTS\n"
	"       load udp|tcp ADDRESS PORT PACKETS\n"
	"       load frames DEVICE FILE\n"
	"       load handshakes ADDRESS PORT OPENER NETNS CONNECTIONS\n"
	"\n"
	"server listens on PORTS ports from PORT on until it is ended. All others\n"
	"print one object of JSON: busy_ns and elapsed_ns, the nanoseconds of the\n"
	"CPUs and of the clock; bytes of payload, connections or packets. idle and\n"
	"handshakes add parts_busy_ns, the CPUs' nanoseconds for each tenth of the\n"
	"connections; idle keeps its connections until its input ends. BYTES is the\n"
	"payload down: of all FLOWS, of a connection or of a transaction. frames sends\n"
	"the packets of FILE, each behind its length, to DEVICE.\n"
	"\n"
	"Exit code: 0; 1 when something fails; 2 when the command line is wrong.\n";

/* A decimal number from 1 on. */
static unsigned long parse_number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || !value)
		errx(2, "not above 0: %s", text);
	return value;
}

/* Raise the limit of descriptors as far as possible. */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		err(1, "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		err(1, "setrlimit");
}

/* Fill in the job that a word names; false when there is no such job. */
static bool parse_job(struct job *job, int argc, char **argv)
{
	const char *word = argv[1];

	*job = (struct job){ .connections = 1, .concurrent = 1,
			     .requests = 1, .ports = 1 };
	if (!strcmp(word, "bulk") && argc == 6) {
		job->connections = parse_number(argv[5]);
		job->concurrent = job->connections;
		job->answer = parse_number(argv[4]) / job->connections;
		job->close = true;
	} else if (!strcmp(word, "short") && argc == 7) {
		job->connections = parse_number(argv[4]);
		job->concurrent = parse_number(argv[5]);
		job->answer = parse_number(argv[6]);
		job->close = true;
	} else if (!strcmp(word, "transact") && argc == 6) {
		job->requests = parse_number(argv[4]);
		job->answer = parse_number(argv[5]);
	} else if (!strcmp(word, "idle") && argc == 6) {
		job->connections = parse_number(argv[4]);
		job->concurrent = 16;
		job->requests = 0;
		job->hold = true;
		job->ports = parse_number(argv[5]);
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct place place;
	struct job job;

	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "frames")) {
		frames_run(argv[2], argv[3]);
		return 0;
	}
	if (argc < 5)
		errx(2, "too few arguments (see load --help)");
	raise_files();
	place_parse(&place, argv[2], argv[3]);
	if (!strcmp(argv[1], "server") && argc == 5)
		server_run(&place, parse_number(argv[4]));
	else if (!strcmp(argv[1], "udp") && argc == 5)
		packets_run(&place, IPPROTO_UDP, parse_number(argv[4]));
	else if (!strcmp(argv[1], "tcp") && argc == 5)
		packets_run(&place, IPPROTO_TCP, parse_number(argv[4]));
	else if (!strcmp(argv[1], "handshakes") && argc == 7)
		handshakes_run(&place, argv[4], argv[5], parse_number(argv[6]));
	else if (parse_job(&job, argc, argv))
		client_run(&place, &job);
	else
		errx(2, "no such job, or not its arguments: %s (see load --help)",
		     argv[1]);
	return 0;
}
