/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_RELEASE_H
#define _PEP_RELEASE_H

#include <uapi/linux/pep.h>

#include "flow.h"
#include "packet.h"
#include "track.h"

/**
 * struct pep_release_way - where a packet of a connection that is released goes
 * @leg: socket that receives it, with a reference, or NULL
 * @pass: it goes on to the other end, and @leg receives a copy
 * @seq: sequence number of the copy
 * @ack: acknowledgment of the copy
 */
struct pep_release_way {
	struct sock *leg;
	bool pass;
	u32 seq;
	u32 ack;
};

unsigned int pep_release_flows(struct pep_net *pn, pep_flow_match *match,
			       const void *filter);
void pep_release_idle(struct pep_conn *conn);
bool pep_release_reopened(struct pep_conn *conn, enum pep_side side, u32 seq);
bool pep_release_detour(struct pep_conn *conn);
void pep_release_poll(struct pep_conn *conn);
void pep_release_packet(struct pep_conn *conn, enum pep_side side,
			const struct sk_buff *skb, const struct pep_packet *pkt,
			struct pep_release_way *way);

#endif
