// SPDX-License-Identifier: GPL-2.0
/*
 * The dump of connections that are followed.
 *
 * A walk through the table cannot go on exactly where it was once the table has
 * changed. The request therefore takes a reference to each connection that may
 * match, and the parts of the dump go through these. A connection that has ended
 * by then is left out.
 */

#include "compat.h"
#include "netlink-gen.h"

#include <linux/mm.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "conn.h"
#include "filter.h"
#include "reply.h"
#include "state.h"
#include "track.h"

/* Connections looked at before other work on this CPU gets its turn. */
#define PEP_WALK_BATCH		1024

/* How often a table that grows meanwhile is walked through. */
#define PEP_WALK_TRIES		5

/**
 * struct pep_walk_filter - conditions that a connection has to meet, all of them
 * @family: AF_INET or AF_INET6, 0 for any
 * @end: ends, by the enum pep_side that they are on
 * @stage: enum pep_track_stage, or U32_MAX for any
 * @opener: enum pep_side that sent the SYN, or U32_MAX for any
 * @ifindex: device that packets of an end come by, or its VRF, 0 for any
 * @older: least age, ns
 * @bytes: least payload sent, by both ends together, bytes
 */
struct pep_walk_filter {
	u32 family;
	struct pep_filter_end end[2];
	u32 stage;
	u32 opener;
	int ifindex;
	u64 older;
	u64 bytes;
};

/**
 * struct pep_walk - a dump that goes on
 * @filter: conditions for connections
 * @conns: connections that may meet them, each with a reference
 * @room: how many fit there
 * @n: how many there are
 * @next: the first of them that is still to be looked at; those before it have
 *	no reference any more
 */
struct pep_walk {
	struct pep_walk_filter filter;
	struct pep_conn **conns;
	size_t room;
	size_t n;
	size_t next;
};

static int pep_walk_parse(const struct genl_info *info,
			  struct pep_walk_filter *filter)
{
	struct nlattr **attrs = info->attrs;

	*filter = (struct pep_walk_filter){
		.stage = U32_MAX, .opener = U32_MAX,
		.older = pep_filter_older(info, PEP_A_CONN_OLDER_MS),
		.bytes = pep_filter_uint(info, PEP_A_CONN_BYTES_MIN),
	};
	if (attrs[PEP_A_CONN_STAGE])
		filter->stage = nla_get_u32(attrs[PEP_A_CONN_STAGE]);
	if (attrs[PEP_A_CONN_OPENER])
		filter->opener = nla_get_u32(attrs[PEP_A_CONN_OPENER]);
	if (attrs[PEP_A_CONN_IFINDEX])
		filter->ifindex = nla_get_u32(attrs[PEP_A_CONN_IFINDEX]);
	return pep_filter_parse_end(info, PEP_A_CONN_SUBSCRIBER_ADDR,
				    PEP_A_CONN_SUBSCRIBER_PREFIX,
				    PEP_A_CONN_SUBSCRIBER_PORT, "subscriber",
				    &filter->family,
				    &filter->end[PEP_SIDE_WIRELESS]) ?:
	       pep_filter_parse_end(info, PEP_A_CONN_SERVER_ADDR,
				    PEP_A_CONN_SERVER_PREFIX,
				    PEP_A_CONN_SERVER_PORT, "server",
				    &filter->family,
				    &filter->end[PEP_SIDE_SERVER]);
}

/* May a connection match, by its fields that never change? */
static bool pep_walk_may(const struct pep_walk_filter *f,
			 const struct pep_conn *conn)
{
	return (f->opener == U32_MAX || f->opener == conn->opener) &&
	       pep_filter_ends(f->family, f->end, conn->opener, &conn->tuple);
}

/* Does such a connection match now? Locked. */
static bool pep_walk_match(const struct pep_walk_filter *f,
			   const struct pep_conn *conn)
{
	const struct pep_track_end *end = conn->end;

	return conn->stage != PEP_TRACK_GONE &&
	       (f->stage == U32_MAX || f->stage == conn->stage) &&
	       (!f->ifindex || f->ifindex == conn->vrf ||
		f->ifindex == end[0].ifindex || f->ifindex == end[1].ifindex) &&
	       ktime_get_ns() - conn->born >= f->older &&
	       end[0].bytes + end[1].bytes >= f->bytes;
}

/* Note a connection if it may match; false when there is no room. */
static bool pep_walk_note(struct pep_walk *walk, struct pep_conn *conn)
{
	if (!pep_walk_may(&walk->filter, conn))
		return true;
	if (walk->n == walk->room)
		return false;
	/* The last reference to a connection that ends may be gone. */
	if (refcount_inc_not_zero(&conn->ref))
		walk->conns[walk->n++] = conn;
	return true;
}

/*
 * Let other work have its turn. For a connection that goes meanwhile, the walk
 * keeps only its position in its chain, which is wrong once others go: stop at
 * the first one. Return: a connection that has not been seen, or NULL.
 */
static struct pep_conn *pep_walk_pause(struct rhashtable_iter *iter,
				       const struct pep_conn *last, bool *twice)
{
	struct pep_conn *conn;

	rhashtable_walk_stop(iter);
	cond_resched();
	if (pep_compat_walk_resume(iter))
		*twice = true;
	conn = rhashtable_walk_peek(iter);
	return conn == last ? NULL : conn;
}

/* Note the connections of a table; false when there is no room. */
static bool pep_walk_table(struct pep_walk *walk, struct rhashtable *table,
			   bool *twice)
{
	struct pep_conn *conn, *peeked = NULL;
	struct rhashtable_iter iter;
	unsigned int n = 0;
	bool room = true;

	rhashtable_walk_enter(table, &iter);
	rhashtable_walk_start(&iter);
	while (room && (conn = peeked ?: rhashtable_walk_next(&iter))) {
		peeked = NULL;
		/* The table is being resized: some come twice. */
		if (IS_ERR(conn)) {
			*twice = true;
			continue;
		}
		room = pep_walk_note(walk, conn);
		if (++n < PEP_WALK_BATCH || iter.skip != 1)
			continue;
		n = 0;
		peeked = pep_walk_pause(&iter, conn, twice);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return room;
}

static void pep_walk_drop(struct pep_walk *walk)
{
	while (walk->next < walk->n)
		pep_track_put(walk->conns[walk->next++]);
	kvfree(walk->conns);
	walk->conns = NULL;
	walk->next = 0;
	walk->n = 0;
}

static int pep_walk_compare(const void *a, const void *b)
{
	const struct pep_conn *left = *(struct pep_conn * const *)a;
	const struct pep_conn *right = *(struct pep_conn * const *)b;

	return left < right ? -1 : left > right;
}

/* Keep each one once. A connection with a reference keeps its place in memory. */
static void pep_walk_unique(struct pep_walk *walk)
{
	size_t i, n = 0;

	sort(walk->conns, walk->n, sizeof(*walk->conns), pep_walk_compare,
	     NULL);
	for (i = 0; i < walk->n; i++) {
		if (n && walk->conns[n - 1] == walk->conns[i])
			pep_track_put(walk->conns[i]);
		else
			walk->conns[n++] = walk->conns[i];
	}
	walk->n = n;
}

/* Note all connections that may match. */
static int pep_walk_collect(struct pep_walk *walk, struct pep_net *pn)
{
	bool twice, done;
	size_t room;
	int tries;

	/* Nor is there a table before a device has been attached. */
	if (!pep_track_active(pn))
		return 0;
	for (tries = 0; tries < PEP_WALK_TRIES; tries++) {
		room = atomic_read(&pn->track.nelems);
		walk->room = room + (room / 8 << tries) + PEP_WALK_BATCH;
		walk->conns = kvmalloc_array(walk->room, sizeof(*walk->conns),
					     GFP_KERNEL_ACCOUNT);
		if (!walk->conns)
			return -ENOMEM;
		twice = false;
		done = pep_walk_table(walk, &pn->track, &twice);
		if (twice)
			pep_walk_unique(walk);
		if (done)
			return 0;
		pep_walk_drop(walk);
	}
	return -EBUSY;
}

/* Adds a connection that is locked to a message; 0 or -EMSGSIZE. */
typedef int pep_walk_fill(struct sk_buff *skb, const struct pep_net *pn,
			  const struct pep_conn *conn);

/* Add a connection to a part of the dump, if it matches. */
static int pep_walk_put(struct sk_buff *skb, const struct genl_info *info,
			const struct pep_walk *walk, struct pep_conn *conn,
			pep_walk_fill *fill)
{
	struct pep_net *pn = pep_net(genl_info_net(info));
	int err = 0;
	void *hdr;

	rcu_read_lock();
	spin_lock_bh(&conn->lock);
	if (pep_walk_match(&walk->filter, conn) &&
	    (fill == pep_conn_fill || pep_state_whole(conn))) {
		hdr = pep_reply_part(skb, info);
		err = hdr ? fill(skb, pn, conn) : -EMSGSIZE;
		pep_reply_part_end(skb, hdr, err);
	}
	spin_unlock_bh(&conn->lock);
	rcu_read_unlock();
	return err;
}

/**
 * pep_nl_conn_get_start() - begin a dump of connections
 * @cb: state of the dump; args[0] becomes a struct pep_walk
 *
 * Context: may sleep.
 * Return: 0 or a negative error, without anything that pep_nl_conn_get_done() has
 * to undo.
 */
int pep_nl_conn_get_start(struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct pep_walk *walk;
	int err;

	walk = kzalloc(sizeof(*walk), GFP_KERNEL);
	if (!walk)
		return -ENOMEM;
	err = pep_walk_parse(info, &walk->filter) ?:
	      pep_walk_collect(walk, pep_net(genl_info_net(info)));
	if (err) {
		kfree(walk);
		return err;
	}
	cb->args[0] = (long)walk;
	return 0;
}

/* Make a part of a dump. Return: length or a negative error. */
static int pep_walk_part(struct sk_buff *skb, struct netlink_callback *cb,
			 pep_walk_fill *fill)
{
	const struct genl_info *info = genl_info_dump(cb);
	struct pep_walk *walk = (void *)cb->args[0];
	int err = 0;

	while (walk->next < walk->n) {
		err = pep_walk_put(skb, info, walk, walk->conns[walk->next],
				   fill);
		if (err)
			break;
		pep_track_put(walk->conns[walk->next++]);
		cond_resched();
	}
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

/**
 * pep_nl_conn_get_dumpit() - make a part of a dump of connections
 * @skb: message to fill
 * @cb: state of the dump
 *
 * A connection that is there throughout is in the dump once.
 *
 * Context: may sleep.
 * Return: length or a negative error.
 */
int pep_nl_conn_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return pep_walk_part(skb, cb, pep_conn_fill);
}

/**
 * pep_nl_flow_export_dumpit() - make a part of a dump of connections' states
 * @skb: message to fill
 * @cb: state of the dump
 *
 * Context: may sleep.
 * Return: length or a negative error.
 */
int pep_nl_flow_export_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return pep_walk_part(skb, cb, pep_state_fill);
}

/**
 * pep_nl_conn_get_done() - end a dump of connections
 * @cb: state of the dump, which may not be complete
 *
 * Context: may sleep.
 * Return: 0.
 */
int pep_nl_conn_get_done(struct netlink_callback *cb)
{
	struct pep_walk *walk = (void *)cb->args[0];

	pep_walk_drop(walk);
	kfree(walk);
	return 0;
}
