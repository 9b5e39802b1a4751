/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_GATHER_H
#define _PEP_GATHER_H

#include <linux/bvec.h>
#include <linux/skbuff.h>

struct sock;

/* Memory that a fragment of a received packet keeps at least, bytes: what the
 * smallest buffer of drivers takes.
 */
#define PEP_GATHER_KEPT		1024

/**
 * struct pep_gather - fragments collected for one call
 * @bvec: where they go
 * @n: number of fragments
 * @len: their length, bytes
 * @memory: what a leg will be charged for them, bytes
 */
struct pep_gather {
	struct bio_vec *bvec;
	unsigned int n;
	u32 len;
	u32 memory;
};

bool pep_gather_skb(struct pep_gather *g, const struct sk_buff *skb, u32 off);
int pep_gather_send(struct sock *to, const struct pep_gather *g, u32 off,
		    bool more, struct ubuf_info *ubuf);

#endif
