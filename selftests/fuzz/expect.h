/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_EXPECT_H
#define _FUZZ_EXPECT_H

#include <stdio.h>
#include <stdlib.h>

/**
 * expect() - stop with a finding unless a condition holds
 * @condition: condition that has to hold
 */
#define expect(condition)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "%s:%d: not so: %s\n",		\
				__FILE__, __LINE__, #condition);	\
			abort();					\
		}							\
	} while (0)

#endif
