/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_REPLY_H
#define _PEP_REPLY_H

struct genl_info;
struct sk_buff;

struct sk_buff *pep_reply_begin(struct genl_info *info, void **hdr);
int pep_reply_send(struct sk_buff *reply, struct genl_info *info, void *hdr,
		   int err);
void *pep_reply_part(struct sk_buff *skb, const struct genl_info *info);
int pep_reply_part_end(struct sk_buff *skb, void *hdr, int err);

#endif
