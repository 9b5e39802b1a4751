/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_AGAIN_H
#define _PEP_AGAIN_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/types.h>

#include "net.h"

struct sk_buff;
struct sock;

/**
 * struct pep_again - a reset that is repeated
 * @node: in pep_net.again
 * @skb: the reset, with its route; NULL until it has been sent
 * @sent: when it was sent
 * @count: number of entries in @seq
 * @seq: sequence numbers that the end may expect: the first one that it has not
 *	acknowledged, then where each later piece of payload in flight begins
 */
struct pep_again {
	struct list_head node;
	struct sk_buff *skb;
	ktime_t sent;
	unsigned int count;
	u32 seq[] __counted_by(count);
};

void pep_again_init(struct pep_net *pn);
void pep_again_stop(struct pep_net *pn);
struct pep_again *pep_again_alloc(const struct sock *sk);
void pep_again_keep(struct pep_net *pn, const struct sk_buff *skb,
		    struct pep_again *again);

#endif
