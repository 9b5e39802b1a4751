// SPDX-License-Identifier: GPL-2.0
/*
 * How answers of the netlink family begin and end: one message to the requester,
 * or a dump of many parts.
 */

#include "reply.h"

#include <net/genetlink.h>

/**
 * pep_reply_begin() - begin the answer to a request
 * @info: the request
 * @hdr: where its header goes
 *
 * Context: may sleep.
 * Return: the message, for pep_reply_send(), or NULL without memory.
 */
struct sk_buff *pep_reply_begin(struct genl_info *info, void **hdr)
{
	struct sk_buff *reply = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);

	if (!reply)
		return NULL;
	*hdr = genlmsg_iput(reply, info);
	if (*hdr)
		return reply;
	nlmsg_free(reply);
	return NULL;
}

/**
 * pep_reply_send() - send an answer, or drop it
 * @reply: from pep_reply_begin(); consumed
 * @info: the request
 * @hdr: the answer's header
 * @err: 0, or the error for which there is no answer, negative
 *
 * Context: may sleep.
 * Return: @err, or the result of sending.
 */
int pep_reply_send(struct sk_buff *reply, struct genl_info *info, void *hdr,
		   int err)
{
	if (err) {
		nlmsg_free(reply);
		return err;
	}
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}

/**
 * pep_reply_part() - begin a part of a dump
 * @skb: message that it is added to
 * @info: the request
 *
 * Context: any.
 * Return: its header, for pep_reply_part_end(), or NULL when it does not fit.
 */
void *pep_reply_part(struct sk_buff *skb, const struct genl_info *info)
{
	return genlmsg_put(skb, info->snd_portid, info->snd_seq,
			   info->family, NLM_F_MULTI, info->genlhdr->cmd);
}

/**
 * pep_reply_part_end() - end a part of a dump, or take it back
 * @skb: message that contains it
 * @hdr: its header, NULL when it did not fit
 * @err: 0, or the error for which it is taken back, negative, as with no header
 *
 * Context: any.
 * Return: @err.
 */
int pep_reply_part_end(struct sk_buff *skb, void *hdr, int err)
{
	if (err)
		genlmsg_cancel(skb, hdr);
	else
		genlmsg_end(skb, hdr);
	return err;
}
