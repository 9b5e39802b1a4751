/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_SEGMENT_H
#define _PEP_SEGMENT_H

#include <linux/types.h>
#include <uapi/linux/pep.h>

struct pep_conn;
struct pep_packet;
struct sk_buff;
struct tcphdr;

/**
 * struct pep_segment_options - options of a segment that is no SYN
 * @has_ts: there is a timestamp, RFC 7323
 * @has_sack: there are SACK blocks of payload behind a hole, RFC 2018
 * @tsval: the timestamp
 * @tsecr: the one of the other end that it echoes
 */
struct pep_segment_options {
	bool has_ts;
	bool has_sack;
	u32 tsval;
	u32 tsecr;
};

void pep_segment_scan(const struct pep_packet *pkt,
		      struct pep_segment_options *found);
bool pep_segment_plausible(const struct pep_conn *conn, enum pep_side side,
			   const struct sk_buff *skb,
			   const struct pep_packet *pkt);
bool pep_segment_unseen(const struct pep_conn *conn, enum pep_side side,
			const struct sk_buff *skb,
			const struct pep_packet *pkt);
bool pep_segment_released(const struct pep_conn *conn, enum pep_side side,
			  const struct sk_buff *skb,
			  const struct pep_packet *pkt);
bool pep_segment_resets(const struct pep_conn *conn, enum pep_side side,
			const struct tcphdr *th);

#endif
