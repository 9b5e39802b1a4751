// SPDX-License-Identifier: GPL-2.0
/*
 * What all connections of a subscriber show of the subscriber's link.
 *
 * The smallest round trip and the highest rate lately are kept. The rate is that of all
 * connections together: the bytes that the subscriber acknowledges within a round trip or
 * more. The highest rate is kept over two periods, each of which ends after a number of
 * rounds in which a leg had more to send than it was allowed to: light load does not make
 * the entry forget the rate of the link.
 */

#include "learn.h"

#include <net/tcp.h>

/* Time that a path's properties stay valid after the latest of its connections has
 * shown them, seconds; see RFC 9959, section 4.2.
 */
#define PEP_LEARN_LIFETIME	600

/* Rounds in which a leg has sent all it was allowed to, after which the present period
 * of rates becomes the previous one.
 */
#define PEP_LEARN_ROUNDS		64

/* Length of a period of round trips, seconds. */
#define PEP_LEARN_RTT_PERIOD	150

/* Least length of a round, us: acknowledgments come in bursts. */
#define PEP_LEARN_ROUND_MIN	5000

/* Number of rounds in which legs had more to send than they were allowed to, and the
 * rate did not grow, after which a link is full; like bbr_check_full_bw_reached().
 */
#define PEP_LEARN_FLAT		3

/* Part by which a rate has to rise to count as growth, a divisor. */
#define PEP_LEARN_GROWTH		8

/**
 * pep_learn_known() - summarise the properties of a subscriber's link
 * @path: path
 * @known: filled
 *
 * Context: any.
 * Return: true when there are a round trip, and a rate that is not older than
 * PEP_LEARN_LIFETIME.
 */
bool pep_learn_known(const struct pep_path *path,
		     struct pep_learn_known *known)
{
	known->rate = max(READ_ONCE(path->rate[0]), READ_ONCE(path->rate[1]));
	known->rtt = min_not_zero(READ_ONCE(path->rtt[0]),
				  READ_ONCE(path->rtt[1]));
	/* Another CPU may renew it meanwhile. */
	known->age = max_t(s32, ktime_get_seconds() - READ_ONCE(path->seen), 0);
	known->full = READ_ONCE(path->flat) >= PEP_LEARN_FLAT;
	return known->rate && known->rtt && known->age <= PEP_LEARN_LIFETIME;
}

/**
 * pep_learn_rtt() - note a sample of the round trip
 * @path: path
 * @rtt: sample, us; 0 for none
 *
 * Context: BH off.
 */
void pep_learn_rtt(struct pep_path *path, u32 rtt)
{
	u32 now, least = READ_ONCE(path->rtt[0]);
	s32 age;

	if (rtt)
		WRITE_ONCE(path->rtt_latest, rtt);
	age = ktime_get_seconds() - READ_ONCE(path->rtt_since);
	/* Another CPU may have ended the period since the time was read. */
	if (!rtt || (least && rtt >= least && age < PEP_LEARN_RTT_PERIOD))
		return;
	spin_lock(&path->lock);
	now = ktime_get_seconds();
	if (now - path->rtt_since >= PEP_LEARN_RTT_PERIOD) {
		WRITE_ONCE(path->rtt[1], now - path->rtt_since <
					 2 * PEP_LEARN_RTT_PERIOD ?
					 path->rtt[0] : 0);
		WRITE_ONCE(path->rtt[0], rtt);
		WRITE_ONCE(path->rtt_since, now);
	} else {
		WRITE_ONCE(path->rtt[0], min_not_zero(path->rtt[0], rtt));
	}
	spin_unlock(&path->lock);
}

/**
 * pep_learn_handshake() - note the round trip of a handshake
 * @path: path
 * @rtt: sample, us; 0 for none
 *
 * A sample below half of the known round trip belongs to another link, which the
 * leg of the connection has to find out first; see RFC 9959, section 4.2.
 *
 * Context: BH off.
 */
void pep_learn_handshake(struct pep_path *path, u32 rtt)
{
	u32 known = min_not_zero(READ_ONCE(path->rtt[0]),
				 READ_ONCE(path->rtt[1]));

	if (rtt >= known / 2)
		pep_learn_rtt(path, rtt);
}

/* A rate has been seen: keep it when it is the highest one. A rate far below does
 * not show the capacity of the link, and does not renew its known properties.
 */
static void pep_learn_rate(struct pep_path *path, u64 rate)
{
	u64 best = max(path->rate[0], path->rate[1]);

	lockdep_assert_held(&path->lock);
	if (rate > path->rate[0])
		WRITE_ONCE(path->rate[0], rate);
	if (rate >= best / 2)
		WRITE_ONCE(path->seen, ktime_get_seconds());
}

/* Note whether a rate is clearly higher than the known one: then the link was not full. */
static bool pep_learn_grows(struct pep_path *path, u64 rate)
{
	u64 best = max(path->rate[0], path->rate[1]);

	lockdep_assert_held(&path->lock);
	if (rate <= best + best / PEP_LEARN_GROWTH)
		return false;
	WRITE_ONCE(path->flat, 0);
	return true;
}

/* End a round with a sample of the rate, locked. */
static void pep_learn_sample(struct pep_path *path, u64 acked, u64 now,
			     u64 sent, bool full)
{
	u64 bytes = acked - path->round_acked, took = now - path->round_at;
	u64 before = path->round_sent;
	u64 best = max(path->rate[0], path->rate[1]);
	bool first = !path->round_at;
	u64 rate;

	/* Another CPU added to the sum later, and noted it earlier. */
	if ((s64)bytes < 0)
		return;
	path->round_acked = acked;
	WRITE_ONCE(path->round_at, now);
	path->round_sent = sent;
	if (first)
		return;
	/* Acknowledgments that were held up, and come at once, make no higher rate. */
	if (sent && before && sent > before)
		took = max(took, sent - before);

	rate = div64_u64(bytes * USEC_PER_SEC, took);
	if (!pep_learn_grows(path, rate) && full && rate >= best / 2 &&
	    path->flat < PEP_LEARN_FLAT)
		WRITE_ONCE(path->flat, path->flat + 1);
	if (full && ++path->full >= PEP_LEARN_ROUNDS) {
		path->full = 0;
		WRITE_ONCE(path->rate[1], path->rate[0]);
		WRITE_ONCE(path->rate[0], rate);
	}
	pep_learn_rate(path, rate);
}

/**
 * pep_learn_acked() - note payload that a subscriber has acknowledged
 * @path: path
 * @bytes: newly acknowledged bytes of a connection
 * @now: time, us of tcp_clock_us()
 * @sent: when the latest packet that is acknowledged was sent, us of tcp_clock_us(); 0
 *	when unknown
 * @full: the connection's sender had more to send than it was allowed to
 *
 * A round begins with the first acknowledgment after the round before has ended, and
 * takes a round trip at least: bytes acknowledged in it were sent within two.
 *
 * Context: BH off.
 */
void pep_learn_acked(struct pep_path *path, u32 bytes, u64 now, u64 sent,
		     bool full)
{
	u64 acked = atomic64_add_return(bytes, &path->acked);
	u32 least = max(min_not_zero(READ_ONCE(path->rtt[0]),
				     READ_ONCE(path->rtt[1])),
			PEP_LEARN_ROUND_MIN);

	if ((s64)(now - READ_ONCE(path->round_at)) < least ||
	    !spin_trylock(&path->lock))
		return;
	if ((s64)(now - path->round_at) >= least)
		pep_learn_sample(path, acked, now, sent, full);
	spin_unlock(&path->lock);
}

/**
 * pep_learn_train() - note a rate that a leg has seen within one flight
 * @path: path
 * @rate: rate, bytes per second
 *
 * Context: BH off.
 */
void pep_learn_train(struct pep_path *path, u64 rate)
{
	spin_lock(&path->lock);
	pep_learn_grows(path, rate);
	pep_learn_rate(path, rate);
	spin_unlock(&path->lock);
}

/**
 * pep_learn_refute() - note that a link does not carry its known rate
 * @path: path
 * @acked: @path's acked bytes at a time when the link was in use
 * @took: time since then, us; not 0
 *
 * The known rates become no higher than the rate that it has carried since.
 *
 * Context: BH off.
 */
void pep_learn_refute(struct pep_path *path, u64 acked, u64 took)
{
	u64 bytes = atomic64_read(&path->acked) - acked;
	u64 rate = div64_u64(bytes * USEC_PER_SEC, took);

	spin_lock(&path->lock);
	WRITE_ONCE(path->rate[0], min(path->rate[0], rate));
	WRITE_ONCE(path->rate[1], min(path->rate[1], rate));
	path->full = 0;
	WRITE_ONCE(path->flat, 0);
	spin_unlock(&path->lock);
}
