/* SPDX-License-Identifier: GPL-2.0 */
/* All values for following a connection elsewhere, as words of a line. */
#ifndef _PEPADM_STATE_H
#define _PEPADM_STATE_H

#include <stdio.h>

#include "args.h"
#include "err.h"
#include "nl.h"

void pep_state_write(FILE *file, const struct nlmsghdr *nlh);
enum pep_exit pep_state_read(struct pep_args *args, __u64 elapsed,
			     struct pep_nl_request *req);

#endif
