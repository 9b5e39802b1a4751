// SPDX-License-Identifier: GPL-2.0
/*
 * Generations: the listeners and ready sockets that carry a profile's
 * settings.
 *
 * A generation dies in this order: its profile lets go of it; it lingers
 * while handshakes that began with it end; its flows end; a work item closes
 * the listeners, drains the pools and frees it after a grace period.
 */

#include "gen.h"

#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/l3mdev.h>

#include "profile.h"

static struct workqueue_struct *pep_gen_wq;

/**
 * pep_gen_bound() - find the device that a connecting leg is bound to
 * @gen: generation
 * @side: side that the leg connects to, enum pep_side
 * @ifindex: device that the packets of the leg's end arrive on; that of the opener, or that
 *	it is bound to, where the connection is answered early
 *
 * Without a device of the profile, a leg is in the VRF of that device.
 *
 * Context: RCU read side.
 * Return: index of a device, 0 for none.
 */
int pep_gen_bound(const struct pep_gen *gen, enum pep_side side, int ifindex)
{
	if (side == PEP_SIDE_SERVER && gen->server_ifindex)
		return gen->server_ifindex;
	return l3mdev_master_ifindex_by_index(gen->pn->net, ifindex);
}

/**
 * pep_gen_server_ifindex() - find the device of server legs
 * @pn: instance
 * @values: settings
 *
 * Context: any.
 * Return: its index, 0 when none is set, -ENODEV when it does not exist now.
 */
int pep_gen_server_ifindex(struct pep_net *pn,
			   const struct pep_values *values)
{
	struct net_device *dev;
	int ifindex = 0;

	if (!*values->server_dev)
		return 0;
	rcu_read_lock();
	dev = dev_get_by_name_rcu(pn->net, values->server_dev);
	if (dev)
		ifindex = dev->ifindex;
	rcu_read_unlock();
	return ifindex ?: -ENODEV;
}

static void pep_gen_close(struct pep_gen *gen)
{
	int cpu, i;

	WRITE_ONCE(gen->closed, true);
	for (i = 0; i < PEP_GEN_LISTENERS; i++)
		pep_listener_hide(&gen->listeners[i]);
	synchronize_net();
	for_each_possible_cpu(cpu)
		pep_pool_drain(per_cpu_ptr(gen->pools, cpu));
	for (i = 0; i < PEP_GEN_LISTENERS; i++)
		pep_listener_close(&gen->listeners[i]);
	/* A listener's job is not queued any more. */
	synchronize_net();
	for (i = 0; i < PEP_GEN_LISTENERS; i++)
		pep_listener_settle(&gen->listeners[i]);
	/* The run of the last job has ended. */
	synchronize_net();
}

static void pep_gen_release(struct work_struct *work)
{
	struct pep_gen *gen = container_of(work, struct pep_gen, release);
	struct pep_net *pn = gen->pn;

	pep_gen_close(gen);
	mutex_lock(&pn->lock);
	list_del(&gen->node);
	wake_up_all(&pn->idle);
	mutex_unlock(&pn->lock);
	/* Code that walks the list reads the pools. */
	free_percpu(gen->pools);
	pep_tally_put(gen->tally);
	kfree_rcu(gen, rcu);
}

/**
 * pep_gen_put() - drop a reference
 * @gen: generation
 *
 * Context: any.
 */
void pep_gen_put(struct pep_gen *gen)
{
	if (refcount_dec_and_test(&gen->ref))
		queue_work(pep_gen_wq, &gen->release);
}

/* The generation opens no flows any more: existing flows need only its
 * settings, and may live for days.
 */
static void pep_gen_linger(struct work_struct *work)
{
	struct pep_gen *gen = container_of(to_delayed_work(work),
					   struct pep_gen, linger);

	pep_gen_close(gen);
	pep_gen_put(gen);
}

static int pep_gen_open_all(struct pep_gen *gen)
{
	static const int families[] = { AF_INET, AF_INET6 };
	unsigned int i, side;
	int cpu, err;

	for_each_possible_cpu(cpu)
		pep_pool_setup(per_cpu_ptr(gen->pools, cpu), gen, cpu);
	for (i = 0; i < ARRAY_SIZE(families); i++) {
		for (side = 0; side < 2; side++) {
			struct pep_listener *l;

			l = pep_gen_listener(gen, families[i], side);
			err = pep_listener_open(l, gen, families[i], side);
			/* A host without IPv6 splits IPv4 only. */
			if (err == -EAFNOSUPPORT && families[i] == AF_INET6)
				continue;
			if (err)
				return err;
		}
	}
	return 0;
}

/**
 * struct pep_gen_opening - listeners that are being opened
 * @work: opens them
 * @gen: generation that they belong to
 * @err: result
 */
struct pep_gen_opening {
	struct work_struct work;
	struct pep_gen *gen;
	int err;
};

static void pep_gen_open_work(struct work_struct *work)
{
	struct pep_gen_opening *opening =
		container_of(work, struct pep_gen_opening, work);

	opening->err = pep_gen_open_all(opening->gen);
}

/* Sockets, and those that a listener accepts, belong to the cgroup of the task that
 * makes them. Filters of pepadm's, as systemd has them for a service, are not for the
 * traffic of subscribers.
 */
static int pep_gen_open(struct pep_gen *gen)
{
	struct pep_gen_opening opening = { .gen = gen };

	INIT_WORK_ONSTACK(&opening.work, pep_gen_open_work);
	schedule_work(&opening.work);
	flush_work(&opening.work);
	destroy_work_on_stack(&opening.work);
	return opening.err;
}

/**
 * pep_gen_create() - open the sockets of a profile
 * @profile: profile
 * @values: its settings from now on
 *
 * Context: may sleep, pep_net.lock held.
 * Return: the generation with a reference for the profile, or an error
 * pointer; -ENODEV when the device that is set does not exist.
 */
struct pep_gen *pep_gen_create(const struct pep_profile *profile,
			       const struct pep_values *values)
{
	struct pep_net *pn = profile->pn;
	int ifindex = pep_gen_server_ifindex(pn, values);
	struct pep_gen *gen;
	int err;

	lockdep_assert_held(&pn->lock);
	if (ifindex < 0)
		return ERR_PTR(ifindex);
	gen = kzalloc(sizeof(*gen), GFP_KERNEL);
	if (!gen)
		return ERR_PTR(-ENOMEM);
	gen->pools = alloc_percpu(struct pep_pool);
	if (!gen->pools) {
		kfree(gen);
		return ERR_PTR(-ENOMEM);
	}
	gen->pn = pn;
	strscpy(gen->name, profile->name);
	gen->values = *values;
	gen->live = *values;
	gen->server_ifindex = ifindex;
	refcount_set(&gen->ref, 1);
	INIT_DELAYED_WORK(&gen->linger, pep_gen_linger);
	INIT_WORK(&gen->release, pep_gen_release);
	err = pep_gen_open(gen);
	if (err) {
		pep_gen_close(gen);
		free_percpu(gen->pools);
		kfree(gen);
		return ERR_PTR(err);
	}
	gen->tally = pep_tally_get(profile->tally);
	list_add_tail(&gen->node, &pn->gens);
	return gen;
}

/**
 * pep_gen_retire() - drop the profile's reference after a while
 * @gen: generation that its profile does not point to any more
 *
 * Openers that have a SYN-ACK of one of its listeners can still complete the
 * handshake.
 *
 * Context: pep_net.lock held.
 */
void pep_gen_retire(struct pep_gen *gen)
{
	queue_delayed_work(pep_gen_wq, &gen->linger,
			   PEP_GEN_LINGER);
}

/**
 * pep_gen_stop() - let no generation of an instance linger
 * @pn: instance whose profiles have let go of their generations
 *
 * Context: may sleep, pep_net.lock held.
 */
void pep_gen_stop(struct pep_net *pn)
{
	struct pep_gen *gen;
	int i;

	list_for_each_entry(gen, &pn->gens, node) {
		for (i = 0; i < PEP_GEN_LISTENERS; i++)
			pep_listener_hide(&gen->listeners[i]);
		if (cancel_delayed_work_sync(&gen->linger))
			pep_gen_put(gen);
	}
}

/**
 * pep_gen_flush() - wait until the release of generations has ended
 *
 * A generation that has left its instance's list may still be about to unlock
 * the instance.
 *
 * Context: may sleep.
 */
void pep_gen_flush(void)
{
	flush_workqueue(pep_gen_wq);
}

/**
 * pep_gen_init() - prepare for generations
 *
 * Context: may sleep; once, at load.
 * Return: 0 or -ENOMEM.
 */
int pep_gen_init(void)
{
	pep_gen_wq = alloc_workqueue("pep_gen", WQ_UNBOUND, 0);
	return pep_gen_wq ? 0 : -ENOMEM;
}

/**
 * pep_gen_exit() - undo pep_gen_init()
 *
 * Context: may sleep; once, at unload, without generations left.
 */
void pep_gen_exit(void)
{
	destroy_workqueue(pep_gen_wq);
}
