/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_STRAY_H
#define _PEP_STRAY_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "net.h"

/**
 * pep_stray_number() - the number under which a device is remembered as attached
 * @pn: instance
 * @ifindex: the device
 *
 * Context: any.
 * Return: @ifindex, and above it the present pep_net.epoch.
 */
static inline u64 pep_stray_number(const struct pep_net *pn, int ifindex)
{
	return (u64)atomic_read(&pn->epoch) << 32 | (u32)ifindex;
}

void pep_stray_init(struct pep_net *pn);
void pep_stray_start(struct pep_net *pn);
bool pep_stray_note(struct pep_net *pn, u64 number);
bool pep_stray_attach(struct pep_net *pn, int ifindex);
void pep_stray_share(struct pep_net *pn, int ifindex);
void pep_stray_detach(struct pep_net *pn, int ifindex);
void pep_stray_stop(struct pep_net *pn);

#endif
