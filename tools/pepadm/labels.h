/* SPDX-License-Identifier: GPL-2.0 */
/* What a sample for Prometheus begins with. */
#ifndef _PEPADM_LABELS_H
#define _PEPADM_LABELS_H

void pep_labels_show(const char *metric, ...);

#endif
