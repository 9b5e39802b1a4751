// SPDX-License-Identifier: GPL-2.0
/*
 * ptrace() for hosts whose CPU has more state than User Mode Linux supports, to be
 * loaded in front of the C library into its kernel.
 *
 * The kernel keeps 2696 bytes of a program's extended state (HOST_FP_SIZE), and the
 * host accepts only all of it: with the tiles of AMX that is 11 KB, and every
 * PTRACE_SETREGSET fails with EFAULT. Programs in a guest have no tiles, as the
 * host gives these only to a program that has requested them. So this function
 * makes the state as long as the host needs it, with initial values beyond.
 */
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Longer than the state of any CPU, bytes. */
#define STATE_MAX	65536

/* Offset of the mask of the components that the state has: XSTATE_BV. */
#define STATE_HEADER	512

/* The leaf of CPUID about the extended state. */
#define CPUID_STATE	0xd

static unsigned char state[STATE_MAX];
static size_t length;

/* As in the C library: the system call stores a word that is peeked. */
static long call(long request, long pid, void *addr, void *data)
{
	long word, err;

	if (request < PTRACE_PEEKTEXT || request > PTRACE_PEEKUSER)
		return syscall(SYS_ptrace, request, pid, addr, data);
	err = syscall(SYS_ptrace, request, pid, addr, &word);
	if (err)
		return err;
	errno = 0;
	return word;
}

/* Components that lie within so many bytes, a mask. */
static uint64_t components(size_t bytes)
{
	unsigned int size, offset, flags, reserved;
	uint64_t mask = 3;	/* of x87 and SSE, which come first */

	for (int i = 2; i < 63; i++)
		if (__get_cpuid_count(CPUID_STATE, i, &size, &offset, &flags,
				      &reserved) &&
		    size && offset + size <= bytes)
			mask |= 1ULL << i;
	return mask;
}

/* Set a state that is too short for the host. */
static long extend(long pid, const struct iovec *given)
{
	static uint64_t mask;
	struct iovec iov = { state, sizeof(state) };
	uint64_t present;

	if (given->iov_len > sizeof(state) ||
	    given->iov_len < STATE_HEADER + sizeof(present)) {
		errno = EFAULT;
		return -1;
	}
	if (!length) {
		if (call(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &iov))
			return -1;
		length = iov.iov_len;
		mask = components(given->iov_len);
		memset(state, 0, sizeof(state));
	}
	memcpy(state, given->iov_base, given->iov_len);
	memcpy(&present, state + STATE_HEADER, sizeof(present));
	present &= mask;
	memcpy(state + STATE_HEADER, &present, sizeof(present));
	iov.iov_len = length;
	return call(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &iov);
}

/**
 * ptrace() - trace a process, in place of the C library's function
 * @request: PTRACE_*
 *
 * Return: as ptrace(2), with errno.
 */
long ptrace(enum __ptrace_request request, ...)
{
	const struct iovec *iov;
	va_list args;
	void *addr, *data;
	long pid, err;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	iov = data;
	if (request != PTRACE_SETREGSET || (long)addr != NT_X86_XSTATE)
		return call(request, pid, addr, data);
	if (length > iov->iov_len)
		return extend(pid, iov);
	err = call(request, pid, addr, data);
	return err && errno == EFAULT ? extend(pid, iov) : err;
}
