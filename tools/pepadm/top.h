/* SPDX-License-Identifier: GPL-2.0 */
/* A table of the busiest flows. */
#ifndef _PEPADM_TOP_H
#define _PEPADM_TOP_H

#include "args.h"
#include "err.h"

enum pep_exit pep_top(struct pep_args *args);

#endif
