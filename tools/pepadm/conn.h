/* SPDX-License-Identifier: GPL-2.0 */
/* Connections that are followed, as events show them, too. */
#ifndef _PEPADM_CONN_H
#define _PEPADM_CONN_H

#include "nl.h"

void pep_conn_show(const struct nlattr **tb);

#endif
