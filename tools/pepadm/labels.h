/* SPDX-License-Identifier: GPL-2.0 */
/* The beginning of a sample for Prometheus. */
#ifndef _PEPADM_LABELS_H
#define _PEPADM_LABELS_H

void pep_labels_show(const char *metric, ...);

#endif
