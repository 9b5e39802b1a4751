/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_NAME_H
#define _PEP_NAME_H

#include "stat-gen.h"

const char *pep_name_stat(enum pep_stat stat);
int pep_name_attr(enum pep_stat stat);

#endif
