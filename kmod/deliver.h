/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_DELIVER_H
#define _PEP_DELIVER_H

#include <linux/skbuff.h>

#include "net.h"

/**
 * struct pep_held_cb - state of a held packet in skb->cb
 * @ifindex: device that received the packet
 * @opener: for a SYN, side that it came from, enum pep_side
 *
 * A held packet has no reference to its device, which can thus go away at
 * any time; the device is looked up again when the packet goes on.
 */
struct pep_held_cb {
	int ifindex;
	u8 opener;
};

#define PEP_HELD_CB(skb) ((struct pep_held_cb *)(skb)->cb)

int pep_deliver_start(struct pep_net *pn);
void pep_deliver_stop(struct pep_net *pn);
void pep_deliver_local(struct pep_net *pn, struct sk_buff *skb,
		       struct sock *sk);
struct sk_buff *pep_deliver_compact(struct sk_buff *skb);
struct sk_buff *pep_deliver_hold(struct sk_buff *skb);
bool pep_deliver_unhold(struct pep_net *pn, struct sk_buff *skb);
void pep_deliver_pass(struct sk_buff *skb);
#if IS_ENABLED(CONFIG_KUNIT)
struct dst_entry *pep_deliver_route(const struct pep_net *pn, bool v4);
#endif

#endif
