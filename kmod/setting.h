/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_SETTING_H
#define _PEP_SETTING_H

#include <net/genetlink.h>

#include "profile.h"

int pep_setting_parse(struct pep_net *pn, struct genl_info *info,
		      const char *known, struct pep_values *values);
int pep_setting_live(const struct genl_info *info);
void pep_setting_copy(const struct genl_info *info,
		      const struct pep_values *from, struct pep_values *to);
int pep_setting_fill(struct sk_buff *skb, const struct pep_values *values);

#endif
