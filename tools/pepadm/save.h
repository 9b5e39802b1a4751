/* SPDX-License-Identifier: GPL-2.0 */
/* Connections that are followed, as a file. */
#ifndef _PEPADM_SAVE_H
#define _PEPADM_SAVE_H

#include "args.h"
#include "err.h"

enum pep_exit pep_save(struct pep_args *args);
enum pep_exit pep_restore(struct pep_args *args);

#endif
