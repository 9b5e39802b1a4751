/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_SUM_H
#define _FUZZ_SUM_H

#include <linux/types.h>

u16 sum_bytes(const u8 *bytes, u32 len, u32 sum);

#endif
