/* SPDX-License-Identifier: GPL-2.0 */
/* Detaching devices, with an end for their flows. */
#ifndef _PEPADM_DETACH_H
#define _PEPADM_DETACH_H

#include <stddef.h>

#include "err.h"

enum pep_exit pep_detach(const char * const *names, size_t n);

#endif
