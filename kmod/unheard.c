// SPDX-License-Identifier: GPL-2.0
/*
 * Ends that owe acknowledgments to a connection that is being handed back, because their
 * packets take another way.
 *
 * A reset would end a connection that works: they acknowledge to each other, past this
 * host, and get all that the legs have.
 */

#include "unheard.h"

#include "flow.h"
#include "leg.h"

/* After this time an end would have repeated payload that was not acknowledged, jiffies. */
#define PEP_UNHEARD_QUIET	(10 * HZ)

/* Has an end sent beyond the window of its own leg, or payload behind the cut that it does
 * not repeat? It has acknowledgments of the other end then, which were not behind its leg's:
 * payload that has not arrived is still in its queue.
 */
static bool pep_unheard_known(const struct pep_track_end *self, const struct pep_leg *leg)
{
	const struct tcp_sock *tp = tcp_sk(leg->sk);

	if (leg->fresh && (u32)jiffies - leg->fresh > PEP_UNHEARD_QUIET)
		return true;
	return after(self->high, tp->rcv_wup + tp->rcv_wnd) && after(self->high, leg->edge);
}

/**
 * pep_unheard_note() - note payload that an end has sent since the cut
 * @leg: the end's leg
 * @fresh: for the first time
 *
 * Context: BH off, connection locked.
 */
void pep_unheard_note(struct pep_leg *leg, bool fresh)
{
	if (!fresh)
		leg->fresh = 0;
	else if (!leg->fresh)
		leg->fresh = (u32)jiffies ?: 1;
}

/**
 * pep_unheard_arrived() - has an end acknowledged all bytes of the other one before its cut?
 * @conn: connection in PEP_TRACK_RELEASING, locked
 * @flow: its flow, locked, with its legs locked
 * @side: side of the other end, which has sent them
 *
 * Context: BH off.
 * Return: true when it has, or the other end knows how far it has, past this host.
 */
bool pep_unheard_arrived(const struct pep_conn *conn, const struct pep_flow *flow,
			 enum pep_side side)
{
	return !before(tcp_sk(flow->leg[!side].sk)->snd_una, conn->end[side].next) ||
	       !before(conn->end[!side].ack, conn->end[side].next) ||
	       (conn->resume && pep_unheard_known(&conn->end[side], &flow->leg[side]));
}

/**
 * pep_unheard_only() - do only ends still owe acknowledgments that are not heard?
 * @conn: connection in PEP_TRACK_RELEASING, locked
 * @flow: its flow, locked, with its legs locked
 *
 * Context: BH off.
 * Return: true when it is so.
 */
bool pep_unheard_only(const struct pep_conn *conn, const struct pep_flow *flow)
{
	enum pep_side side;

	for (side = 0; side < 2; side++)
		if (!pep_unheard_arrived(conn, flow, side) && conn->heard & BIT(!side))
			return false;
	return conn->resume;
}

/* Let a leg send all that is left for the end opposite @side. Its window is not known any
 * more: it drops payload that has no room. Return: true when all has been repeated, see
 * pep_leg_repeat(), and it had room.
 */
static bool pep_unheard_push(const struct pep_conn *conn, struct pep_flow *flow,
			     enum pep_side side)
{
	const struct tcp_sock *in = tcp_sk(flow->leg[side].sk);
	struct sock *out = flow->leg[!side].sk;
	u32 unread = in->rcv_nxt - in->copied_seq;
	struct tcp_sock *tp = tcp_sk(out);

	if (after(conn->end[side].next, tcp_wnd_end(tp)))
		tp->snd_wnd = conn->end[side].next - tp->snd_una;
	if (unread) {
		WRITE_ONCE(out->sk_sndbuf, out->sk_wmem_queued + 2 * unread);
		pep_flow_schedule(flow);
	}
	return pep_leg_repeat(&flow->leg[!side]) && !unread &&
	       !after(conn->end[side].next, conn->end[!side].edge);
}

/**
 * pep_unheard_repeat() - send what is left for ends that are not heard, and repeat it
 * @conn: connection in PEP_TRACK_RELEASING, locked
 * @flow: its flow, locked, with its legs locked, which no process owns
 *
 * Context: BH off.
 * Return: true when all has been repeated so often that it will have arrived.
 */
bool pep_unheard_repeat(const struct pep_conn *conn, struct pep_flow *flow)
{
	bool repeated = true;
	enum pep_side side;

	for (side = 0; side < 2; side++)
		if (!pep_unheard_arrived(conn, flow, side) &&
		    !pep_unheard_push(conn, flow, side))
			repeated = false;
	return repeated;
}
