/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_FOLLOW_H
#define _PEP_FOLLOW_H

#include "packet.h"

struct pep_gen;
struct pep_net;
struct sock;

/**
 * enum pep_follow_verdict - action for a packet
 * @PEP_FOLLOW_UNKNOWN: its connection is not followed; from pep_early_open(): not
 *	answered, to be followed
 * @PEP_FOLLOW_PASS: it goes on to the other end
 * @PEP_FOLLOW_SPLIT: it is for a leg, or of a flow that has just ended; for a
 *	SYN: a flow waits for its opener
 * @PEP_FOLLOW_CONSUMED: it was handed to a leg or a listener, waits for a socket, or was
 *	dropped
 */
enum pep_follow_verdict {
	PEP_FOLLOW_UNKNOWN,
	PEP_FOLLOW_PASS,
	PEP_FOLLOW_SPLIT,
	PEP_FOLLOW_CONSUMED,
};

enum pep_follow_verdict pep_follow_packet(struct pep_net *pn,
					  struct pep_gen *gen,
					  struct sk_buff *skb,
					  struct pep_packet *pkt,
					  struct sock **leg);

#endif
