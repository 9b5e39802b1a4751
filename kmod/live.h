/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_LIVE_H
#define _PEP_LIVE_H

struct genl_info;
struct pep_flow;
struct pep_net;
struct pep_profile;
struct pep_values;

void pep_live_prepare(struct pep_net *pn);
void pep_live_stop(struct pep_net *pn);
void pep_live_change(const struct pep_profile *profile,
		     const struct genl_info *info,
		     const struct pep_values *values);
void pep_live_order(struct pep_net *pn);
void pep_live_up(const struct pep_flow *flow);
void pep_live_flush(struct pep_net *pn);
int pep_live_init(void);
void pep_live_exit(void);

#endif
