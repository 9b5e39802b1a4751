/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_OBJECT_H
#define _PEP_OBJECT_H

#include <linux/types.h>

struct pep_meter;
struct pep_packet;

void pep_object_close(struct pep_meter *meter, u32 sent);
void pep_object_packet(struct pep_meter *meter, const struct pep_packet *pkt,
		       u32 seen, u32 high, u64 now);
void pep_object_answer(struct pep_meter *meter, bool answer, u64 begun,
		       u64 now);

#endif
