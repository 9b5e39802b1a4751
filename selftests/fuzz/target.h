/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_TARGET_H
#define _FUZZ_TARGET_H

#include <linux/types.h>

/**
 * target_run() - try one input
 * @input: the input
 * @size: its length, bytes
 *
 * libFuzzer calls it by a name of its own.
 *
 * Return: 0; a finding stops the program.
 */
int target_run(const u8 *input, size_t size) __asm__("LLVMFuzzerTestOneInput");

#endif
