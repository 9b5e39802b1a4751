/* SPDX-License-Identifier: GPL-2.0 */
/* The counters of each CPU. */
#ifndef _PEPADM_PERCPU_H
#define _PEPADM_PERCPU_H

#include "err.h"

enum pep_exit pep_percpu_show(void);

#endif
