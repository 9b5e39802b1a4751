/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_SPARE_H
#define _PEP_SPARE_H

/* Size of a piece of memory of spare.c, bytes. */
#define PEP_SPARE_SIZE	256

void *pep_spare_get(void);
void pep_spare_put(void *memory);
void pep_spare_exit(void);

#endif
