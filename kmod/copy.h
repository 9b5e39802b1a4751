/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_COPY_H
#define _PEP_COPY_H

#include <linux/bvec.h>
#include <linux/types.h>

struct sk_buff;

/**
 * struct pep_copy - payload of one packet
 * @next: next copy of the same sender, or NULL
 * @at: when it was sent, ns of ktime_get_ns()
 * @seq: sequence number of its first byte
 * @len: its length, bytes
 * @memory: memory that it keeps, bytes
 * @n: number of fragments
 * @most: number of fragments that @bvec has room for
 * @head: linear payload behind @bvec, bytes, the first of the packet; the first
 *	fragment stands for it, without a page until pep_copy_page()
 * @again: it was sent again, see pep_copies_again(): its acknowledgment is no sample of a
 *	round trip
 * @bvec: fragments, each with a reference to its page
 */
struct pep_copy {
	struct pep_copy *next;
	u64 at;
	u32 seq;
	u32 len;
	u32 memory;
	u16 n;
	u16 most;
	u8 head;
	bool again;
	struct bio_vec bvec[];
};

/**
 * pep_copy_end() - get the number behind a copy
 * @copy: copy
 *
 * Return: sequence number.
 */
static inline u32 pep_copy_end(const struct pep_copy *copy)
{
	return copy->seq + copy->len;
}

struct pep_copy *pep_copy_take(struct sk_buff *skb, u32 off, u32 seq, u32 len);
int pep_copy_page(struct pep_copy *copy);
void pep_copy_free(struct pep_copy *copy);

#endif
