/* SPDX-License-Identifier: GPL-2.0 */
/* Writing files as a whole. */
#ifndef _PEPADM_FILE_H
#define _PEPADM_FILE_H

#include <stdio.h>
#include <sys/types.h>

#include "err.h"

/**
 * typedef pep_file_fn - write the contents of a file
 * @file: open file
 *
 * Return: PEP_OK, or another one after a message.
 */
typedef enum pep_exit pep_file_fn(FILE *file);

enum pep_exit pep_file_write(const char *path, mode_t mode, pep_file_fn *write);

#endif
