/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_METER_H
#define _PEP_METER_H

#include <linux/math64.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <uapi/linux/pep.h>

#include "gain.h"

struct pep_conn;
struct pep_flow;
struct pep_gen;
struct pep_packet;

/* Bits by which pep_meter.asked is coarser than a nanosecond: 66 us, for 78 hours. */
#define PEP_METER_ASKED		16

/**
 * struct pep_meter - measurement of a connection for a comparison
 * @gain: comparison that it adds to, with a reference
 * @lock: guards all below but @group and @rcu; taken last, and with no other lock
 *	taken in it; BH off
 * @group: group of the connection, enum pep_gain_group; constant
 * @asking: the subscriber has sent something that may be a request: the server's next
 *	payload decides; read locklessly
 * @counted: it counts as a connection: the handshake is complete
 * @known: @ack is known
 * @open: there is an object
 * @none: what the server sends is no object until the next turn
 * @all: all that had arrived for the subscriber is acknowledged
 * @idle: the subscriber's latest packet acknowledged all
 * @probing: @probe is under way
 * @leg: a leg times @probe
 * @armed: TCP has the acknowledgment of @probe, and a sample
 * @objects: objects that have ended, by size, up to U16_MAX
 * @samples: samples of the queueing delay
 * @ack: highest acknowledgment of the subscriber
 * @sent: payload that the subscriber has sent for the object, bytes
 * @before: @sent before @asking
 * @turn: while @asking: sequence number that the server acknowledges with its answer
 * @asked: while @asking: time of the latest payload of the subscriber, ns of
 *	ktime_get_ns() >> PEP_METER_ASKED, the low 32 bits
 * @probe: sequence number whose acknowledgment is a sample of the round trip
 * @rtt: smallest sample, us; 0 when there is none
 * @probed: time when @probe was sent to the subscriber, pep_meter_us(); of a leg: payload
 *	that it had sent again by then, bytes, the low 32 bits
 * @hole: payload of the server that passed in front of none seen before, from this
 *	number on
 * @hole_end: end of that; as @hole where there is none
 * @again: payload that was sent to the subscriber from here a second time, bytes, up to
 *	U32_MAX
 * @since: time when the object began, ns of ktime_get_ns()
 * @last: time when the subscriber acknowledged its latest part, ns of ktime_get_ns()
 * @bytes: payload that the subscriber has acknowledged, bytes
 * @begun: @bytes when the object began
 * @rcu: frees the memory
 */
struct pep_meter {
	struct pep_gain *gain;
	spinlock_t lock; /* all below; see above */
	u8 group;
	bool asking;
	u16 counted:1;
	u16 known:1;
	u16 open:1;
	u16 none:1;
	u16 all:1;
	u16 idle:1;
	u16 probing:1;
	u16 leg:1;
	u16 armed:1;
	u16 objects[PEP_GAIN_SIZES];
	u32 samples;
	u32 ack;
	u32 sent;
	u32 before;
	u32 turn;
	u32 asked;
	u32 probe;
	u32 rtt;
	u32 probed;
	u32 hole;
	u32 hole_end;
	u32 again;
	u64 since;
	u64 last;
	u64 bytes;
	u64 begun;
	struct rcu_head rcu;
};

/**
 * pep_meter_group() - get the results of a connection's group
 * @meter: meter of the connection
 *
 * Return: results, which the meter keeps.
 */
static inline struct pep_gain_conns *
pep_meter_group(const struct pep_meter *meter)
{
	return &meter->gain->group[meter->group];
}

/**
 * pep_meter_us() - convert a time to that of pep_meter.probed
 * @now: ns of ktime_get_ns()
 *
 * Return: us, the low 32 bits.
 */
static inline u32 pep_meter_us(u64 now)
{
	return div_u64(now, NSEC_PER_USEC);
}

void pep_meter_begin(const struct pep_gen *gen, struct pep_conn *conn,
		     unsigned int group);
void pep_meter_followed(const struct pep_conn *conn, enum pep_side side,
			const struct pep_packet *pkt);
void pep_meter_up(const struct pep_flow *flow);
void pep_meter_split(const struct pep_conn *conn, const struct pep_flow *flow,
		     enum pep_side side, const struct pep_packet *pkt);
void pep_meter_leg(const struct pep_flow *flow);
void pep_meter_closing(struct pep_conn *conn);
void pep_meter_end(struct pep_conn *conn);

#endif
