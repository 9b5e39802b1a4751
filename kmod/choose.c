// SPDX-License-Identifier: GPL-2.0
/*
 * Which connections may be split, by which triggers, and whose payload is kept for that:
 * asked when the handshake is complete, when an idle one goes on, and behind a gap.
 *
 * follow.c finds out whether a trigger has come, and adopt.c splits.
 */

#include "choose.h"

#include "adopt.h"
#include "copies.h"
#include "gen.h"
#include "group.h"
#include "learn.h"
#include "meter.h"
#include "share.h"
#include "stat.h"
#include "tally.h"
#include "track.h"

/* May copies be kept? Where the subscriber holds too much memory the connection is given up,
 * unless it was handed back as idle: that one counts the first time, and asks again at each
 * payload until there is room.
 */
static bool pep_choose_admit(struct pep_net *pn, struct pep_conn *conn)
{
	enum pep_stat reason;

	if (conn->crowded) {
		conn->crowded = pep_share_over(pn, conn->path);
		if (conn->crowded)
			pep_share_relieve(pn);
	} else {
		reason = pep_share_room(pn, conn->path);
		if (reason && !pep_track_tally(conn)) {
			pep_adopt_give_up(pn, conn, reason);
			return false;
		}
		if (reason)
			pep_stat_unsplit(pn, conn->opener, &conn->tuple,
					 reason);
		conn->crowded = reason != PEP_STAT_NONE;
	}
	if (!conn->crowded)
		return true;
	conn->trigger = 0;
	conn->due = 0;
	return false;
}

/* Keep copies from here on: the ends' turns begin. */
static void pep_choose_keep(struct pep_net *pn, struct pep_gen *gen,
			    struct pep_conn *conn)
{
	enum pep_side side;

	conn->due = conn->trigger & PEP_SPLIT_TRIGGER_HANDSHAKE;
	if (!pep_choose_admit(pn, conn))
		return;
	WRITE_ONCE(conn->copies, pep_copies_new(gen, conn->path, conn->end));
	if (!conn->copies) {
		pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_NO_MEMORY);
		return;
	}
	for (side = 0; side < 2; side++)
		conn->end[side].turn = conn->end[side].high;
	pep_adopt_prepare(conn);
}

/* Leave a connection of the control group to its ends. */
static bool pep_choose_held_back(struct pep_net *pn, const struct pep_gen *gen,
				 struct pep_conn *conn)
{
	if (!pep_group_held_back(gen, &conn->tuple, conn->opener))
		return false;
	/* With "split never" it might have been answered early. */
	if (!conn->trigger && !gen->values.split_trigger)
		pep_stat_unsplit(pn, conn->opener, &conn->tuple,
				 PEP_STAT_SPLIT_PASS_CONTROL);
	pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_CONTROL);
	return true;
}

/* May the profile split a connection whose handshake is complete, or would it have
 * answered the SYN early? What the target answers is unknown then.
 */
static bool pep_choose_concerns(const struct pep_gen *gen,
				const struct pep_conn *conn)
{
	return conn->trigger ||
	       (gen->values.mode == PEP_CONNECT_MODE_EARLY &&
		!(conn->end[conn->opener].flags & PEP_TRACK_UNSPLIT));
}

/**
 * pep_choose_first() - choose for a connection whose handshake is complete
 * @pn: instance
 * @gen: generation of the opener's profile
 * @conn: connection, locked, followed
 *
 * It may be one of the control group, and is measured where its profile compares.
 *
 * Context: BH off, RCU read side.
 */
void pep_choose_first(struct pep_net *pn, struct pep_gen *gen,
		      struct pep_conn *conn)
{
	bool held_back;

	/* The profile may have been set since the SYN. */
	if (conn->trigger)
		conn->trigger = gen->values.split_trigger;
	if (!pep_choose_concerns(gen, conn))
		return;
	held_back = pep_choose_held_back(pn, gen, conn);
	pep_meter_begin(gen, conn, held_back ? PEP_GAIN_GROUP_CONTROL :
					       PEP_GAIN_GROUP_TREATED);
	if (held_back || !conn->trigger)
		return;
	pep_choose_keep(pn, gen, conn);
	if (conn->copies && conn->path)
		pep_learn_handshake(conn->path,
				    conn->end[PEP_SIDE_WIRELESS].rtt);
}

/**
 * pep_choose_again() - choose at payload of a connection that was handed back as idle
 * @pn: instance
 * @other: generation of the profile that the opener's device uses, for its packets, or NULL
 * @conn: connection, locked, followed, with a tally, and without copies
 *
 * The triggers begin anew, with the present values of its profile, or of @other where no
 * device uses that any more.
 *
 * Context: BH off, RCU read side.
 */
void pep_choose_again(struct pep_net *pn, struct pep_gen *other,
		      struct pep_conn *conn)
{
	struct pep_gen *gen = rcu_dereference(conn->tally->gen) ?: other;
	enum pep_side side;

	conn->used = true;
	conn->trigger = gen ? gen->values.split_trigger : 0;
	if (!conn->trigger)
		return;
	for (side = 0; side < 2; side++)
		conn->end[side].next = conn->end[side].high;
	pep_choose_keep(pn, gen, conn);
}

/**
 * pep_choose_resumed() - choose for a connection that goes on after others of its packets may
 *	have passed unseen
 * @pn: instance
 * @gen: generation of the profile that the opener's device uses
 * @conn: connection, locked, followed
 *
 * Context: BH off, RCU read side.
 */
void pep_choose_resumed(struct pep_net *pn, struct pep_gen *gen,
			struct pep_conn *conn)
{
	if (conn->refused && gen->values.split_trigger)
		pep_stat_unsplit(pn, conn->opener, &conn->tuple,
				 PEP_STAT_SPLIT_PASS_OPTION);
	conn->refused = false;
	if (pep_track_splittable(conn) && conn->detours <= PEP_TRACK_DETOURS)
		conn->trigger = gen->values.split_trigger;
	/* Once, when it has a trigger to give up. */
	if (conn->trigger && conn->detours == PEP_TRACK_DETOURS) {
		pep_adopt_give_up(pn, conn, PEP_STAT_SPLIT_PASS_ROUTE);
		conn->detours++;
	}
	if (conn->trigger && !pep_choose_held_back(pn, gen, conn))
		pep_choose_keep(pn, gen, conn);
}
