/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_GROUP_H
#define _PEP_GROUP_H

#include <linux/types.h>
#include <uapi/linux/pep.h>

struct pep_gen;
struct pep_tuple;

bool pep_group_held_back(const struct pep_gen *gen,
			 const struct pep_tuple *tuple, enum pep_side opener);

#endif
