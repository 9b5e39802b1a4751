// SPDX-License-Identifier: GPL-2.0
/*
 * How long CPUs were busy, to the nanosecond. On a machine whose clock counts
 * instructions that is the number of instructions executed.
 */
#include "load.h"

#include <err.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * The sum of the idle time of all CPUs, ns. /proc/stat has it in hundredths
 * of seconds only. The idle time of the reading CPU does not grow meanwhile.
 */
static __u64 idle_time(void)
{
	unsigned long long value, sum = 0;
	char *line = NULL;
	size_t size = 0;
	FILE *file;

	file = fopen("/proc/timer_list", "r");
	if (!file)
		err(1, "/proc/timer_list");
	while (getline(&line, &size, file) > 0)
		if (sscanf(line, " .idle_sleeptime : %llu", &value) == 1)
			sum += value;
	free(line);
	fclose(file);
	return sum;
}

static __u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/**
 * meter_stop() - end a measurement; may be called again for a longer time
 * @start: from meter_start()
 *
 * Return: the time since.
 */
struct meter meter_stop(struct meter start)
{
	struct meter stop;

	stop.elapsed = now() - start.elapsed;
	stop.idle = idle_time() - start.idle;
	return stop;
}

/**
 * meter_start() - begin a measurement
 *
 * Return: the start, for meter_stop().
 */
struct meter meter_start(void)
{
	struct meter start;

	/* Its first call may have to read pages, and that wait is idle time. */
	meter_stop((struct meter){ });
	start.idle = idle_time();
	start.elapsed = now();
	return start;
}

/**
 * meter_busy() - how long CPUs were busy
 * @took: from meter_stop()
 *
 * Return: the sum of all that are online, ns.
 */
__u64 meter_busy(struct meter took)
{
	return took.elapsed * sysconf(_SC_NPROCESSORS_ONLN) - took.idle;
}

/**
 * parts_note() - keep the busy time when a part of the connections is made
 * @parts: with the start and the number of all
 * @done: how many are made so far; called for each end of a part
 */
void parts_note(struct parts *parts, unsigned long done)
{
	unsigned long part = parts->all / PARTS;

	if (part && done % part == 0 && done / part <= PARTS)
		parts->busy[done / part - 1] =
			meter_busy(meter_stop(parts->start));
}

/**
 * parts_print() - print the busy times as a member of a JSON object
 * @parts: the busy times, once all connections are made
 */
void parts_print(const struct parts *parts)
{
	unsigned int i;

	printf(", \"parts_busy_ns\": [");
	for (i = 0; i < PARTS; i++)
		printf("%s%llu", i ? ", " : "", parts->busy[i]);
	printf("]");
}
