// SPDX-License-Identifier: GPL-2.0
/*
 * Connections in the table end here after a silence that fits their stage, and all of
 * them with the namespace. A connection with a flow lives as long as the flow. Jobs are
 * scheduled here for copies that are old, and for connections that are being handed back.
 */

#include "sweep.h"

#include <linux/rhashtable.h>

#include "compat.h"
#include "copies.h"
#include "stat.h"
#include "track.h"

/* How often the table is searched for silent connections. */
#define PEP_SWEEP_PERIOD	(16 * HZ)

/* Connections looked at before other work on this CPU gets its turn. */
#define PEP_SWEEP_BATCH		1024

/* Silence after which a connection is forgotten, seconds; see RFC 5382 for one that
 * is up. A split connection lives as long as its flow.
 */
static const u32 pep_sweep_silence[PEP_TRACK_STAGES] = {
	[PEP_TRACK_OPENING] = 130,
	[PEP_TRACK_ANSWERED] = 70,
	[PEP_TRACK_FOLLOWED] = 2 * 60 * 60 + 30 * 60,
	[PEP_TRACK_CLOSING] = 70,
};

/**
 * pep_sweep_silent() - has a connection been silent for too long?
 * @conn: connection
 * @stage: stage before PEP_TRACK_SPLIT that it is in, or is to be in
 *
 * Context: any.
 * Return: true when it is to be forgotten.
 */
bool pep_sweep_silent(const struct pep_conn *conn, unsigned int stage)
{
	return (u32)jiffies - READ_ONCE(conn->seen) >
	       pep_sweep_silence[stage] * HZ;
}

/* Is a connection over? One with a flow ends with the flow. */
static bool pep_sweep_over(const struct pep_conn *conn)
{
	unsigned int stage = READ_ONCE(conn->stage);

	return stage < PEP_TRACK_SPLIT && pep_sweep_silent(conn, stage);
}

/* Is there something for the connection's job, pep_adopt_run(), to look after? */
static bool pep_sweep_due(struct pep_conn *conn)
{
	bool stale;

	if (pep_track_releasing(conn))
		return true;
	if (!READ_ONCE(conn->copies))
		return false;
	spin_lock_bh(&conn->lock);
	stale = conn->copies && (pep_copies_stale(conn->copies, 0) ||
				 pep_copies_stale(conn->copies, 1));
	spin_unlock_bh(&conn->lock);
	return stale;
}

/* End the connections that are over, or all of them. */
static void pep_sweep_run(struct pep_net *pn, bool all)
{
	struct rhashtable_iter iter;
	struct pep_conn *conn;
	unsigned int n = 0;

	rhashtable_walk_enter(&pn->track, &iter);
	rhashtable_walk_start(&iter);
	while ((conn = rhashtable_walk_next(&iter))) {
		/* The table is being resized: some come twice. */
		if (IS_ERR(conn))
			continue;
		if (!all && pep_sweep_due(conn)) {
			local_bh_disable();
			pep_track_schedule(conn);
			local_bh_enable();
		}
		if (all || pep_sweep_over(conn)) {
			spin_lock_bh(&conn->lock);
			if (conn->stage != PEP_TRACK_GONE &&
			    (all || pep_sweep_over(conn))) {
				/* One with both FINs has been counted. */
				if (!all && conn->stage < PEP_TRACK_CLOSING)
					pep_stat_inc(pn,
						     PEP_STAT_FOLLOW_SILENT);
				pep_track_close(pn, conn,
						all ? PEP_CONN_CAUSE_STOPPED :
						    PEP_CONN_CAUSE_SILENT);
			}
			spin_unlock_bh(&conn->lock);
		}
		if (++n % PEP_SWEEP_BATCH == 0) {
			rhashtable_walk_stop(&iter);
			cond_resched();
			pep_compat_walk_resume(&iter);
		}
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

static void pep_sweep_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, sweep);

	if (pep_track_active(pn))
		pep_sweep_run(pn, false);
	schedule_delayed_work(&pn->sweep, PEP_SWEEP_PERIOD);
}

/**
 * pep_sweep_start() - begin to look for silent connections
 * @pn: instance with a table
 *
 * Context: may sleep.
 */
void pep_sweep_start(struct pep_net *pn)
{
	INIT_DELAYED_WORK(&pn->sweep, pep_sweep_work);
	schedule_delayed_work(&pn->sweep, PEP_SWEEP_PERIOD);
}

/**
 * pep_sweep_purge() - forget all connections
 * @pn: started instance that receives no SYN any more
 *
 * Context: may sleep.
 */
void pep_sweep_purge(struct pep_net *pn)
{
	cancel_delayed_work_sync(&pn->sweep);
	while (pep_track_active(pn))
		pep_sweep_run(pn, true);
}
