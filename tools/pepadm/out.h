/* SPDX-License-Identifier: GPL-2.0 */
/* The one way to standard output, as text or as JSON. */
#ifndef _PEPADM_OUT_H
#define _PEPADM_OUT_H

#include <stdbool.h>

#include <linux/types.h>

#include "err.h"

void pep_out_init(bool json, bool pretty);
void pep_out_more(bool statistics, bool details);
const char *pep_out_statistic(const char *label);
const char *pep_out_detail(const char *label);
bool pep_out_json(void);
void pep_out_open_array(const char *key);
void pep_out_close_array(void);
void pep_out_open_object(const char *key);
void pep_out_close_object(void);
void pep_out_string(const char *key, const char *label, const char *value);
void pep_out_item(const char *value);
void pep_out_uint(const char *key, const char *label, __u64 value);
void pep_out_real(const char *key, const char *label, double value);
void pep_out_usec(const char *key, const char *label, __u64 us);
void pep_out_msec(const char *key, const char *label, __u64 ms);
void pep_out_word(const char *word);
void pep_out_newline(const char *indent);
enum pep_exit pep_out_finish(enum pep_exit result);

#endif
