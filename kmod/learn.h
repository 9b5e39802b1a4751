/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_LEARN_H
#define _PEP_LEARN_H

#include "path.h"

/**
 * struct pep_learn_known - known properties of a subscriber's link
 * @rate: rate at which it has delivered, bytes per second
 * @rtt: its smallest round trip, us
 * @age: time since half of that rate was last seen, seconds
 * @full: the link was full at that rate; else it may carry more
 */
struct pep_learn_known {
	u64 rate;
	u32 rtt;
	u32 age;
	bool full;
};

bool pep_learn_known(const struct pep_path *path,
		     struct pep_learn_known *known);
void pep_learn_rtt(struct pep_path *path, u32 rtt);
void pep_learn_handshake(struct pep_path *path, u32 rtt);
void pep_learn_acked(struct pep_path *path, u32 bytes, u64 now, u64 sent,
		     bool full);
void pep_learn_train(struct pep_path *path, u64 rate);
void pep_learn_refute(struct pep_path *path, u64 acked, u64 took);

#endif
