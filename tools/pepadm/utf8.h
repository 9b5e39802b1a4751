/* SPDX-License-Identifier: GPL-2.0 */
/* UTF-8, which JSON and Prometheus require. */
#ifndef _PEPADM_UTF8_H
#define _PEPADM_UTF8_H

#include <stddef.h>

size_t pep_utf8_len(const char *s);

#endif
