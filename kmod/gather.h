/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_GATHER_H
#define _PEP_GATHER_H

#include <linux/bvec.h>
#include <linux/skbuff.h>

struct sock;

/* Maximum of fragments that are gathered from a queue for one call. */
#define PEP_GATHER_BVECS	128

/* Least memory that a fragment of a received packet keeps, bytes: the smallest
 * buffer of drivers.
 */
#define PEP_GATHER_KEPT		1024

/* Shorter pieces are copied, bytes. Drivers cut packets out of pages of up to 32 KiB,
 * and one byte keeps all of its page.
 */
#define PEP_GATHER_SMALL	256

/**
 * struct pep_gather_page - page that pieces of any flow are copied to one by one
 * @page: page, with a reference, or NULL
 * @used: bytes of it that are in use
 */
struct pep_gather_page {
	struct page *page;
	u32 used;
};

/**
 * struct pep_gather - fragments collected for one call
 * @bvec: array that holds them, of PEP_GATHER_BVECS entries, or that of a struct pep_copy
 * @to: page to copy to
 * @n: number of fragments
 * @len: their length, bytes
 * @copied: part of @len that lies in @to, bytes
 * @memory: memory that a leg will be charged for them, bytes
 * @err: reason for which a piece could not be copied, a negative error, or 0
 */
struct pep_gather {
	struct bio_vec *bvec;
	struct pep_gather_page *to;
	unsigned int n;
	u32 len;
	u32 copied;
	u32 memory;
	int err;
};

bool pep_gather_skb(struct pep_gather *g, const struct sk_buff *skb, u32 off);
u32 pep_gather_taken(struct pep_gather *g, u32 len);
void pep_gather_drop(struct pep_gather_page *to);
int pep_gather_send(struct sock *to, const struct pep_gather *g, u32 off,
		    bool more, struct ubuf_info *ubuf);
bool pep_gather_lent(const struct sk_buff *skb);

#endif
