/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that pep is built for, 6.12 to 7.3. The
 * only place that looks at the kernel's version.
 */
#ifndef _PEP_COMPAT_H
#define _PEP_COMPAT_H

#include <linux/kcsan-checks.h>
#include <linux/rhashtable.h>
#include <linux/version.h>
#include <net/act_api.h>
#include <net/if_inet6.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ip.h>
#include <net/route.h>
#include <net/tcp.h>

/*
 * Before 6.18 the lookups took the hash tables, which are per namespace. Both
 * return a socket with a reference or NULL, under RCU; ports are in the byte
 * order of the kernel's functions.
 */
static inline struct sock *
pep_compat_lookup4(struct net *net, __be32 saddr, __be16 sport, __be32 daddr,
		   u16 dport, int ifindex, int sdif)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
	return __inet_lookup_established(net,
					 net->ipv4.tcp_death_row.hashinfo,
					 saddr, sport, daddr, dport, ifindex,
					 sdif);
#else
	return __inet_lookup_established(net, saddr, sport, daddr, dport,
					 ifindex, sdif);
#endif
}

#if IS_ENABLED(CONFIG_IPV6)
static inline struct sock *
pep_compat_lookup6(struct net *net, const struct in6_addr *saddr,
		   __be16 sport, const struct in6_addr *daddr, u16 dport,
		   int ifindex, int sdif)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
	return __inet6_lookup_established(net,
					  net->ipv4.tcp_death_row.hashinfo,
					  saddr, sport, daddr, dport, ifindex,
					  sdif);
#else
	return __inet6_lookup_established(net, saddr, sport, daddr, dport,
					  ifindex, sdif);
#endif
}
#endif

/*
 * Disabled BH guards the per-CPU queues and pools, but from 6.18 on it excludes
 * no other task on PREEMPT_RT without this option.
 */
#if IS_ENABLED(CONFIG_PREEMPT_RT) && \
	LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0) && \
	!IS_ENABLED(CONFIG_PREEMPT_RT_NEEDS_BH_LOCK)
#error "PREEMPT_RT needs CONFIG_PREEMPT_RT_NEEDS_BH_LOCK"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
/* Before 6.19 bind and connect took a struct sockaddr of fixed size. */
#define pep_compat_sockaddr sockaddr
#else
#define pep_compat_sockaddr sockaddr_unsized
#endif

/*
 * Does routing accept the source of a packet on its device? Before 6.13 it returned
 * an error: one for rp_filter, another one for addresses that cannot be a source.
 */
static inline bool pep_compat_source_valid(struct sk_buff *skb, __be32 daddr,
					   __be32 saddr)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	int err = ip_route_input_noref(skb, daddr, saddr, ip_hdr(skb)->tos,
				       skb->dev);

	return err != -EXDEV && err != -EINVAL;
#else
	switch (ip_route_input_noref(skb, daddr, saddr,
				     ip4h_dscp(ip_hdr(skb)), skb->dev)) {
	case SKB_DROP_REASON_IP_RPFILTER:
	case SKB_DROP_REASON_IP_LOCAL_SOURCE:
	case SKB_DROP_REASON_IP_INVALID_SOURCE:
		return false;
	default:
		return true;
	}
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
/* Before 6.18 a workqueue was per CPU by default, and so was system_wq. 6.12 may have another
 * queue of the latter name, for which schedule_delayed_work() is: a work item has to be
 * queued by one of both only.
 */
#define WQ_PERCPU 0
#define system_percpu_wq system_wq
#endif

/*
 * From 7.1 on a socket stores the farthest edge that its window has ever had,
 * apart from the present one.
 */
static inline void pep_compat_promised(struct tcp_sock *tp)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
	tp->rcv_mwnd_seq = tp->rcv_wup + tp->rcv_wnd;
#endif
}

/*
 * Go on with a paused walk. Kernels before 6.12.101 did not forget the entry that a walk
 * had paused at when the table had been resized meanwhile, and read it after it was freed.
 */
static inline int pep_compat_walk_resume(struct rhashtable_iter *iter)
	__acquires(RCU)
{
	int err = rhashtable_walk_start_check(iter);

	if (err)
		iter->p = NULL;
	return err;
}

/*
 * Note that an action of tc is used, and read when it was. Linux 6.12 does so by accesses
 * without marks, which race with each other and harm nothing; 7.3 by READ_ONCE() and
 * WRITE_ONCE().
 */
static inline void pep_compat_lastuse(struct tcf_t *tm)
{
	kcsan_disable_current();
	tcf_lastuse_update(tm);
	kcsan_enable_current();
}

static inline void pep_compat_tm_dump(struct tcf_t *dtm, const struct tcf_t *stm)
{
	kcsan_disable_current();
	tcf_tm_dump(dtm, stm);
	kcsan_enable_current();
}

#if IS_ENABLED(CONFIG_IPV6)
/* Does a device forward even where its namespace does not? There is such a setting from
 * 6.17 on.
 */
static inline bool pep_compat_force_forwarding(const struct inet6_dev *idev)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	return false;
#else
	return READ_ONCE(idev->cnf.force_forwarding);
#endif
}
#endif

#ifdef TCP_ECN_OK
#define PEP_COMPAT_ECN_OK TCP_ECN_OK
#else
/* Since AccECN there are two modes of ECN. */
#define PEP_COMPAT_ECN_OK TCP_ECN_MODE_RFC3168
#endif

/* May TCP choose among the next hops of an IPv6 route by sk_txhash, and not by the flow
 * label? See ip6_ecmp_set_mp_hash() of kernels after 6.12.
 */
#define PEP_COMPAT_PATH_BY_TXHASH \
	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0))

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
/* Before 6.13 a symbol namespace was a bare word. */
#define PEP_IMPORT_KUNIT_NS() MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING)
#else
#define PEP_IMPORT_KUNIT_NS() MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING")
#endif

#endif
