/* SPDX-License-Identifier: GPL-2.0 */
/* Files of lines of words: batches and configurations. */
#ifndef _PEPADM_LINES_H
#define _PEPADM_LINES_H

#include <stdio.h>

#include "args.h"
#include "err.h"

/**
 * typedef pep_lines_fn - do something with the words of a line
 * @args: the words
 * @number: number of the line, from 1
 * @data: as given to pep_lines_read()
 *
 * Return: PEP_OK to go on with the next line.
 */
typedef enum pep_exit pep_lines_fn(struct pep_args *args, unsigned int number,
				   void *data);

FILE *pep_lines_open(const char *path);
void pep_lines_close(FILE *file);
enum pep_exit pep_lines_read(FILE *file, const char *name, pep_lines_fn *run,
			     void *data);

#endif
