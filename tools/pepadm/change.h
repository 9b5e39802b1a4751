/* SPDX-License-Identifier: GPL-2.0 */
/* Going from one configuration to another. */
#ifndef _PEPADM_CHANGE_H
#define _PEPADM_CHANGE_H

#include <stdbool.h>

#include "config.h"
#include "err.h"

enum pep_exit pep_change(struct pep_config *conf, bool anew);

#endif
