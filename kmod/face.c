// SPDX-License-Identifier: GPL-2.0
/*
 * The devices that face each side: those by which legs have sent while packets of their
 * ends came by them.
 *
 * They are learned, since an action knows its device at a packet only, and the route of a
 * leg may lead to a bridge above it, or to the device below. The last few count, and those
 * that legs still begin to use: a device that was the way to servers for a while may become
 * the way to subscribers, as a link between two gateways does.
 */

#include "face.h"

#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/timekeeping.h>

/* Time after which a device that no leg begins to use faces no side any more, s. */
#define PEP_FACE_LASTS		600

/* Seconds of the clock of pep_net_face.seen. */
static u32 pep_face_now(void)
{
	return ktime_get_seconds();
}

/* Time since a device was noted, s; none when another CPU has just done so. A free place is
 * older than all.
 */
static u32 pep_face_age(const struct pep_net_face *face)
{
	if (!READ_ONCE(face->ifindex))
		return U32_MAX;
	return max_t(s32, pep_face_now() - READ_ONCE(face->seen), 0);
}

/* Find a device among those that have faced a side, or NULL. */
static struct pep_net_face *pep_face_find(struct pep_net_face *faces, int ifindex)
{
	unsigned int i;

	for (i = 0; i < PEP_NET_FACES; i++)
		if (READ_ONCE(faces[i].ifindex) == ifindex)
			return &faces[i];
	return NULL;
}

/* The place of the device that was noted longest ago. */
static struct pep_net_face *pep_face_oldest(struct pep_net_face *faces)
{
	struct pep_net_face *oldest = faces;
	unsigned int i;

	for (i = 1; i < PEP_NET_FACES; i++)
		if (pep_face_age(&faces[i]) > pep_face_age(oldest))
			oldest = &faces[i];
	return oldest;
}

/* Does a device face a side? */
static bool pep_face_known(struct pep_net *pn, enum pep_side side, int ifindex)
{
	const struct pep_net_face *face = pep_face_find(pn->faces[side], ifindex);

	return face && pep_face_age(face) <= PEP_FACE_LASTS;
}

/**
 * pep_face_learn() - note that a device faces a side
 * @pn: instance
 * @side: the side
 * @ifindex: device by which a leg sends, and the packets of its end come
 *
 * It takes the place of the one that was noted longest ago. CPUs that note devices at the
 * same time may overwrite each other's.
 *
 * Context: any.
 */
void pep_face_learn(struct pep_net *pn, enum pep_side side, int ifindex)
{
	struct pep_net_face *face = pep_face_find(pn->faces[side], ifindex);
	u32 now = pep_face_now();

	if (!face) {
		face = pep_face_oldest(pn->faces[side]);
		WRITE_ONCE(face->ifindex, ifindex);
	}
	if (READ_ONCE(face->seen) != now)
		WRITE_ONCE(face->seen, now);
}
EXPORT_SYMBOL_IF_KUNIT(pep_face_learn);

/**
 * pep_face_other() - is a device one of the other side alone?
 * @pn: instance
 * @side: the side
 * @ifindex: the device
 *
 * Context: any.
 * Return: true when it faces the other side, and not @side.
 */
bool pep_face_other(struct pep_net *pn, enum pep_side side, int ifindex)
{
	return pep_face_known(pn, !side, ifindex) && !pep_face_known(pn, side, ifindex);
}
EXPORT_SYMBOL_IF_KUNIT(pep_face_other);
