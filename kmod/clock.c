// SPDX-License-Identifier: GPL-2.0
/*
 * The clocks that ends show in their timestamps, RFC 7323, and the legs that speak for
 * them.
 *
 * A leg goes on with its end's clock at 1 kHz. When a connection is handed back the end
 * itself is heard again, and the other end drops its packets (PAWS) while their time is
 * older than what the leg has sent.
 */

#include "clock.h"

#include <net/tcp.h>

#include "flow.h"

/* How far a leg's clock may be ahead of its end's, ms: the other end drops packets until
 * the end's clock is there. Where a release has been asked for it may be further, as a
 * reset is worse: by a quarter of the time since the take-over, up to a maximum. That is a
 * delay which has grown, and no clock that is slow.
 */
#define PEP_CLOCK_AHEAD		1000
#define PEP_CLOCK_AHEAD_MOST	3000
#define PEP_CLOCK_AHEAD_PART	4

/* A clock that is further behind, ms, is another one. */
#define PEP_CLOCK_FAR		0x40000000

/* How far the clock of a leg may be ahead, ms, of that of an end from which nothing has
 * come for the last @since ms.
 */
static s32 pep_clock_most(const struct pep_flow *flow, u32 since, bool asked)
{
	s64 age;

	if (!asked)
		return PEP_CLOCK_AHEAD;
	age = div_u64(ktime_get_ns() - flow->at[PEP_FLOW_TIME_UP],
		      NSEC_PER_MSEC);
	return clamp_t(s64, (age - since) / PEP_CLOCK_AHEAD_PART,
		       PEP_CLOCK_AHEAD, PEP_CLOCK_AHEAD_MOST);
}

/* Can the end on a side go on with its own clock? */
static bool pep_clock_end_goes_on(const struct pep_flow *flow,
				  enum pep_side side, bool asked)
{
	const struct tcp_sock *from = tcp_sk(flow->leg[side].sk);
	const struct tcp_sock *speaks = tcp_sk(flow->leg[!side].sk);
	u32 since = jiffies_to_msecs(tcp_jiffies32 - from->rcv_tstamp);
	s32 ahead;

	/* An end that is ahead of its leg has just taken packets of the other one. */
	if (!from->rx_opt.tstamp_ok || READ_ONCE(flow->leg[!side].ahead))
		return true;
	ahead = (u32)tcp_clock_ms() + speaks->tsoffset -
		(from->rx_opt.ts_recent + since);
	return ahead <= pep_clock_most(flow, since, asked) &&
	       ahead >= -PEP_CLOCK_FAR;
}

/**
 * pep_clock_goes_on() - can both ends go on with their own clocks?
 * @flow: flow that is up, locked, with its legs locked
 * @asked: somebody has asked for the release
 *
 * The clock of an end seems to be behind, too, where the delay on the way from it has
 * grown.
 *
 * Context: BH off.
 * Return: false where the other end would drop packets for too long, if the clocks of both
 * have gone on since they were heard, see pep_clock_shown().
 */
bool pep_clock_goes_on(const struct pep_flow *flow, bool asked)
{
	return pep_clock_end_goes_on(flow, PEP_SIDE_WIRELESS, asked) &&
	       pep_clock_end_goes_on(flow, PEP_SIDE_SERVER, asked);
}

/**
 * pep_clock_seen() - get the clock of an end as the other one has seen it
 * @flow: flow that is up, locked, with its legs locked
 * @side: side of the end, enum pep_side
 *
 * Context: BH off.
 * Return: the newest time, by the end itself or by the leg that speaks for it; without
 * meaning where the ends have no timestamps.
 */
u32 pep_clock_seen(const struct pep_flow *flow, enum pep_side side)
{
	const struct tcp_sock *from = tcp_sk(flow->leg[side].sk);
	const struct tcp_sock *speaks = tcp_sk(flow->leg[!side].sk);
	u32 recent = from->rx_opt.ts_recent, sent;

	if (!from->rx_opt.tstamp_ok)
		return recent;
	sent = (u32)div_u64(speaks->tcp_wstamp_ns, NSEC_PER_MSEC) +
	       speaks->tsoffset;
	return (s32)(sent - recent) > 0 ? sent : recent;
}

/* How far what the other end has seen of an end's clock is ahead of what the end itself has
 * shown, ms.
 */
static s32 pep_clock_ahead(const struct pep_flow *flow, enum pep_side side)
{
	return pep_clock_seen(flow, side) -
	       tcp_sk(flow->leg[side].sk)->rx_opt.ts_recent;
}

/**
 * pep_clock_shown() - has the server seen no clock that the subscriber has not shown?
 * @flow: flow that is up, locked, with its legs locked
 *
 * The clock of a phone that sleeps stands still, while its leg answers keepalives of
 * the server.
 *
 * Context: BH off.
 * Return: true when it is so, but for a second.
 */
bool pep_clock_shown(const struct pep_flow *flow)
{
	return pep_clock_ahead(flow, PEP_SIDE_WIRELESS) <= PEP_CLOCK_AHEAD;
}

/**
 * pep_clock_ask() - ask an end for its clock where the other one has seen a newer one
 * @flow: flow that is up, locked, with its legs locked
 *
 * For a release that somebody has asked for, see pep_clock_shown(). The end's answer, as
 * any packet of it, lets a later call succeed.
 *
 * Context: BH off.
 * Return: true when both ends have shown theirs, but for PEP_CLOCK_AHEAD_MOST.
 */
bool pep_clock_ask(struct pep_flow *flow)
{
	enum pep_side side;
	bool shown = true;

	for (side = 0; side < 2; side++)
		if (pep_clock_ahead(flow, side) > PEP_CLOCK_AHEAD_MOST) {
			pep_leg_probe(&flow->leg[side], pep_clock_seen(flow, !side));
			shown = false;
		}
	return shown;
}

/**
 * pep_clock_advance() - let a leg show a clock no older than the one of the end it speaks for
 * @flow: flow that is up, locked, with its legs locked
 * @side: side of that end
 *
 * The other end may have seen that clock past its leg, and drops packets that are older.
 *
 * Context: BH off.
 */
void pep_clock_advance(struct pep_flow *flow, enum pep_side side)
{
	const struct tcp_sock *from = tcp_sk(flow->leg[side].sk);
	struct tcp_sock *speaks = tcp_sk(flow->leg[!side].sk);
	s32 behind = from->rx_opt.ts_recent - (u32)tcp_clock_ms() - speaks->tsoffset;

	if (from->rx_opt.tstamp_ok && behind > 0)
		WRITE_ONCE(speaks->tsoffset, speaks->tsoffset + behind);
}
