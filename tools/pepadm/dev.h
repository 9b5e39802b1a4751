/* SPDX-License-Identifier: GPL-2.0 */
/* Devices, as configurations see them. */
#ifndef _PEPADM_DEV_H
#define _PEPADM_DEV_H

#include <stdbool.h>
#include <stdio.h>

#include <linux/types.h>

#include "args.h"
#include "err.h"

/**
 * struct pep_dev_conf - how a device is attached
 * @name: its name
 * @side: enum pep_side
 * @profile: name of its profile
 * @optional: a configuration is complete without it while it is not there
 */
struct pep_dev_conf {
	const char *name;
	__u32 side;
	const char *profile;
	bool optional;
};

enum pep_exit pep_dev_check(struct pep_args *args, bool line,
			    struct pep_dev_conf *conf);
enum pep_exit pep_dev_replace(const struct pep_dev_conf *conf);
enum pep_exit pep_dev_save(FILE *file, bool tell);

#endif
