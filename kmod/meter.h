/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_METER_H
#define _PEP_METER_H

#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <uapi/linux/pep.h>

struct pep_conn;
struct pep_flow;
struct pep_gain;
struct pep_gen;
struct pep_packet;
struct pep_tuple;

/**
 * struct pep_meter - measurement of a connection for a comparison
 * @gain: comparison that it adds to, with a reference
 * @lock: guards all below but @group and @rcu; taken last, and with no other lock
 *	taken in it; BH off
 * @group: group of the connection, enum pep_gain_group; constant
 * @known: @ack is known
 * @open: there is an object
 * @all: the subscriber's latest packet acknowledged all that had arrived for them
 * @probing: @probe is under way
 * @objects: objects that have ended, by size, up to U16_MAX
 * @samples: samples of the queueing delay
 * @ack: highest acknowledgment of the subscriber
 * @sent: payload that the subscriber has sent for the object, bytes
 * @probe: sequence number whose acknowledgment is a sample of the round trip
 * @rtt: smallest sample, us; 0 when there is none
 * @probed: time when @probe was sent to the subscriber, ns of ktime_get_ns(); 0 when
 *	a leg records it
 * @since: time when the object began, ns of ktime_get_ns()
 * @last: time when the subscriber acknowledged its latest part, ns of ktime_get_ns()
 * @bytes: payload that the subscriber has acknowledged, bytes
 * @begun: @bytes when the object began
 * @again: payload that legs have sent to the subscriber a second time, bytes
 * @rcu: frees the memory
 */
struct pep_meter {
	struct pep_gain *gain;
	spinlock_t lock; /* all below; see above */
	u8 group;
	bool known;
	bool open;
	bool all;
	bool probing;
	u16 objects[PEP_GAIN_SIZES];
	u32 samples;
	u32 ack;
	u32 sent;
	u32 probe;
	u32 rtt;
	u64 probed;
	u64 since;
	u64 last;
	u64 bytes;
	u64 begun;
	u64 again;
	struct rcu_head rcu;
};

bool pep_meter_held_back(const struct pep_gen *gen,
			 const struct pep_tuple *tuple, enum pep_side opener);
void pep_meter_begin(const struct pep_gen *gen, struct pep_conn *conn,
		     unsigned int group);
void pep_meter_followed(const struct pep_conn *conn, enum pep_side side,
			const struct pep_packet *pkt);
void pep_meter_split(const struct pep_conn *conn, const struct pep_flow *flow,
		     const struct pep_packet *pkt);
void pep_meter_leg(const struct pep_flow *flow);
void pep_meter_closing(struct pep_conn *conn);
void pep_meter_end(struct pep_conn *conn);

#endif
