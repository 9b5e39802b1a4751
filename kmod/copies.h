/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_COPIES_H
#define _PEP_COPIES_H

#include <linux/skbuff.h>
#include <uapi/linux/pep.h>

#include "gen.h"
#include "packet.h"

struct pep_copy;
struct pep_path;
struct pep_track_end;
struct sock;

/**
 * struct pep_copies - unacknowledged payload of a connection that may be split
 * @gen: generation that would split it, with a reference
 * @path: entry of the connection's subscriber, which the connection refers to, or NULL
 * @noted: part of @memory that @path has counted, bytes
 * @first: by side of the sender, its copies in the order of the stream, or NULL
 * @last: by side of the sender, the last one of @first, unless that is NULL
 * @start: by side of the sender, sequence number from which they are complete
 * @label: by side of the sender, the flow label of its latest packet, see
 *	pep_packet_label(); 0 while it is unknown
 * @shown: by side of the sender, while pep_conn.unseen has it: number after the payload
 *	that it is known to have sent
 * @full: by side of the sender, its largest full segment, with the options behind the TCP
 *	header, bytes; 0 while none has passed
 * @memory: memory that they keep, bytes
 * @count: how many they are, both ways
 * @restarts: number of calls of pep_copies_restart()
 */
struct pep_copies {
	struct pep_gen *gen;
	struct pep_path *path;
	u32 noted;
	struct pep_copy *first[2];
	struct pep_copy *last[2];
	u32 start[2];
	u32 label[2];
	u32 shown[2];
	u32 memory;
	u16 full[2];
	u16 count;
	u8 restarts;
};

/**
 * pep_copies_trigger() - get the trigger by bytes
 * @copies: of the connection
 *
 * Return: payload of an end in one turn that triggers the split, bytes.
 */
static inline u32 pep_copies_trigger(const struct pep_copies *copies)
{
	return copies->gen->values.split_bytes;
}

struct pep_copies *pep_copies_new(struct pep_gen *gen,
				  struct pep_path *path,
				  const struct pep_track_end *end);
void pep_copies_free(struct pep_copies *copies);
bool pep_copies_add(struct pep_copies *copies, enum pep_side side,
		    struct pep_track_end *end, struct sk_buff *skb,
		    const struct pep_packet *pkt);
void pep_copies_size(struct pep_copies *copies, enum pep_side side,
		     const struct sk_buff *skb, const struct pep_packet *pkt);
bool pep_copies_restart(struct pep_copies *copies, enum pep_side side,
			struct pep_track_end *end);
bool pep_copies_older(const struct pep_copies *copies, enum pep_side side,
		      u32 last, u32 us);
bool pep_copies_stale(const struct pep_copies *copies, enum pep_side side);
void pep_copies_acked(struct pep_copies *copies, enum pep_side side, u32 ack,
		      u32 *next);
int pep_copies_load(struct pep_copies *copies, enum pep_side side,
		    struct sock *sk, struct ubuf_info *ubuf);

#endif
