// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that are about to be detached: "flow release" has been asked for them.
 *
 * No connection is taken over, and none answered early, by such a device after the others
 * have been handed back and before its filters are removed: it would be reset soon.
 */

#include "leave.h"

#include <net/l3mdev.h>

#include "route.h"

/* How long a device takes over no connection, seconds: many devices that are detached
 * together are noted one after the other, again and again, and the first time each waits for
 * a grace period. More than 60, as a second may have begun long ago.
 */
#define PEP_LEAVE_SECONDS	61

/**
 * pep_leave_init() - begin without such devices
 * @pn: new instance
 *
 * Context: any.
 */
void pep_leave_init(struct pep_net *pn)
{
	xa_init_flags(&pn->leaving, XA_FLAGS_LOCK_BH);
}

/**
 * pep_leave_clear() - forget all such devices
 * @pn: instance; a device has been attached, maybe one of them, or it goes
 *
 * Context: any.
 */
void pep_leave_clear(struct pep_net *pn)
{
	WRITE_ONCE(pn->leave_until, 0);
	xa_destroy(&pn->leaving);
}

/**
 * pep_leave_note() - note that a device is about to be detached
 * @pn: instance
 * @ifindex: the device
 *
 * On return no CPU is still taking a connection over that has passed pep_adopt_leaving()
 * before the note; only the first of several requests waits for the grace period.
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int pep_leave_note(struct pep_net *pn, int ifindex)
{
	unsigned long grace, next;
	void *until;
	int err;

	err = xa_reserve_bh(&pn->leaving, ifindex, GFP_KERNEL);
	if (err)
		return err;
	xa_lock_bh(&pn->leaving);
	next = ktime_get_seconds() + PEP_LEAVE_SECONDS;
	until = __xa_store(&pn->leaving, ifindex, xa_mk_value(next), GFP_ATOMIC);
	err = xa_err(until);
	WRITE_ONCE(pn->leave_until, next);
	/* A note that is about to be over may not have kept every CPU from it. */
	if (!until || (!err && next >= xa_to_value(until) + PEP_LEAVE_SECONDS - 1))
		pn->leave_grace = get_state_synchronize_rcu();
	grace = pn->leave_grace;
	xa_unlock_bh(&pn->leaving);
	if (!err)
		cond_synchronize_rcu(grace);
	return err;
}

/**
 * pep_leave_any() - may a device be about to be detached?
 * @pn: instance
 *
 * Context: any.
 * Return: false when none is.
 */
bool pep_leave_any(const struct pep_net *pn)
{
	return ktime_get_seconds() < (time64_t)READ_ONCE(pn->leave_until);
}

static bool pep_leave_is_noted(struct pep_net *pn, int ifindex)
{
	void *until = xa_load(&pn->leaving, ifindex);

	return until && ktime_get_seconds() < (time64_t)xa_to_value(until);
}

/**
 * pep_leave_soon() - is a device about to be detached?
 * @pn: instance
 * @ifindex: the device
 *
 * Context: any.
 * Return: true when it is so, or when its VRF was named for "flow release".
 */
bool pep_leave_soon(struct pep_net *pn, int ifindex)
{
	int vrf;

	if (likely(!pep_leave_any(pn)))
		return false;
	if (pep_leave_is_noted(pn, ifindex))
		return true;
	vrf = l3mdev_master_ifindex_by_index(pn->net, ifindex);
	return vrf && pep_leave_is_noted(pn, vrf);
}

/**
 * pep_leave_route() - does a route use a device that is about to be detached?
 * @pn: instance
 * @dst: the route
 *
 * Context: RCU read side.
 * Return: true when it does, as pep_route_uses() says.
 */
bool pep_leave_route(struct pep_net *pn, const struct dst_entry *dst)
{
	unsigned long ifindex;
	void *until;

	xa_for_each(&pn->leaving, ifindex, until) {
		if (ktime_get_seconds() < (time64_t)xa_to_value(until) &&
		    pep_route_uses(pn->net, dst, ifindex))
			return true;
	}
	return false;
}
