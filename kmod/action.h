/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_ACTION_H
#define _PEP_ACTION_H

int pep_action_register(void);
void pep_action_unregister(void);

#endif
