/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_AGAIN_H
#define _PEP_AGAIN_H

#include <linux/skbuff.h>

#include "net.h"

void pep_again_init(struct pep_net *pn);
void pep_again_stop(struct pep_net *pn);
void pep_again_keep(struct pep_net *pn, const struct sk_buff *skb, u32 una);

#endif
