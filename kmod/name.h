/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_NAME_H
#define _PEP_NAME_H

const char *pep_name_stat(unsigned int index);

#endif
