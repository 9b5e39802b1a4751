/* SPDX-License-Identifier: GPL-2.0 */
/* Profiles, as configurations see them. */
#ifndef _PEPADM_PROFILE_H
#define _PEPADM_PROFILE_H

#include <stdio.h>

#include "args.h"
#include "err.h"

enum pep_exit pep_profile_check(struct pep_args *args, const char **name);
const char *pep_profile_server_dev(const struct pep_args *args);
enum pep_exit pep_profile_replace(struct pep_args *args);
enum pep_exit pep_profile_del(const char *name);
enum pep_exit pep_profile_save(FILE *file);

#endif
