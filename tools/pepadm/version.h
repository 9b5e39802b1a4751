/* SPDX-License-Identifier: GPL-2.0 */
/* Version of the module. */
#ifndef _PEPADM_VERSION_H
#define _PEPADM_VERSION_H

const char *pep_version_module(void);

#endif
