/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stand-ins for the macros that a kernel build has before the first include.
 * The Makefile includes this file on the command line and defines CONFIG_ options.
 */
#ifndef _FUZZ_KERNEL_H
#define _FUZZ_KERNEL_H

#define IS_ENABLED(CONFIG_OPTION)	CONFIG_OPTION
#define BIT(nr)			(1UL << (nr))
#define fallthrough		__attribute__((__fallthrough__))
#define noinline_for_stack
#define unlikely(x)		__builtin_expect(!!(x), 0)

#define min(a, b)							\
	({								\
		__auto_type _a = (a);					\
		__auto_type _b = (b);					\
		_a < _b ? _a : _b;					\
	})

#endif
