/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_TRACK_H
#define _PEP_TRACK_H

#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <net/tcp.h>
#include <uapi/linux/pep.h>

#include "net.h"
#include "queue.h"
#include "tuple.h"

struct pep_copies;
struct pep_flow;
struct pep_meter;
struct pep_path;
struct pep_tally;

/**
 * enum pep_track_stage - progress of a connection
 * @PEP_TRACK_OPENING: the SYN has come
 * @PEP_TRACK_ANSWERED: the SYN-ACK has passed
 * @PEP_TRACK_FOLLOWED: both ends have completed the handshake
 * @PEP_TRACK_CLOSING: both ends have sent a FIN
 * @PEP_TRACK_SPLIT: a flow has it
 * @PEP_TRACK_RELEASING: the flow hands it back
 * @PEP_TRACK_GONE: out of the table
 * @PEP_TRACK_STAGES: how many there are
 */
enum pep_track_stage {
	PEP_TRACK_OPENING,
	PEP_TRACK_ANSWERED,
	PEP_TRACK_FOLLOWED,
	PEP_TRACK_CLOSING,
	PEP_TRACK_SPLIT,
	PEP_TRACK_RELEASING,
	PEP_TRACK_GONE,
	PEP_TRACK_STAGES,
};

/**
 * enum pep_track_event - event that moves a connection from stage to stage
 * @PEP_TRACK_SYNACK: the target's answer to the SYN
 * @PEP_TRACK_ACK: the opener's answer to that
 * @PEP_TRACK_FINS: the second of both ends' FINs
 * @PEP_TRACK_ADOPT: a flow takes it over, at once for an opener that is answered
 *	early
 * @PEP_TRACK_CUT: the flow begins to hand it back
 * @PEP_TRACK_RELEASED: the flow has handed it back
 * @PEP_TRACK_IMPORT: it was followed before, by another module
 * @PEP_TRACK_END: a reset, silence, the end of its flow or of the namespace, a SYN that
 *	opens it anew, a handshake that was refused, or another one that needs its room
 * @PEP_TRACK_EVENTS: how many there are
 */
enum pep_track_event {
	PEP_TRACK_SYNACK,
	PEP_TRACK_ACK,
	PEP_TRACK_FINS,
	PEP_TRACK_ADOPT,
	PEP_TRACK_CUT,
	PEP_TRACK_RELEASED,
	PEP_TRACK_IMPORT,
	PEP_TRACK_END,
	PEP_TRACK_EVENTS,
};

/* Flags of an end, of pep_track_end.flags. */
#define PEP_TRACK_SCALES	BIT(0)	/* its SYN has a window scale */
#define PEP_TRACK_SACK		BIT(1)	/* its SYN permits SACK */
#define PEP_TRACK_STAMPS	BIT(2)	/* its SYN has a timestamp */
#define PEP_TRACK_ECN		BIT(3)	/* its SYN negotiates ECN */
#define PEP_TRACK_ACCECN	BIT(4)	/* its SYN requests AccECN, RFC 9768 */
#define PEP_TRACK_FIN		BIT(5)	/* it has sent its FIN */
#define PEP_TRACK_UNSPLIT	BIT(6)	/* no socket can, or may, take its place */
#define PEP_TRACK_REPLIED	BIT(7)	/* all of its turn has a reply */

/* Those that netlink shows, below PEP_TRACK_REPLIED. */
#define PEP_TRACK_SHOWN		(PEP_TRACK_REPLIED - 1)

/**
 * struct pep_track_end - an end of a connection, by its packets
 * @bytes: payload sent, bytes, with what was repeated while no leg had the connection; of
 *	48 bits
 * @promise: while pep_conn.overpromised: number up to which the leg had offered room to this end,
 *	in units of the other end's window scale, without its upper bits; see
 *	pep_track_promise()
 * @next: sequence number, as those below: while copies are kept, all from
 *	pep_copies.start to it has passed without a hole; while the connection is handed
 *	back, the cut, up to which the end's payload is its leg's; else as @high
 * @high: number after the highest byte sent, or acknowledged while it is handed back
 * @turn: while there are copies: where its turn began, see pep_follow_turn()
 * @label: in the place of @turn while there are none: the flow label of its latest packet
 *	that passed here, see pep_packet_label(); 0 while it is unknown
 * @ack: highest acknowledgment sent: all data of the other end before it has arrived
 * @edge: highest right edge offered: the other end may send up to it
 * @tsval: its clock, RFC 7323, as the other end has seen it in order
 * @isn: initial sequence number; only the opener's is known for an imported connection
 * @seen: when its latest packet came that was plausible, jiffies; after a flow has had the
 *	connection, that of the latest acknowledgment that its leg has processed
 * @repeated: payload sent a second time, bytes
 * @rtt: round trip between here and the end, us, of the handshake, or the
 *	smallest that a leg has seen lately; 0 when unknown
 * @ifindex: device that its packets come by
 * @mss: largest segment that it accepts, bytes
 * @wscale: shift of its windows
 * @flags: PEP_TRACK_SCALES and so on
 */
struct pep_track_end {
	u64 bytes:48;
	u64 promise:16;
	u32 next;
	u32 high;
	union {
		u32 turn;
		u32 label;
	};
	u32 ack;
	u32 edge;
	u32 tsval;
	u32 isn;
	u32 seen;
	u32 repeated;
	u32 rtt;
	int ifindex;
	u16 mss;
	u8 wscale;
	u8 flags;
};

/**
 * pep_track_window() - largest window that an end can offer
 * @end: end
 *
 * Return: bytes.
 */
static inline u32 pep_track_window(const struct pep_track_end *end)
{
	return U16_MAX << end->wscale;
}

/**
 * pep_track_acks() - does the other end take an acknowledgment? RFC 5961, section 5.2
 * @end: end that acknowledges
 * @peer: the other one
 * @ack: the acknowledgment
 *
 * Return: false when it is of payload that was not sent, or older than a window.
 */
static inline bool pep_track_acks(const struct pep_track_end *end,
				  const struct pep_track_end *peer, u32 ack)
{
	return !after(ack, peer->high) &&
	       !before(ack, end->ack - pep_track_window(end));
}

/* So often a connection is handed back because its packets took another way. */
#define PEP_TRACK_DETOURS	3

/**
 * struct pep_conn - a connection that is followed
 * @node: in pep_net.track
 * @tuple: ends, in the direction of the opener's SYN; constant
 * @vrf: VRF that the opener's packets are received by, 0 for none; constant
 * @lock: guards all below but @ref, @job and @rcu; taken before pep_flow.lock,
 *	BH off; @incomplete is guarded by pep_net.track_lock, too
 * @stage: enum pep_track_stage; only track.c writes it; read locklessly
 * @opener: side that sent the SYN, enum pep_side; constant
 * @trigger: PEP_SPLIT_TRIGGER_* that may still split it, a mask
 * @due: those of them that have fired, until pep_adopt_ready() says that the connection
 *	can be taken over
 * @unseen: the ends that have sent payload which has not passed here, until payload has
 *	that reaches pep_copies.shown, or without copies until the next; a mask of BIT(side)
 * @repeated: its SYN or SYN-ACK was sent again, by an end or by synack.c, a side had no device
 *	meanwhile, or it was handed back: the handshake's round trips are not known
 * @early: its opener is to be answered early; constant
 * @resume: packets may have passed unseen since its numbers were noted: it was
 *	imported, a side had no device meanwhile, or its packets took another way
 * @heard: the ends that have sent since @resume was set, a mask of BIT(side)
 * @renew: its SYN-ACK may be sent again when that gets lost, see synack.c; constant
 * @crowded: its subscriber had no room to split it again, which has been counted
 * @used: payload has come since it was handed back for being idle
 * @gaps: pep_net.gaps when its latest packet came, modulo 256
 * @dsfield: TOS or traffic class of the latest packet of the end on a side, enum
 *	pep_side
 * @detours: how often it was handed back because its packets took another way, up to
 *	PEP_TRACK_DETOURS, when it is not split again; one more when that has been counted
 * @overpromised: when it was handed back legs had offered more than the ends do, to both, and the
 *	ends may still use that; see edge.c
 * @refused: a policy of IPsec has kept it from being split since @resume was set
 * @ref: one while in the table, one while @job is queued or waits for a socket, one
 *	of @flow, one while its SYN-ACK is kept, and those of callers
 * @seen: when its latest packet came, the cut was made by which it is handed back, or that
 *	was done, jiffies; read locklessly
 * @born: when the SYN came, ns of ktime_get_ns()
 * @end: by side, enum pep_side
 * @rcu: in the place of @end when no reference is left: frees the memory
 * @copies: unacknowledged payload while it may be split, or NULL; whether there is any
 *	is read locklessly
 * @path: entry of its subscriber, with a reference, where it counts for the share; or
 *	NULL
 * @flow: the flow that has it or had it last, with a reference as long as it
 *	has it; or NULL; read locklessly
 * @job: takes it over, and handles its end; holds a reference while queued
 * @incomplete: in pep_net.incomplete up to PEP_TRACK_ANSWERED
 * @tally: after that: of the profile that may split it again, with a reference;
 *	NULL unless it was handed back for being idle; see pep_track_tally()
 * @meter: beside @tally: measures it while connections are compared, or NULL; read
 *	under RCU while it is split
 */
struct pep_conn {
	struct rhash_head node;
	struct pep_tuple tuple;
	int vrf;
	spinlock_t lock; /* all below; see above */
	u8 stage;
	u8 opener;
	u8 trigger:3;
	u8 due:3;
	u8 unseen:2;
	u8 repeated:1;
	u8 early:1;
	u8 resume:1;
	u8 renew:1;
	u8 crowded:1;
	u8 used:1;
	u8 heard:2;
	u8 gaps;
	u8 dsfield[2];
	u8 detours:6;
	u8 overpromised:1;
	u8 refused:1;
	refcount_t ref;
	u32 seen;
	u64 born;
	union {
		struct pep_track_end end[2];
		struct rcu_head rcu;
	};
	struct pep_copies *copies;
	struct pep_path *path;
	struct pep_flow *flow;
	struct pep_job job;
	union {
		struct list_head incomplete;
		struct {
			struct pep_tally *tally;
			struct pep_meter *meter;
		};
	};
};

/**
 * pep_track_offer() - get the right edge of the window that a segment of an end offers
 * @self: the end
 * @th: TCP header of the segment, no SYN
 *
 * Return: sequence number.
 */
static inline u32 pep_track_offer(const struct pep_track_end *self, const struct tcphdr *th)
{
	return ntohl(th->ack_seq) + (ntohs(th->window) << self->wscale);
}

/**
 * pep_track_promise() - up to where had a leg offered room to its end?
 * @conn: connection that is pep_conn.overpromised, locked
 * @side: side of the end, enum pep_side
 *
 * Return: sequence number, up to a unit of the other end's window scale too high; not older
 * than that end's acknowledgment, nor further ahead of it than its largest window.
 */
static inline u32 pep_track_promise(const struct pep_conn *conn, enum pep_side side)
{
	const struct pep_track_end *peer = &conn->end[!side];
	u32 acked = peer->ack >> peer->wscale;
	u16 ahead = conn->end[side].promise - acked;

	return ((acked + ahead + 1) << peer->wscale) - 1;
}

/**
 * pep_track_limit() - up to where may an end send?
 * @conn: connection, locked
 * @side: side of the end, enum pep_side
 *
 * Return: sequence number of the edge that the other end has offered, or a leg before it
 * while both ends may go by that.
 */
static inline u32 pep_track_limit(const struct pep_conn *conn, enum pep_side side)
{
	u32 edge = conn->end[!side].edge, promise;

	if (likely(!conn->overpromised))
		return edge;
	promise = pep_track_promise(conn, side);
	return after(promise, edge) ? promise : edge;
}

/**
 * pep_track_active() - may there be a connection in the table?
 * @pn: instance
 *
 * Context: any.
 * Return: false when there is none.
 */
static inline bool pep_track_active(const struct pep_net *pn)
{
	return atomic_read(&pn->track.nelems);
}

/**
 * pep_track_releasing() - is a connection being handed back?
 * @conn: connection, or NULL
 *
 * Context: any.
 * Return: true when it is; without its lock, that may have changed.
 */
static inline bool pep_track_releasing(const struct pep_conn *conn)
{
	return conn && READ_ONCE(conn->stage) == PEP_TRACK_RELEASING;
}

/**
 * pep_track_tally() - tally of the profile that may split a connection again
 * @conn: connection, locked
 *
 * Return: the tally, or NULL where the connection was not handed back for being idle.
 */
static inline struct pep_tally *pep_track_tally(const struct pep_conn *conn)
{
	return conn->stage > PEP_TRACK_ANSWERED ? conn->tally : NULL;
}

/**
 * pep_track_gap() - has a side had no device since a connection's latest packet?
 * @pn: its instance
 * @conn: connection, locked
 *
 * Context: any.
 * Return: true when it has.
 */
static inline bool pep_track_gap(const struct pep_net *pn, const struct pep_conn *conn)
{
	return conn->gaps != (u8)atomic_read(&pn->gaps);
}

/**
 * pep_track_lapse() - have a connection go on from the next packets of both ends
 * @conn: connection, locked, of which packets may have passed unseen
 *
 * Context: any.
 */
static inline void pep_track_lapse(struct pep_conn *conn)
{
	conn->resume = true;
	conn->heard = 0;
	conn->unseen = 0;
}

/**
 * pep_track_splittable() - can a connection be split?
 * @conn: connection, locked
 *
 * Context: any.
 * Return: false when one end has sent something that a leg cannot carry, with a TTL of
 * 255, or a FIN, or a policy of IPsec is against its packets, or both have agreed upon
 * AccECN, RFC 9768.
 */
static inline bool pep_track_splittable(const struct pep_conn *conn)
{
	u8 either = conn->end[0].flags | conn->end[1].flags;
	u8 both = conn->end[0].flags & conn->end[1].flags;

	return !(either & (PEP_TRACK_UNSPLIT | PEP_TRACK_FIN)) &&
	       !(both & PEP_TRACK_ACCECN);
}

/**
 * pep_track_side() - find the side that a packet of a connection comes from
 * @conn: connection
 * @tuple: tuple of the packet
 *
 * Context: any.
 * Return: side, enum pep_side.
 */
static inline enum pep_side pep_track_side(const struct pep_conn *conn,
					   const struct pep_tuple *tuple)
{
	bool forth = tuple->sport == conn->tuple.sport &&
		     pep_addr_equal(&tuple->src, &conn->tuple.src);

	return forth ? conn->opener : !conn->opener;
}

int pep_track_next(unsigned int stage, enum pep_track_event event);
struct pep_conn *pep_track_find(struct pep_net *pn,
				const struct pep_tuple *tuple, int vrf);
struct pep_conn *pep_track_new(const struct pep_tuple *tuple, int vrf);
int pep_track_insert(struct pep_net *pn, struct pep_conn *conn);
void pep_track_drop_copies(struct pep_conn *conn);
void pep_track_disarm(struct pep_conn *conn);
int pep_track_import(struct pep_net *pn, struct pep_conn *conn);
void pep_track_advance(struct pep_net *pn, struct pep_conn *conn,
		       enum pep_track_event event);
bool pep_track_fins(struct pep_net *pn, struct pep_conn *conn);
void pep_track_close(struct pep_net *pn, struct pep_conn *conn,
		     unsigned int cause);
void pep_track_schedule(struct pep_conn *conn);
void pep_track_put(struct pep_conn *conn);
int pep_track_start(struct pep_net *pn);
void pep_track_stop(struct pep_net *pn);
int pep_track_init(void);
void pep_track_exit(void);

#endif
