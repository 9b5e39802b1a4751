/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_UNSENT_H
#define _PEP_UNSENT_H

#include <linux/types.h>

#include "net.h"
#include "tuple.h"

struct pep_again;
struct sock;

/**
 * struct pep_unsent - the reset that a leg sends when it is closed
 * @tuple: tuple of the packets that the leg receives
 * @seq: sequence number of the reset
 * @ack: number that it acknowledges
 * @mark: mark of the leg's packets
 * @oif: device that the leg is bound to, 0 for none
 * @tos: TOS or traffic class of the leg's packets
 * @due: the leg sends a reset
 */
struct pep_unsent {
	struct pep_tuple tuple;
	u32 seq;
	u32 ack;
	u32 mark;
	int oif;
	u8 tos;
	bool due;
};

void pep_unsent_init(struct pep_net *pn);
void pep_unsent_stop(struct pep_net *pn);
void pep_unsent_note(struct pep_unsent *reset, const struct sock *sk);
void pep_unsent_keep(struct pep_net *pn, const struct pep_unsent *reset,
		     struct pep_again *again);

#endif
