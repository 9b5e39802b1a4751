/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: the C library's functions, which ASan checks. */
#ifndef _FUZZ_LINUX_STRING_H
#define _FUZZ_LINUX_STRING_H

#include <string.h>

#endif
