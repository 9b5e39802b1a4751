/* SPDX-License-Identifier: GPL-2.0 */
/* Limits, as configurations see them. */
#ifndef _PEPADM_LIMIT_H
#define _PEPADM_LIMIT_H

#include <stdio.h>

#include "args.h"
#include "err.h"

enum pep_exit pep_limit_check(struct pep_args *args);
enum pep_exit pep_limit_replace(struct pep_args *args);
enum pep_exit pep_limit_save(FILE *file);

#endif
