/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints, the events of the system "pep".
 *
 * Fields that several events have:
 * netns	cookie of the network namespace, as SO_NETNS_COOKIE gives it
 * flow		number of the flow in that namespace, as pepadm shows it
 * side		enum pep_side of the event: the side that a packet came from, or
 *		that of the leg that payload goes to
 * saddr, daddr	ends of the connection in the direction of the opener's SYN,
 *		struct sockaddr_in or struct sockaddr_in6; they follow fields of
 *		8 and 4 bytes, which aligns them
 * Times are in ns unless the name has us. An outcome that a counter of the
 * instance counts has the counter's name, as pepadm stat shows it.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pep

#if !defined(_PEP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _PEP_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>
#include <uapi/linux/pep.h>

#include "stat-gen.h"

struct pep_conn;
struct pep_flow;
struct pep_net;
struct pep_tuple;

TRACE_DEFINE_ENUM(PEP_SIDE_WIRELESS);
TRACE_DEFINE_ENUM(PEP_SIDE_SERVER);
TRACE_DEFINE_ENUM(PEP_CONNECT_MODE_EARLY);
TRACE_DEFINE_ENUM(PEP_CONNECT_MODE_FOLLOW);
TRACE_DEFINE_ENUM(PEP_FLOW_STATE_CONNECTING);
TRACE_DEFINE_ENUM(PEP_FLOW_STATE_ESTABLISHED);
TRACE_DEFINE_ENUM(PEP_FLOW_STATE_CLOSING);
TRACE_DEFINE_ENUM(PEP_FLOW_STATE_DEAD);

TRACE_DEFINE_ENUM(PEP_RESUME_PHASE_NORMAL);
TRACE_DEFINE_ENUM(PEP_RESUME_PHASE_RECONNAISSANCE);
TRACE_DEFINE_ENUM(PEP_RESUME_PHASE_UNVALIDATED);
TRACE_DEFINE_ENUM(PEP_RESUME_PHASE_VALIDATING);
TRACE_DEFINE_ENUM(PEP_RESUME_PHASE_RETREAT);

TRACE_DEFINE_ENUM(PEP_TRACK_OPENING);
TRACE_DEFINE_ENUM(PEP_TRACK_ANSWERED);
TRACE_DEFINE_ENUM(PEP_TRACK_FOLLOWED);
TRACE_DEFINE_ENUM(PEP_TRACK_CLOSING);
TRACE_DEFINE_ENUM(PEP_TRACK_SPLIT);
TRACE_DEFINE_ENUM(PEP_TRACK_RELEASING);
TRACE_DEFINE_ENUM(PEP_TRACK_GONE);

#define pep_show_side(side)						\
	__print_symbolic(side,						\
			 { PEP_SIDE_WIRELESS, "wireless" },		\
			 { PEP_SIDE_SERVER, "server" })

#define pep_show_mode(mode)						\
	__print_symbolic(mode,						\
			 { PEP_CONNECT_MODE_EARLY, "early" },		\
			 { PEP_CONNECT_MODE_FOLLOW, "follow" })

#define pep_show_state(state)						\
	__print_symbolic(state,						\
			 { PEP_FLOW_STATE_CONNECTING, "connecting" },	\
			 { PEP_FLOW_STATE_ESTABLISHED, "established" },	\
			 { PEP_FLOW_STATE_CLOSING, "closing" },		\
			 { PEP_FLOW_STATE_DEAD, "dead" })

#define pep_show_stage(stage)						\
	__print_symbolic(stage,						\
			 { PEP_TRACK_OPENING, "opening" },		\
			 { PEP_TRACK_ANSWERED, "answered" },		\
			 { PEP_TRACK_FOLLOWED, "followed" },		\
			 { PEP_TRACK_CLOSING, "closing" },		\
			 { PEP_TRACK_SPLIT, "split" },			\
			 { PEP_TRACK_RELEASING, "releasing" },		\
			 { PEP_TRACK_GONE, "gone" })

#define pep_show_phase(phase)						\
	__print_symbolic(phase,						\
			 { PEP_RESUME_PHASE_NORMAL, "normal" },		\
			 { PEP_RESUME_PHASE_RECONNAISSANCE,		\
			   "reconnaissance" },				\
			 { PEP_RESUME_PHASE_UNVALIDATED, "unvalidated" },	\
			 { PEP_RESUME_PHASE_VALIDATING, "validating" },	\
			 { PEP_RESUME_PHASE_RETREAT, "retreat" })

/*
 * A packet came by a device: "taken", or the counter of the reason why it passes.
 * The last fragment of a packet has the verdict on the whole.
 */
TRACE_EVENT(pep_steer,

	TP_PROTO(const struct pep_net *pn, int ifindex, unsigned int len,
		 enum pep_side side, enum pep_stat counter),

	TP_ARGS(pn, ifindex, len, side, counter),

	TP_STRUCT__entry(
		__field(u64, netns)
		__field(int, ifindex)
		__field(u32, len)
		__field(u8, side)
		__string(verdict, counter ? pep_name_stat(counter) : "taken")
	),

	TP_fast_assign(
		__entry->netns = pn->net->net_cookie;
		__entry->ifindex = ifindex;
		__entry->len = len;
		__entry->side = side;
		__assign_str(verdict);
	),

	TP_printk("netns=%llu ifindex=%d side=%s len=%u verdict=%s",
		  __entry->netns, __entry->ifindex,
		  pep_show_side(__entry->side), __entry->len,
		  __get_str(verdict))
);

/* The outcome for a connection without a flow; the side is that of its opener. */
DECLARE_EVENT_CLASS(pep_opening,

	TP_PROTO(const struct pep_net *pn, const struct pep_tuple *tuple,
		 enum pep_side side, const char *result),

	TP_ARGS(pn, tuple, side, result),

	TP_STRUCT__entry(
		__field(u64, netns)
		__array(u8, saddr, sizeof(struct sockaddr_in6))
		__array(u8, daddr, sizeof(struct sockaddr_in6))
		__field(u16, dport)
		__field(u8, side)
		__string(result, result)
	),

	TP_fast_assign(
		__entry->netns = pn->net->net_cookie;
		__entry->dport = ntohs(tuple->dport);
		__entry->side = side;
		pep_trace_addr(__entry->saddr, tuple->family, &tuple->src,
			       tuple->sport);
		pep_trace_addr(__entry->daddr, tuple->family, &tuple->dst,
			       tuple->dport);
		__assign_str(result);
	),

	TP_printk("netns=%llu side=%s src=%pISpc dst=%pISpc result=%s",
		  __entry->netns, pep_show_side(__entry->side),
		  __entry->saddr, __entry->daddr, __get_str(result))
);

/* A SYN that has no socket: the counter of its outcome. */
DEFINE_EVENT(pep_opening, pep_syn,
	TP_PROTO(const struct pep_net *pn, const struct pep_tuple *tuple,
		 enum pep_side side, const char *result),
	TP_ARGS(pn, tuple, side, result)
);

/*
 * A connection is not split: the counter of the reason, split_pass_; of an opener that is
 * not answered early split_pass_max_pending.
 */
DEFINE_EVENT(pep_opening, pep_unsplit,
	TP_PROTO(const struct pep_net *pn, const struct pep_tuple *tuple,
		 enum pep_side side, const char *result),
	TP_ARGS(pn, tuple, side, result)
);

/*
 * A listener has accepted a connection from a side: "accepted" for the flow that
 * waits for it, or "refused".
 */
DEFINE_EVENT(pep_opening, pep_accept,
	TP_PROTO(const struct pep_net *pn, const struct pep_tuple *tuple,
		 enum pep_side side, const char *result),
	TP_ARGS(pn, tuple, side, result)
);

/*
 * The target has answered a flow, "answered", or never will, the counter of the
 * reason. The latency is counted from the opener's SYN.
 */
TRACE_EVENT(pep_connect,

	TP_PROTO(const struct pep_flow *flow, enum pep_stat counter),

	TP_ARGS(flow, counter),

	TP_STRUCT__entry(
		__field(u64, netns)
		__field(u64, latency_ns)
		__field(u32, flow)
		__array(u8, saddr, sizeof(struct sockaddr_in6))
		__array(u8, daddr, sizeof(struct sockaddr_in6))
		__field(u8, side)
		__field(u8, mode)
		__string(result, counter ? pep_name_stat(counter) : "answered")
	),

	TP_fast_assign(
		__entry->netns = flow->pn->net->net_cookie;
		__entry->latency_ns = ktime_get_ns() - flow->born;
		__entry->flow = flow->id;
		__entry->side = !flow->opener;
		__entry->mode = flow->mode;
		pep_trace_addr(__entry->saddr, flow->tuple.family,
			       &flow->tuple.src, flow->tuple.sport);
		pep_trace_addr(__entry->daddr, flow->tuple.family,
			       &flow->tuple.dst, flow->tuple.dport);
		__assign_str(result);
	),

	TP_printk("netns=%llu flow=%u side=%s mode=%s src=%pISpc dst=%pISpc result=%s latency_ns=%llu",
		  __entry->netns, __entry->flow, pep_show_side(__entry->side),
		  pep_show_mode(__entry->mode), __entry->saddr, __entry->daddr,
		  __get_str(result), __entry->latency_ns)
);

/* A flow changes its state, or passes on the end of its second direction. */
TRACE_EVENT(pep_state,

	TP_PROTO(const struct pep_flow *flow, unsigned int next),

	TP_ARGS(flow, next),

	TP_STRUCT__entry(
		__field(u64, netns)
		__field(u32, flow)
		__field(u8, old)
		__field(u8, new)
	),

	TP_fast_assign(
		__entry->netns = flow->pn->net->net_cookie;
		__entry->flow = flow->id;
		__entry->old = flow->state;
		__entry->new = next;
	),

	TP_printk("netns=%llu flow=%u %s -> %s",
		  __entry->netns, __entry->flow, pep_show_state(__entry->old),
		  pep_show_state(__entry->new))
);

/* A connection that is followed enters another stage; "gone" is its end. */
TRACE_EVENT(pep_stage,

	TP_PROTO(const struct pep_net *pn, const struct pep_conn *conn,
		 unsigned int next),

	TP_ARGS(pn, conn, next),

	TP_STRUCT__entry(
		__field(u64, netns)
		__array(u8, saddr, sizeof(struct sockaddr_in6))
		__array(u8, daddr, sizeof(struct sockaddr_in6))
		__field(u8, old)
		__field(u8, new)
	),

	TP_fast_assign(
		__entry->netns = pn->net->net_cookie;
		pep_trace_addr(__entry->saddr, conn->tuple.family,
			       &conn->tuple.src, conn->tuple.sport);
		pep_trace_addr(__entry->daddr, conn->tuple.family,
			       &conn->tuple.dst, conn->tuple.dport);
		__entry->old = conn->stage;
		__entry->new = next;
	),

	TP_printk("netns=%llu src=%pISpc dst=%pISpc %s -> %s",
		  __entry->netns, __entry->saddr, __entry->daddr,
		  pep_show_stage(__entry->old), pep_show_stage(__entry->new))
);

DECLARE_EVENT_CLASS(pep_backpressure,

	TP_PROTO(const struct pep_flow *flow, enum pep_side side),

	TP_ARGS(flow, side),

	TP_STRUCT__entry(
		__field(u64, netns)
		__field(u32, flow)
		__field(u32, unread)
		__field(u32, unsent)
		__field(u8, side)
	),

	TP_fast_assign(
		const struct tcp_sock *in = tcp_sk(flow->leg[!side].sk);
		const struct tcp_sock *out = tcp_sk(flow->leg[side].sk);

		__entry->netns = flow->pn->net->net_cookie;
		__entry->flow = flow->id;
		__entry->unread = in->rcv_nxt - in->copied_seq;
		__entry->unsent = out->write_seq - out->snd_nxt;
		__entry->side = side;
	),

	TP_printk("netns=%llu flow=%u side=%s unread=%u unsent=%u",
		  __entry->netns, __entry->flow, pep_show_side(__entry->side),
		  __entry->unread, __entry->unsent)
);

/* A leg can take no more: payload waits in the other one. Bytes. */
DEFINE_EVENT(pep_backpressure, pep_stall,
	TP_PROTO(const struct pep_flow *flow, enum pep_side side),
	TP_ARGS(flow, side)
);

/* The leg can take payload again. */
DEFINE_EVENT(pep_backpressure, pep_resume,
	TP_PROTO(const struct pep_flow *flow, enum pep_side side),
	TP_ARGS(flow, side)
);

/*
 * The leg of a subscriber, which begins with the known properties of the link,
 * RFC 9959, enters another phase. Rate in bytes per second; bytes that the
 * subscriber's legs may have in flight, and that the others have; the leg's
 * window, segments.
 */
TRACE_EVENT(pep_careful,

	TP_PROTO(const struct pep_flow *flow, unsigned int phase),

	TP_ARGS(flow, phase),

	TP_STRUCT__entry(
		__field(u64, netns)
		__field(u64, rate)
		__field(u32, flow)
		__field(u32, budget)
		__field(u32, others)
		__field(u32, cwnd)
		__field(u8, old)
		__field(u8, new)
	),

	TP_fast_assign(
		const struct pep_resume *r = &flow->resume;

		__entry->netns = flow->pn->net->net_cookie;
		__entry->rate = r->rate;
		__entry->flow = flow->id;
		__entry->budget = r->budget;
		__entry->others = max(atomic_read(&flow->link.path->claimed) -
				      (int)flow->link.claim.bytes, 0);
		__entry->cwnd = pep_trace_cwnd(&flow->leg[PEP_SIDE_WIRELESS]);
		__entry->old = r->phase;
		__entry->new = phase;
	),

	TP_printk("netns=%llu flow=%u %s -> %s rate=%llu budget=%u others=%u cwnd=%u",
		  __entry->netns, __entry->flow,
		  pep_show_phase(__entry->old), pep_show_phase(__entry->new),
		  __entry->rate, __entry->budget, __entry->others,
		  __entry->cwnd)
);

/*
 * A leg was offered bytes in a number of page fragments, of which some bytes had been
 * copied, and took some; an error is negative.
 */
TRACE_EVENT(pep_relay,

	TP_PROTO(const struct pep_flow *flow, enum pep_side side, u32 offered,
		 unsigned int fragments, u32 copied, int taken),

	TP_ARGS(flow, side, offered, fragments, copied, taken),

	TP_STRUCT__entry(
		__field(u64, netns)
		__field(u32, flow)
		__field(u32, offered)
		__field(u32, fragments)
		__field(u32, copied)
		__field(int, taken)
		__field(u8, side)
	),

	TP_fast_assign(
		__entry->netns = flow->pn->net->net_cookie;
		__entry->flow = flow->id;
		__entry->offered = offered;
		__entry->fragments = fragments;
		__entry->copied = copied;
		__entry->taken = taken;
		__entry->side = side;
	),

	TP_printk("netns=%llu flow=%u side=%s offered=%u fragments=%u copied=%u taken=%d",
		  __entry->netns, __entry->flow, pep_show_side(__entry->side),
		  __entry->offered, __entry->fragments, __entry->copied,
		  __entry->taken)
);

/* A sample of the time that payload has stayed on its way to a leg. */
TRACE_EVENT(pep_residence,

	TP_PROTO(const struct pep_flow *flow, enum pep_side side, u64 ns),

	TP_ARGS(flow, side, ns),

	TP_STRUCT__entry(
		__field(u64, netns)
		__field(u64, ns)
		__field(u32, flow)
		__field(u8, side)
	),

	TP_fast_assign(
		__entry->netns = flow->pn->net->net_cookie;
		__entry->ns = ns;
		__entry->flow = flow->id;
		__entry->side = side;
	),

	TP_printk("netns=%llu flow=%u side=%s ns=%llu",
		  __entry->netns, __entry->flow, pep_show_side(__entry->side),
		  __entry->ns)
);

/*
 * A flow ends: the counter of the cause, bytes to each leg and how many of
 * both were copied, each leg's round trip time and segments sent again.
 */
TRACE_EVENT(pep_close,

	TP_PROTO(const struct pep_flow *flow, enum pep_stat counter),

	TP_ARGS(flow, counter),

	TP_STRUCT__entry(
		__field(u64, netns)
		__field(u64, age_ns)
		__field(u64, bytes_to_wireless)
		__field(u64, bytes_to_server)
		__field(u64, bytes_copied)
		__field(u32, flow)
		__field(u32, wireless_srtt_us)
		__field(u32, server_srtt_us)
		__field(u32, wireless_retrans)
		__field(u32, server_retrans)
		__array(u8, saddr, sizeof(struct sockaddr_in6))
		__array(u8, daddr, sizeof(struct sockaddr_in6))
		__field(u8, mode)
		__string(cause, pep_name_stat(counter))
	),

	TP_fast_assign(
		const struct pep_leg *w = &flow->leg[PEP_SIDE_WIRELESS];
		const struct pep_leg *s = &flow->leg[PEP_SIDE_SERVER];

		__entry->netns = flow->pn->net->net_cookie;
		__entry->age_ns = ktime_get_ns() - flow->born;
		__entry->bytes_to_wireless = w->relayed;
		__entry->bytes_to_server = s->relayed;
		__entry->bytes_copied = flow->copied;
		__entry->flow = flow->id;
		__entry->wireless_srtt_us = pep_trace_srtt(w);
		__entry->server_srtt_us = pep_trace_srtt(s);
		__entry->wireless_retrans = pep_trace_retrans(w);
		__entry->server_retrans = pep_trace_retrans(s);
		__entry->mode = flow->mode;
		pep_trace_addr(__entry->saddr, flow->tuple.family,
			       &flow->tuple.src, flow->tuple.sport);
		pep_trace_addr(__entry->daddr, flow->tuple.family,
			       &flow->tuple.dst, flow->tuple.dport);
		__assign_str(cause);
	),

	TP_printk("netns=%llu flow=%u mode=%s src=%pISpc dst=%pISpc cause=%s age_ns=%llu bytes_to_wireless=%llu bytes_to_server=%llu bytes_copied=%llu srtt_us=%u/%u retrans=%u/%u",
		  __entry->netns, __entry->flow, pep_show_mode(__entry->mode),
		  __entry->saddr, __entry->daddr, __get_str(cause),
		  __entry->age_ns, __entry->bytes_to_wireless,
		  __entry->bytes_to_server, __entry->bytes_copied,
		  __entry->wireless_srtt_us, __entry->server_srtt_us,
		  __entry->wireless_retrans, __entry->server_retrans)
);

#endif

/* Found from the folder above, which is in the compiler's include path. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH kmod
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
