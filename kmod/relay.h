/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_RELAY_H
#define _PEP_RELAY_H

#include "queue.h"

unsigned int pep_relay_run(struct pep_job *job, struct pep_queue *queue);

#endif
