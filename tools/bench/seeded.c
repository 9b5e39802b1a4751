// SPDX-License-Identifier: GPL-2.0
/*
 * getrandom() with a seed, to be loaded in front of the C library into a kernel
 * of User Mode Linux, which has no other source of random numbers: in simulated
 * time two runs with the same SIM_SEED are the same to the nanosecond.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

/* The next number of Vigna's splitmix64. */
static uint64_t next(void)
{
	static uint64_t state;
	const char *seed;
	uint64_t z;

	if (!state) {
		seed = getenv("SIM_SEED");
		state = seed ? strtoull(seed, NULL, 10) : 1;
	}
	state += 0x9e3779b97f4a7c15;
	z = state;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/**
 * getrandom() - fill a buffer, in place of the C library's function
 * @buffer: filled
 * @length: bytes of it
 * @flags: ignored
 *
 * Return: the number of bytes filled, always all.
 */
ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	unsigned char *to = buffer;
	size_t i;

	(void)flags;
	for (i = 0; i < length; i++)
		to[i] = next();
	return length;
}
