/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_FOLLOW_H
#define _PEP_FOLLOW_H

#include "packet.h"

struct pep_conn;
struct pep_gen;
struct pep_net;

/**
 * enum pep_follow_verdict - what is to be done with a packet
 * @PEP_FOLLOW_UNKNOWN: its connection is not followed
 * @PEP_FOLLOW_PASS: it goes on to the other end
 * @PEP_FOLLOW_SPLIT: it is for a leg, or of a flow that has just ended; a SYN:
 *	a flow waits for its opener
 * @PEP_FOLLOW_CONSUMED: it was handed to a leg, or dropped
 */
enum pep_follow_verdict {
	PEP_FOLLOW_UNKNOWN,
	PEP_FOLLOW_PASS,
	PEP_FOLLOW_SPLIT,
	PEP_FOLLOW_CONSUMED,
};

struct pep_conn *pep_follow_new(unsigned int side, const struct sk_buff *skb,
				const struct pep_packet *pkt);
enum pep_follow_verdict pep_follow_known(struct pep_net *pn,
					 struct sk_buff *skb,
					 const struct pep_packet *pkt);
void pep_follow_syn(struct pep_gen *gen, unsigned int side,
		    struct sk_buff *skb, const struct pep_packet *pkt,
		    bool splittable);
enum pep_follow_verdict pep_follow_packet(struct pep_net *pn,
					  struct pep_gen *gen,
					  struct sk_buff *skb,
					  const struct pep_packet *pkt);

#endif
