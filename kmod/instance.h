/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_INSTANCE_H
#define _PEP_INSTANCE_H

struct netlink_ext_ack;
struct pep_net;
struct pep_profile;

struct pep_profile *pep_instance_bind(struct pep_net *pn, const char *name,
				      struct netlink_ext_ack *extack);
int pep_instance_register(void);
void pep_instance_unregister(void);

#endif
