// SPDX-License-Identifier: GPL-2.0
/*
 * SYNs that belong to no socket: whether they open a flow, are sent again for
 * one that is being opened, or have to pass; and opening a truthful flow.
 */

#include "syn.h"

#include <linux/hash.h>
#include <linux/jhash.h>
#include <net/inet_timewait_sock.h>
#include <net/tcp.h>

#include "deliver.h"
#include "gen.h"
#include "handshake.h"
#include "limit.h"
#include "option.h"
#include "stamp.h"
#include "stat.h"
#include "trace.h"

/* How long a target may take to answer the opener's last SYN. */
#define PEP_SYN_PATIENCE	(10 * HZ)

/* What comes sooner than this after an opener's SYN is not it repeating. */
#define PEP_SYN_SPACING		(HZ / 2)

/* SYNs of an opener that the leg sends before they pass. */
#define PEP_SYN_REPEATS		3

/* Locks that serialise SYNs, the power of two. */
#define PEP_SYN_BITS	6
#define PEP_SYN_LOCKS	BIT(PEP_SYN_BITS)

/**
 * enum pep_syn_kind - what a SYN without an opener's socket is
 * @PEP_SYN_NEW: opens a connection
 * @PEP_SYN_DUPLICATE: is sent again, its flow is waiting for the target
 * @PEP_SYN_LATE: is sent again, its flow waits for it: to the listener
 * @PEP_SYN_UNANSWERED: is sent again in vain, its flow has been given up
 * @PEP_SYN_CROSSING: is for a leg that came to be a moment ago
 * @PEP_SYN_FOREIGN: the tuple is in use by another socket of this host
 * @PEP_SYN_TAKEN: has opened a flow
 * @PEP_SYN_PASS: must pass for a reason that has been counted
 */
enum pep_syn_kind {
	PEP_SYN_NEW,
	PEP_SYN_DUPLICATE,
	PEP_SYN_LATE,
	PEP_SYN_UNANSWERED,
	PEP_SYN_CROSSING,
	PEP_SYN_FOREIGN,
	PEP_SYN_TAKEN,
	PEP_SYN_PASS,
};

/*
 * Serialises the SYNs of a connection, of both directions: when two ends open
 * towards each other, the leg that speaks for the first must be there before
 * the second is judged, or two flows would answer for one connection.
 */
static spinlock_t pep_syn_locks[PEP_SYN_LOCKS] = {
	[0 ... PEP_SYN_LOCKS - 1] =
		__SPIN_LOCK_UNLOCKED(pep_syn_locks),
};

/**
 * pep_syn_count() - count what becomes of a SYN
 * @pn: instance
 * @opener: side that it came from, enum pep_side
 * @tuple: its ends
 * @counter: PEP_A_STAT_SYN_*
 *
 * Context: any.
 */
void pep_syn_count(const struct pep_net *pn, unsigned int opener,
		   const struct pep_tuple *tuple, unsigned int counter)
{
	pep_stat_inc(pn, counter);
	if (trace_pep_syn_enabled())
		trace_pep_syn(pn, tuple, opener, pep_stat_name(counter));
}

static spinlock_t *pep_syn_lock(const struct pep_tuple *tuple)
{
	u32 src = jhash2((const u32 *)&tuple->src, sizeof(tuple->src) / 4,
			 (__force u32)tuple->sport);
	u32 dst = jhash2((const u32 *)&tuple->dst, sizeof(tuple->dst) / 4,
			 (__force u32)tuple->dport);

	return &pep_syn_locks[hash_32(src ^ dst, PEP_SYN_BITS)];
}

/* Give the target some more time to answer the opener's last SYN. */
static void pep_syn_patience(struct pep_flow *flow)
{
	flow->deadline = jiffies + PEP_SYN_PATIENCE;
	pep_flow_wake_in(flow, PEP_SYN_PATIENCE);
}

/*
 * The opener has sent its SYN again: so does the leg, which sends no SYN by
 * itself, so that the target never gets more of them than the opener has sent.
 * After a few the target may answer the opener better than the leg.
 */
static enum pep_syn_kind pep_syn_repeat(struct pep_flow *flow,
					struct sock *sk)
{
	enum pep_syn_kind kind = PEP_SYN_DUPLICATE;

	/* A copy that the network made, or the leg's own that came back. */
	if (time_before(jiffies, flow->deadline - PEP_SYN_PATIENCE +
			PEP_SYN_SPACING))
		return kind;
	pep_flow_lock_legs(flow);
	if (sock_owned_by_user(sk))
		goto out;
	if (flow->syns < PEP_SYN_REPEATS) {
		flow->syns++;
		pep_syn_patience(flow);
		pep_leg_repeat(sk);
	} else {
		pep_flow_end(flow, PEP_A_STAT_CONNECT_TIMEOUT);
		kind = PEP_SYN_UNANSWERED;
	}
out:
	pep_flow_unlock_legs(flow);
	return kind;
}

/* Judge a SYN by the flow whose target leg has its addresses. */
static enum pep_syn_kind pep_syn_judge(struct pep_flow *flow,
				       struct sock *sk, u32 isn)
{
	if (flow->state == PEP_FLOW_STATE_DEAD)
		return PEP_SYN_NEW;
	/* A flow that was opened in the other direction. */
	if (pep_flow_target(flow)->sk != sk)
		return PEP_SYN_FOREIGN;
	if (flow->isn == isn && flow->mode == PEP_CONNECT_MODE_TRUTHFUL) {
		if (flow->state == PEP_FLOW_STATE_CONNECTING)
			return pep_syn_repeat(flow, sk);
		if (flow->state == PEP_FLOW_STATE_ANSWERED)
			return PEP_SYN_LATE;
	}
	/* The opener is done with the old connection, the target is not yet:
	 * what is under way to it gets there first. Without the proxy, the
	 * opener could not have been done.
	 */
	if (flow->state >= PEP_FLOW_STATE_ESTABLISHED &&
	    !pep_leg_failed(pep_flow_opener(flow)->sk))
		return PEP_SYN_DUPLICATE;
	/* The opener has forgotten the old connection: so do we. */
	return pep_handshake_give_up(flow, PEP_A_STAT_FLOW_RESET) ?
	       PEP_SYN_NEW : PEP_SYN_DUPLICATE;
}

/*
 * What a SYN that is for no leg is; *gen becomes that of its flow for one that
 * is late: with another profile meanwhile, only that listener's children find
 * the flow. It stays for as long as the RCU read side.
 */
static enum pep_syn_kind pep_syn_classify(struct net *net, int bound,
					  const struct pep_packet *pkt,
					  struct pep_gen **gen)
{
	enum pep_syn_kind kind = PEP_SYN_FOREIGN;
	struct pep_tuple reverse;
	struct pep_flow *flow;
	struct sock *sk;

	pep_tuple_reverse(&reverse, &pkt->tuple);
	sk = pep_tuple_lookup(net, &reverse, bound);
	if (!sk)
		return PEP_SYN_NEW;
	if (sk->sk_state == TCP_TIME_WAIT && inet_twsk(sk)->tw_transparent) {
		kind = PEP_SYN_NEW;
	} else if (sk_fullsock(sk) && pep_leg_owns(sk)) {
		kind = PEP_SYN_DUPLICATE;
		flow = pep_handshake_flow(sk);
		if (flow) {
			spin_lock(&flow->lock);
			kind = pep_syn_judge(flow, sk,
					     ntohl(pkt->th->seq));
			spin_unlock(&flow->lock);
			if (kind == PEP_SYN_LATE)
				*gen = flow->gen;
			pep_flow_put(flow);
		}
	}
	sock_gen_put(sk);
	return kind;
}

/* The leg that a SYN is for, with a reference, when it was not there yet when
 * the packet was looked up.
 */
static struct sock *pep_syn_crossing(struct net *net,
				     const struct sk_buff *skb,
				     const struct pep_packet *pkt)
{
	struct sock *sk;

	sk = pep_tuple_lookup_dev(net, &pkt->tuple, skb->dev);
	if (!sk || (sk_fullsock(sk) && pep_leg_owns(sk)))
		return sk;
	sock_gen_put(sk);
	return NULL;
}

/* Let a SYN wait for a socket; false when it has to pass. */
static bool pep_syn_wait(struct pep_gen *gen, unsigned int opener,
			 struct sk_buff *skb, const struct pep_packet *pkt)
{
	struct pep_pool *pool = this_cpu_ptr(gen->pools);
	struct pep_net *pn = gen->pn;

	if (!pep_pool_may_wait(pool)) {
		pep_syn_count(pn, opener, &pkt->tuple,
			      PEP_A_STAT_SYN_PASS_NO_SOCKET);
		return false;
	}
	skb = pep_deliver_hold(skb);
	if (!skb) {
		pep_stat_inc(pn, PEP_A_STAT_DROPPED);
		return true;
	}
	PEP_HELD_CB(skb)->opener = opener;
	pep_pool_wait(pool, skb);
	pep_syn_count(pn, opener, &pkt->tuple, PEP_A_STAT_SYN_WAIT_SOCKET);
	return true;
}

/* Keep the SYN of a flow whose target leg is connecting; consumed. */
static void pep_syn_keep(struct pep_flow *flow, struct sk_buff *skb)
{
	flow->syn = pep_deliver_hold(skb);
	if (flow->syn) {
		pep_syn_count(flow->pn, flow->opener, &flow->tuple,
			      PEP_A_STAT_SYN_SPLIT);
		pep_stat_inc(flow->pn, PEP_A_STAT_HELD);
		flow->syns = 1;
		pep_syn_patience(flow);
	} else {
		pep_stat_inc(flow->pn, PEP_A_STAT_DROPPED);
		pep_flow_end(flow, PEP_A_STAT_CONNECT_FAILED);
	}
}

/* Connect the target leg of a truthful flow; false when the SYN must pass. */
static bool pep_syn_open(struct pep_gen *gen, unsigned int opener,
			 struct sk_buff *skb,
			 const struct pep_packet *pkt)
{
	struct pep_net *pn = gen->pn;
	struct pep_options options;
	struct pep_flow *flow;
	struct pep_sock *ps;
	int err;

	ps = pep_pool_take(this_cpu_ptr(gen->pools),
			   pep_pool_connector(!opener, pkt->tuple.family));
	if (!ps)
		return pep_syn_wait(gen, opener, skb, pkt);
	flow = pep_flow_create(gen, opener, &pkt->tuple, skb->dev->ifindex,
			       ktime_get_ns());
	if (!flow) {
		pep_pool_release(ps);
		pep_syn_count(pn, opener, &pkt->tuple,
			      PEP_A_STAT_SYN_PASS_NO_MEMORY);
		return false;
	}

	pep_option_scan((const u8 *)(pkt->th + 1), pkt->options, &options);
	/* The answer may come on another CPU: it waits for the lock. */
	spin_lock(&flow->lock);
	if (flow->state == PEP_FLOW_STATE_DEAD) {
		spin_unlock(&flow->lock);
		pep_flow_put(flow);
		pep_pool_release(ps);
		pep_syn_count(pn, opener, &pkt->tuple,
			      PEP_A_STAT_SYN_PASS_STOPPING);
		return false;
	}
	flow->isn = ntohl(pkt->th->seq);
	pep_flow_set_leg(flow, !opener, ps->sock->sk, ps);
	pep_flow_lock_legs(flow);
	pep_leg_attach(flow, ps->sock->sk);
	WRITE_ONCE(ps->sock->sk->sk_bound_dev_if,
		   pep_gen_bound(gen, !opener, skb->dev->ifindex));
	pep_handshake_copy_dscp(flow, ps->sock->sk, pep_packet_dsfield(skb));
	err = pep_leg_connect(ps->sock->sk, &flow->tuple, flow->isn,
			      options.has_ts ? &options.tsval : NULL);
	if (err) {
		pep_flow_end(flow, PEP_A_STAT_CONNECT_FAILED);
		pep_syn_count(pn, opener, &pkt->tuple,
			      PEP_A_STAT_SYN_PASS_CONNECT);
	} else {
		pep_stamp(flow, PEP_FLOW_TIME_SYN_OUT);
		pep_leg_pause(ps->sock->sk);
		pep_syn_keep(flow, skb);
	}
	pep_flow_unlock_legs(flow);
	spin_unlock(&flow->lock);
	pep_flow_put(flow);
	return !err;
}

/* Counter of a reason against opening a flow now, 0 for none. */
static unsigned int pep_syn_against(const struct pep_gen *gen,
				    const struct pep_packet *pkt)
{
	struct pep_net *pn = gen->pn;
	unsigned int reason;

	if (pep_memo_find(&pn->passed, &pkt->tuple))
		return PEP_A_STAT_SYN_PASS_REMEMBERED;
	if (pep_bypass_find(&pn->bypass, &pkt->tuple))
		return PEP_A_STAT_SYN_PASS_BYPASS;
	reason = pep_limit_check(gen);
	if (reason)
		pep_limit_refused(pn, reason);
	return reason;
}

/*
 * Judge a SYN and open its flow when it opens a truthful one, with the lock of
 * the connection's SYNs held. *leg is set, with a reference, for a crossing;
 * *gen is the profile's, and becomes that of whom the SYN is to be offered to.
 */
static enum pep_syn_kind pep_syn_begin(struct pep_gen **gen,
				       unsigned int opener,
				       struct sk_buff *skb,
				       const struct pep_packet *pkt,
				       struct sock **leg)
{
	struct pep_net *pn = (*gen)->pn;
	enum pep_syn_kind kind;
	unsigned int reason;
	int bound;

	*leg = pep_syn_crossing(pn->net, skb, pkt);
	if (*leg)
		return PEP_SYN_CROSSING;
	bound = pep_gen_bound(*gen, !opener, skb->dev->ifindex);
	kind = pep_syn_classify(pn->net, bound, pkt, gen);
	if (kind != PEP_SYN_NEW)
		return kind;
	reason = pep_syn_against(*gen, pkt);
	if (reason) {
		pep_syn_count(pn, opener, &pkt->tuple, reason);
		return PEP_SYN_PASS;
	}
	if ((*gen)->values.mode != PEP_CONNECT_MODE_TRUTHFUL)
		return PEP_SYN_NEW;
	return pep_syn_open(*gen, opener, skb, pkt) ? PEP_SYN_TAKEN :
						      PEP_SYN_PASS;
}

/* Do with a SYN what its kind asks for; true when it was consumed. */
static bool pep_syn_follow(struct pep_gen *gen, unsigned int opener,
			   struct sk_buff *skb,
			   const struct pep_packet *pkt,
			   enum pep_syn_kind kind, struct sock *leg)
{
	struct pep_net *pn = gen->pn;

	switch (kind) {
	case PEP_SYN_TAKEN:
		return true;
	case PEP_SYN_PASS:
		return false;
	case PEP_SYN_FOREIGN:
		pep_syn_count(pn, opener, &pkt->tuple,
			      PEP_A_STAT_SYN_PASS_IN_USE);
		return false;
	case PEP_SYN_UNANSWERED:
		pep_memo_add(&pn->passed, &pkt->tuple);
		pep_bypass_add(&pn->bypass, &pkt->tuple,
			       PEP_BYPASS_REASON_UNANSWERED);
		pep_syn_count(pn, opener, &pkt->tuple,
			      PEP_A_STAT_SYN_PASS_UNANSWERED);
		return false;
	case PEP_SYN_CROSSING:
		pep_deliver_local(pn, skb, leg);
		return true;
	case PEP_SYN_DUPLICATE:
		pep_syn_count(pn, opener, &pkt->tuple,
			      PEP_A_STAT_SYN_DUPLICATE);
		pep_stat_inc(pn, PEP_A_STAT_HELD);
		kfree_skb(skb);
		return true;
	case PEP_SYN_LATE:
		pep_syn_count(pn, opener, &pkt->tuple,
			      PEP_A_STAT_SYN_DUPLICATE);
		break;
	case PEP_SYN_NEW:
		pep_syn_count(pn, opener, &pkt->tuple, PEP_A_STAT_SYN_SPLIT);
		break;
	}
	pep_handshake_offer(gen, opener, skb);
	return true;
}

/**
 * pep_syn_take() - take a SYN that belongs to no opener's socket
 * @gen: generation of the profile that is to split it
 * @opener: side that it came from, enum pep_side
 * @skb: SYN
 * @pkt: parsed @skb
 *
 * Context: softirq, RCU read side.
 * Return: true when the SYN was consumed, false when it has to pass; the
 * reason is counted then.
 */
bool pep_syn_take(struct pep_gen *gen, unsigned int opener,
		  struct sk_buff *skb, const struct pep_packet *pkt)
{
	spinlock_t *lock = pep_syn_lock(&pkt->tuple);
	struct pep_net *pn = gen->pn;
	const struct sock *listener;
	enum pep_syn_kind kind;
	struct sock *leg;

	if (READ_ONCE(pn->stopping)) {
		pep_syn_count(pn, opener, &pkt->tuple,
			      PEP_A_STAT_SYN_PASS_STOPPING);
		return false;
	}
	/* One that was destroyed with ss -K takes nothing any more. */
	listener = rcu_dereference(pep_gen_listener(gen, pkt->tuple.family,
						    opener)->sk);
	if (!listener || inet_sk_state_load(listener) != TCP_LISTEN) {
		pep_syn_count(pn, opener, &pkt->tuple,
			      PEP_A_STAT_SYN_PASS_NO_LISTENER);
		return false;
	}
	spin_lock(lock);
	kind = pep_syn_begin(&gen, opener, skb, pkt, &leg);
	spin_unlock(lock);
	return pep_syn_follow(gen, opener, skb, pkt, kind, leg);
}

/**
 * pep_syn_resume() - go on with a SYN that waited for a socket
 * @gen: generation whose pool has been refilled
 * @skb: held SYN; consumed
 *
 * Context: BH off, RCU read side.
 */
void pep_syn_resume(struct pep_gen *gen, struct sk_buff *skb)
{
	unsigned int opener = PEP_HELD_CB(skb)->opener;
	struct pep_packet pkt;

	if (!pep_deliver_unhold(gen->pn, skb))
		return;
	if (pep_packet_parse(skb, &pkt) == PEP_PACKET_TCP) {
		if (pep_syn_take(gen, opener, skb, &pkt))
			return;
		/* Its repetition must not be split while the answer to this
		 * one is under way.
		 */
		pep_memo_add(&gen->pn->passed, &pkt.tuple);
	}
	pep_stat_inc(gen->pn, PEP_A_STAT_SYN_RELEASED);
	pep_deliver_pass(skb);
}
