/* SPDX-License-Identifier: GPL-2.0 */
/* Handing connections back to their ends. */
#ifndef _PEPADM_RELEASE_H
#define _PEPADM_RELEASE_H

#include <linux/types.h>

#include "err.h"

/**
 * typedef pep_release_ask - request once that the module hand connections back
 * @data: as given to pep_release()
 * @n: result, number of those that are on their way or may be in a moment
 *
 * Return: PEP_OK, or another one after a message.
 */
typedef enum pep_exit pep_release_ask(void *data, __u64 *n);

enum pep_exit pep_release(pep_release_ask *ask, void *data);

#endif
