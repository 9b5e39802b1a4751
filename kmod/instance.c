// SPDX-License-Identifier: GPL-2.0
/*
 * The instance of a network namespace: its start and its stop.
 *
 * It stops in this order. No new flows: steering passes SYNs. Connections are
 * handed back to their ends where that is possible. The flows that remain are
 * killed, and ends that challenge the reset are answered for a while. The
 * profiles let go of their generations, the generations hide their listeners.
 * After a grace period no packet and no job makes a flow; flows that were still
 * made are killed and awaited, then the generations, then the sockets given
 * back. The routes and the netfilter hook on LOCAL_OUT go last. All this is done in
 * .pre_exit, while the namespace's devices still exist: later, a route in a
 * socket's cache would keep the loopback device and the namespace with it.
 */

#include "instance.h"

#include <linux/random.h>
#include <linux/sched.h>

#include "again.h"
#include "deliver.h"
#include "flow.h"
#include "gen.h"
#include "leave.h"
#include "limit.h"
#include "live.h"
#include "net.h"
#include "path.h"
#include "pool.h"
#include "profile.h"
#include "release.h"
#include "relief.h"
#include "remains.h"
#include "stat.h"
#include "stray.h"
#include "sweep.h"
#include "synack.h"
#include "track.h"
#include "unsent.h"
#include "untrack.h"

/*
 * Time in which ends may challenge the reset of a flow (RFC 5961, section 3.2)
 * when the namespace goes: ends with payload still under way to them. Later
 * they would get no answer. The reset is repeated meanwhile, see again.c.
 */
#define PEP_INSTANCE_LINGER	(HZ / 4)

/* Time limit for handing connections back when the namespace goes. */
#define PEP_INSTANCE_RELEASE	(2 * HZ)

/* Interval of log messages while the end of a namespace waits. */
#define PEP_INSTANCE_WARN	(10 * HZ)

/* Maximum of unsuccessful attempts to hand more connections back. */
#define PEP_INSTANCE_RETRIES	3

/* Make the parts that only a namespace in use needs. Return: 0, -ESHUTDOWN when
 * the namespace is going away, or -ENOMEM.
 */
static int pep_instance_start(struct pep_net *pn)
{
	int err;

	lockdep_assert_held(&pn->lock);
	if (pn->stopping)
		return -ESHUTDOWN;
	if (pn->started)
		return 0;
	err = pep_memo_init(&pn->reset);
	if (err)
		return err;
	err = pep_untrack_start(pn);
	if (err)
		goto err_memo;
	err = pep_path_start(pn);
	if (err)
		goto err_untrack;
	err = pep_track_start(pn);
	if (err)
		goto err_path;
	err = pep_deliver_start(pn);
	if (err)
		goto err_track;
	pep_sweep_start(pn);
	pep_stray_start(pn);
	pn->started = true;
	return 0;

err_track:
	pep_track_stop(pn);
err_path:
	pep_path_stop(pn);
err_untrack:
	pep_untrack_stop(pn);
err_memo:
	pep_memo_exit(&pn->reset);
	return err;
}

/**
 * pep_instance_bind() - use a profile for a device, with the instance started
 * @pn: instance
 * @name: name of the profile
 * @extack: receives the error message
 *
 * Context: may sleep, takes pep_net.lock.
 * Return: the profile, for pep_profile_unbind(), or an error pointer.
 */
struct pep_profile *pep_instance_bind(struct pep_net *pn, const char *name,
				      struct netlink_ext_ack *extack)
{
	struct pep_profile *profile;
	int err = -ENOENT;

	mutex_lock(&pn->lock);
	profile = pep_profile_find(pn, name);
	if (!profile) {
		NL_SET_ERR_MSG_MOD(extack, "profile: no profile of this name");
		goto out;
	}
	err = pep_instance_start(pn);
	if (err)
		NL_SET_ERR_MSG_MOD(extack, "cannot start in this namespace");
	else
		err = pep_profile_bind(profile, extack);
out:
	mutex_unlock(&pn->lock);
	return err ? ERR_PTR(err) : profile;
}

/* Hand connections back to their ends, for as long as that is possible for more
 * of them.
 */
static void __net_exit pep_instance_release(struct pep_net *pn)
{
	unsigned long until = jiffies + PEP_INSTANCE_RELEASE;
	unsigned int n, least = UINT_MAX;
	int tries = PEP_INSTANCE_RETRIES;

	/* Other namespaces wait for this one: only while it makes progress. */
	while ((n = pep_release_flows(pn, NULL, NULL)) && tries-- &&
	       time_before(jiffies, until)) {
		if (n < least)
			tries = PEP_INSTANCE_RETRIES;
		least = min(least, n);
		schedule_timeout_uninterruptible(PEP_INSTANCE_LINGER);
	}
}

/* Warn that something keeps the namespace, or the module, from going. */
static void __net_exit pep_instance_warn(const struct pep_net *pn,
					 const char *what)
{
	pr_warn("pep: netns %u waits for %s\n", pn->net->ns.inum, what);
}

/* Wait until there is no flow, and warn of one that does not end. */
static void __net_exit pep_instance_await_flows(struct pep_net *pn)
{
	unsigned long warn = jiffies + PEP_INSTANCE_WARN, id = 0;
	char what[32];

	/* A flow whose leg a process owns is handled a little later. */
	do {
		pep_flow_kill(pn, NULL, NULL);
		if (time_before(jiffies, warn))
			continue;
		warn = jiffies + PEP_INSTANCE_WARN;
		xa_find(&pn->flows, &id, ULONG_MAX, XA_PRESENT);
		snprintf(what, sizeof(what), "flow %lu, %d in all", id,
			 atomic_read(&pn->nflows));
		pep_instance_warn(pn, what);
	} while (!wait_event_timeout(pn->idle, !atomic_read(&pn->nflows), HZ));
}

static void __net_exit pep_instance_stop(struct net *net)
{
	struct pep_net *pn = pep_net(net);
	bool started;

	mutex_lock(&pn->lock);
	WRITE_ONCE(pn->stopping, true);
	started = pn->started;
	mutex_unlock(&pn->lock);
	if (started) {
		/* Connections that are being taken over have their flows then. */
		synchronize_net();
		pep_instance_release(pn);
		if (pep_flow_kill(pn, NULL, NULL))
			schedule_timeout_uninterruptible(PEP_INSTANCE_LINGER);
	}

	mutex_lock(&pn->lock);
	pep_profile_exit(pn);
	pep_gen_stop(pn);
	mutex_unlock(&pn->lock);
	if (!started)
		return;

	pep_stray_stop(pn);
	synchronize_net();
	pep_synack_stop(pn);
	pep_sweep_purge(pn);
	pep_instance_await_flows(pn);
	while (!wait_event_timeout(pn->idle, list_empty_careful(&pn->gens),
				   PEP_INSTANCE_WARN))
		pep_instance_warn(pn, "a generation of a profile");
	pep_unsent_stop(pn);
	pep_again_stop(pn);
	pep_relief_stop(pn);
	pep_live_stop(pn);
	pep_gen_flush();
	pep_pool_flush();
	pep_remains_stop(pn);
	/* Packets of the namespace look at the tables and the routes. */
	synchronize_net();
	pep_track_stop(pn);
	pep_path_stop(pn);
	pep_deliver_stop(pn);
	pep_untrack_stop(pn);
}

static int __net_init pep_instance_init(struct net *net)
{
	struct pep_net *pn = pep_net(net);
	int err;

	pn->net = net;
	pep_limit_defaults(&pn->limits);
	pep_live_prepare(pn);
	pep_remains_init(pn);
	pep_stray_init(pn);
	pep_relief_init(pn);
	pep_again_init(pn);
	pep_unsent_init(pn);
	pn->early_seed = get_random_u32();
	xa_init_flags(&pn->flows, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	pep_leave_init(pn);
	init_waitqueue_head(&pn->idle);
	mutex_init(&pn->lock);
	INIT_LIST_HEAD(&pn->profiles);
	INIT_LIST_HEAD(&pn->gens);
	err = pep_stat_init(pn);
	if (err)
		return err;
	err = pep_profile_init(pn);
	if (err)
		pep_stat_exit(pn);
	return err;
}

static void __net_exit pep_instance_exit(struct net *net)
{
	struct pep_net *pn = pep_net(net);

	WARN_ON_ONCE(!xa_empty(&pn->flows));
	xa_destroy(&pn->flows);
	pep_leave_clear(pn);
	pep_memo_exit(&pn->reset);
	pep_stat_exit(pn);
}

static struct pernet_operations pep_instance_ops = {
	.init = pep_instance_init,
	.pre_exit = pep_instance_stop,
	.exit = pep_instance_exit,
	.id = &pep_net_id,
	.size = sizeof(struct pep_net),
};

/**
 * pep_instance_register() - make an instance in every namespace
 *
 * Context: may sleep; once, at load.
 * Return: 0 or a negative error.
 */
int pep_instance_register(void)
{
	return register_pernet_subsys(&pep_instance_ops);
}

/**
 * pep_instance_unregister() - stop and free all instances
 *
 * Context: may sleep; once, at unload.
 */
void pep_instance_unregister(void)
{
	unregister_pernet_subsys(&pep_instance_ops);
}
