// SPDX-License-Identifier: GPL-2.0
/*
 * SYN-ACKs that get lost on a subscriber's link are sent again.
 *
 * An opener waits for a second before it repeats its SYN (RFC 6298) while it has no
 * sample of the link's round trip. Where other connections of the subscriber have shown
 * the round trip (path.c), a copy of the SYN-ACK is kept for twice the latest one and a
 * margin. When the opener has not acknowledged it by then, the copy is received once
 * more, by the device that the packet has come by, and takes the whole path that a
 * SYN-ACK repeated by the target would take: the firewall and conntrack see it, the
 * handshake is no sample of the round trip any more, and an opener that has received the
 * first one acknowledges it again.
 *
 * A copy is sent once, and belongs to a timer that runs out in any case. It refers to
 * its device by number only.
 */

#include "synack.h"

#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>

#include "learn.h"
#include "path.h"
#include "stat.h"
#include "track.h"

/* Beyond two round trips, us: a short queue, and a terminal that sleeps. */
#define PEP_SYNACK_MARGIN	(50 * USEC_PER_MSEC)

/* A shorter round trip is not a radio link's, us: a late acknowledgment was not lost
 * there. As PEP_RESUME_RTT_MIN.
 */
#define PEP_SYNACK_RTT_MIN	(5 * USEC_PER_MSEC)

/* When an opener's SYN comes again by itself, less its way here, us; RFC 6298. */
#define PEP_SYNACK_SECOND	((u32)USEC_PER_SEC)

/* Copies that a subscriber may have, and a namespace in total: 4 MiB, as they have no
 * payload.
 */
#define PEP_SYNACK_SHARE	16
#define PEP_SYNACK_MAX		4096

/**
 * struct pep_synack - a SYN-ACK that may be sent again
 * @timer: runs out when the opener should have acknowledged it
 * @pn: instance, which waits for the timer
 * @conn: connection, with a reference
 * @path: link of the subscriber, with a reference
 * @skb: copy of the packet, without a device
 * @ifindex: device that the packet came by
 * @seen: pep_track_end.seen of the target when the packet came
 */
struct pep_synack {
	struct timer_list timer;
	struct pep_net *pn;
	struct pep_conn *conn;
	struct pep_path *path;
	struct sk_buff *skb;
	int ifindex;
	u32 seen;
};

/* Has the target not repeated it, and the opener not acknowledged it? */
static bool pep_synack_missed(const struct pep_synack *synack)
{
	struct pep_conn *conn = synack->conn;
	bool missed;

	spin_lock(&conn->lock);
	missed = conn->stage == PEP_TRACK_ANSWERED &&
		 conn->end[!conn->opener].seen == synack->seen;
	spin_unlock(&conn->lock);
	return missed;
}

/* Receive the copy by its device once more, if the device still exists. */
static void pep_synack_send(struct pep_synack *synack)
{
	struct pep_net *pn = synack->pn;
	struct net_device *dev;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(pn->net, synack->ifindex);
	if (dev) {
		synack->skb->dev = dev;
		netif_rx(synack->skb);
		synack->skb = NULL;
		pep_stat_inc(pn, PEP_STAT_SYNACK_REPEATED);
	}
	rcu_read_unlock();
}

static void pep_synack_timer(struct timer_list *timer)
{
	struct pep_synack *synack = container_of(timer, struct pep_synack, timer);
	struct pep_net *pn = synack->pn;

	if (!READ_ONCE(pn->stopping) && pep_synack_missed(synack))
		pep_synack_send(synack);
	consume_skb(synack->skb);
	pep_track_put(synack->conn);
	atomic_dec(&synack->path->synacks);
	pep_path_put(synack->path);
	kfree(synack);
	/* The last access: pep_synack_stop() waits for it. */
	if (atomic_dec_and_test(&pn->synacks))
		wake_up(&pn->idle);
}

/* How long to wait for an acknowledgment, us; 0: the opener repeats its SYN no later. */
static u32 pep_synack_wait(const struct pep_path *path)
{
	struct pep_learn_known known;
	u32 rtt, wait;

	if (!pep_learn_known(path, &known) || known.rtt < PEP_SYNACK_RTT_MIN)
		return 0;
	rtt = clamp(READ_ONCE(path->rtt_latest), known.rtt, PEP_SYNACK_SECOND);
	wait = 2 * rtt + PEP_SYNACK_MARGIN;
	return wait + known.rtt < PEP_SYNACK_SECOND ? wait : 0;
}

/* Count a copy; false when there are enough of them. */
static bool pep_synack_count(struct pep_net *pn, struct pep_path *path)
{
	if (atomic_inc_return(&path->synacks) <= PEP_SYNACK_SHARE) {
		if (atomic_inc_return(&pn->synacks) <= PEP_SYNACK_MAX)
			return true;
		atomic_dec(&pn->synacks);
	}
	atomic_dec(&path->synacks);
	return false;
}

/* A copy of a packet with its link-layer header, and room for that alone; NULL
 * without memory.
 */
static struct sk_buff *pep_synack_copy(const struct sk_buff *skb)
{
	struct sk_buff *copy = skb_copy_expand(skb, skb_headroom(skb), 0,
					       GFP_ATOMIC | __GFP_NOWARN);

	if (!copy)
		return NULL;
	/* As where a packet is redirected to the ingress of its device. */
	copy->dev = NULL;
	skb_dst_drop(copy);
	skb_reset_redirect(copy);
	copy->tstamp = 0;
	return copy;
}

/**
 * pep_synack_keep() - keep a SYN-ACK until its opener has acknowledged it
 * @pn: started instance
 * @conn: its connection in stage answered, opened by a subscriber; locked
 * @skb: the SYN-ACK, without payload
 *
 * Nothing is kept where the link is not known, where the opener itself repeats its SYN no
 * later, when the subscriber or the namespace has too many copies, and without
 * memory.
 *
 * Context: softirq, RCU read side.
 */
void pep_synack_keep(struct pep_net *pn, struct pep_conn *conn,
		     const struct sk_buff *skb)
{
	struct pep_path *path = conn->path;
	struct pep_synack *synack;
	u32 wait;

	wait = path ? pep_synack_wait(path) : 0;
	/* Pairs with synchronize_net() in pep_instance_stop(). */
	if (!wait || READ_ONCE(pn->stopping) || !pep_synack_count(pn, path))
		return;
	synack = kmalloc(sizeof(*synack), GFP_ATOMIC | __GFP_NOWARN);
	if (!synack)
		goto err_count;
	synack->skb = pep_synack_copy(skb);
	if (!synack->skb)
		goto err_synack;
	synack->pn = pn;
	refcount_inc(&path->ref);
	synack->path = path;
	synack->ifindex = skb->dev->ifindex;
	synack->seen = conn->end[!conn->opener].seen;
	refcount_inc(&conn->ref);
	synack->conn = conn;
	timer_setup(&synack->timer, pep_synack_timer, 0);
	mod_timer(&synack->timer, jiffies + usecs_to_jiffies(wait));
	return;

err_synack:
	kfree(synack);
err_count:
	atomic_dec(&pn->synacks);
	atomic_dec(&path->synacks);
}

/**
 * pep_synack_stop() - wait until the timers of a namespace have run out
 * @pn: instance that has been stopping for a grace period: none is kept any more
 *
 * Context: may sleep, for less than a second.
 */
void pep_synack_stop(struct pep_net *pn)
{
	wait_event(pn->idle, !atomic_read(&pn->synacks));
	/* The timer's function may still be returning. */
	synchronize_rcu();
}
