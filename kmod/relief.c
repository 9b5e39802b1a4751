// SPDX-License-Identifier: GPL-2.0
/*
 * Reclaim memory from subscribers that hold too much of it.
 *
 * A flow holds the memory of both legs' queues, as TCP counts it. Each run of the relay
 * notes it, so that an idle flow counts with its last value. When a subscriber seems to
 * hold more than a share, or is refused a flow as TCP is short of memory, a work item looks
 * at the flows again. It resets those that hold memory and have made no progress for
 * PEP_RELIEF_STALL: an end does not read. Flows that make progress are only bounded, see
 * window.c.
 *
 * When TCP is short of memory all windows shrink to a few segments, for all subscribers, so
 * the more a subscriber's flows hold then, the shorter that time is. Progress does not count
 * then: an end that acknowledges a byte a second would keep megabytes here. All payload that
 * a flow holds at one look has to be acknowledged in that time, though in no less than
 * PEP_RELIEF_STAY_LEAST. Copies of payload do not count either: they are no memory of TCP.
 */

#include "relief.h"

#include <net/tcp.h>

#include "flow.h"
#include "idle.h"
#include "path.h"
#include "share.h"

/* Time without progress after which a flow is reset whose subscriber holds too much. */
#define PEP_RELIEF_STALL	(30 * HZ)

/* The same when TCP is short of memory and the subscriber holds much. */
#define PEP_RELIEF_STALL_LEAST	HZ

/* The least time that payload may stay when TCP is short of memory. In a flow that is read
 * it stays for two or three round trips of the link and its queue: two seconds over a
 * satellite, and one more where segments get lost.
 */
#define PEP_RELIEF_STAY_LEAST	(5 * HZ)

/* When TCP is short of memory, subscribers that hold more than this part of the largest
 * holding pay, a divisor, and those that hold more than their share.
 */
#define PEP_RELIEF_PART		2

/* Subscribers that hold no more than this do not pay, bytes; no share is smaller. The
 * networks that one site has of IPv6 may be thousands of subscribers, so it is small.
 */
#define PEP_RELIEF_LEAST	(64 * 1024)

/* The largest holding whose flows have the whole of PEP_RELIEF_STALL, bytes. */
#define PEP_RELIEF_SMALL	(1024 * 1024)

/* Memory of a flow's queues, bytes. */
static u32 pep_relief_memory(const struct pep_flow *flow)
{
	u32 sum = 0;
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		const struct sock *sk = flow->leg[side].sk;

		sum += atomic_read(&sk->sk_rmem_alloc) + sk->sk_wmem_queued;
	}
	return sum;
}

/**
 * pep_relief_note() - note the memory that a flow holds
 * @flow: flow that is up, locked, with its legs locked
 *
 * Context: BH off.
 */
void pep_relief_note(struct pep_flow *flow)
{
	if (flow->path)
		pep_share_hold(flow->pn, flow->path, &flow->held,
			       pep_relief_memory(flow));
}

/* Payload for the end on a side that the flow holds, with what has come behind a gap, bytes.
 * FINs that have come in order do not count, nor does payload that a leg in TCP_CLOSE has
 * not sent: it is freed.
 */
static u32 pep_relief_payload(const struct pep_flow *flow, enum pep_side to)
{
	const struct tcp_sock *in = tcp_sk(flow->leg[!to].sk);
	const struct pep_leg *leg = &flow->leg[to];
	const struct tcp_sock *out = tcp_sk(leg->sk);
	u32 unread, unsent = out->write_seq - out->snd_una;
	u32 end = in->rcv_nxt;

	if (leg->sk->sk_state == TCP_CLOSE)
		return 0;
	if (!RB_EMPTY_ROOT(&in->out_of_order_queue))
		end = TCP_SKB_CB(in->ooo_last_skb)->end_seq;
	unread = end - in->copied_seq;
	if (unread && sock_flag(flow->leg[!to].sk, SOCK_DONE))
		unread--;
	if (unsent && leg->fin_sent)
		unsent--;
	return unread + unsent;
}

/* How long payload has been here at least, jiffies. Each look at which the payload of the
 * look before has gone begins anew; it is acknowledged in order, so other payload does not
 * count.
 */
static unsigned long pep_relief_stay(struct pep_flow *flow)
{
	unsigned long stay = 0;
	enum pep_side side;

	for (side = 0; side < 2; side++) {
		u64 acked = tcp_sk(flow->leg[side].sk)->bytes_acked;
		u32 payload = pep_relief_payload(flow, side);

		if (!payload || acked >= flow->due[side]) {
			flow->due[side] = acked + payload;
			flow->due_since[side] = jiffies;
		}
		/* TCP drops payload behind a gap when it needs memory. */
		flow->due[side] = min(flow->due[side], acked + payload);
		stay = max(stay, jiffies - flow->due_since[side]);
	}
	return stay;
}

/* Time without progress after which a flow is reset, jiffies, when its subscriber holds
 * @held bytes, which is too much.
 */
static unsigned long pep_relief_stall(u64 held, bool pressed)
{
	u64 stall = PEP_RELIEF_STALL;

	if (pressed && held > PEP_RELIEF_SMALL)
		stall = div64_u64(stall * PEP_RELIEF_SMALL, held);
	return max_t(u64, stall, PEP_RELIEF_STALL_LEAST);
}

/* Has a flow got nowhere for too long, while its subscriber holds @held bytes? */
static bool pep_relief_stuck(struct pep_flow *flow, u64 held, bool pressed)
{
	unsigned long stall = pep_relief_stall(held, pressed);
	unsigned long stay = pep_relief_stay(flow);

	if (pep_idle_time(flow) > stall)
		return true;
	return pressed && stay > max(stall, PEP_RELIEF_STAY_LEAST);
}

/* The memory that a subscriber may have to pay for, bytes. */
static u64 pep_relief_held(const struct pep_path *path, bool pressed)
{
	return pressed ? pep_share_queued(path) : pep_share_held(path);
}

/* Check a flow whose subscriber seems to hold more than @most bytes. Return: true when
 * the subscriber does, and the flow is up.
 */
static bool pep_relief_flow(struct pep_flow *flow, u64 most, bool pressed)
{
	bool over = false, owned;
	u64 held;

	spin_lock_bh(&flow->lock);
	if (flow->path && (flow->state == PEP_FLOW_STATE_ESTABLISHED ||
			   flow->state == PEP_FLOW_STATE_CLOSING)) {
		pep_flow_lock_legs(flow);
		owned = pep_flow_legs_owned(flow);
		if (!flow->evicted && !owned)
			pep_share_renew(&flow->path->held, &flow->held,
					pep_relief_memory(flow));
		held = pep_relief_held(flow->path, pressed);
		over = held > most;
		if (over && flow->held && !flow->evicted && !owned &&
		    pep_relief_stuck(flow, held, pressed)) {
			WRITE_ONCE(flow->evicted, true);
			/* Its memory counts no more, or other flows would end, too. */
			pep_share_hold(flow->pn, flow->path, &flow->held, 0);
			pep_flow_schedule(flow);
		}
		pep_flow_unlock_legs(flow);
	}
	spin_unlock_bh(&flow->lock);
	return over;
}

/* The largest holding of TCP's memory by a subscriber, bytes. */
static u64 pep_relief_top(struct pep_net *pn)
{
	struct pep_flow *flow;
	unsigned long id;
	u64 top = 0;

	rcu_read_lock();
	xa_for_each(&pn->flows, id, flow) {
		const struct pep_path *path = READ_ONCE(flow->path);

		if (path)
			top = max(top, pep_share_queued(path));
		pep_flow_walk_resched();
	}
	rcu_read_unlock();
	return top;
}

static void pep_relief_work(struct work_struct *work)
{
	struct pep_net *pn = container_of(to_delayed_work(work),
					  struct pep_net, relief);
	u64 most = READ_ONCE(pn->limits.subscriber_memory);
	bool pressed = READ_ONCE(tcp_memory_pressure);
	bool again = pressed;
	struct pep_flow *flow;
	unsigned long id;

	if (pressed)
		most = min(most, max(pep_relief_top(pn) / PEP_RELIEF_PART,
				     PEP_RELIEF_LEAST));
	rcu_read_lock();
	xa_for_each(&pn->flows, id, flow) {
		const struct pep_path *path = READ_ONCE(flow->path);

		if (path && pep_relief_held(path, pressed) > most)
			again |= pep_relief_flow(flow, most, pressed);
		pep_flow_walk_resched();
	}
	rcu_read_unlock();
	if (again)
		pep_share_relieve_again(pn, pressed);
}

/**
 * pep_relief_init() - prepare an instance
 * @pn: instance
 *
 * Context: may sleep.
 */
void pep_relief_init(struct pep_net *pn)
{
	INIT_DELAYED_WORK(&pn->relief, pep_relief_work);
}

/**
 * pep_relief_stop() - stop checking flows
 * @pn: instance that has no flows and gets none any more
 *
 * Context: may sleep.
 */
void pep_relief_stop(struct pep_net *pn)
{
	cancel_delayed_work_sync(&pn->relief);
}
