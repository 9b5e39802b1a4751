/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_FACE_H
#define _PEP_FACE_H

#include <linux/types.h>
#include <uapi/linux/pep.h>

#include "net.h"

void pep_face_learn(struct pep_net *pn, enum pep_side side, int ifindex);
bool pep_face_other(struct pep_net *pn, enum pep_side side, int ifindex);

#endif
