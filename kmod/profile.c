// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles: named settings per namespace.
 *
 * The sockets that carry a profile's settings are its generation, gen.c. It
 * exists while a device uses the profile and is replaced as a whole when the
 * profile is changed: existing flows keep their settings.
 */

#include "profile.h"

#include <kunit/visibility.h>
#include <linux/ctype.h>
#include <linux/export.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <net/sock.h>

#include "gain.h"
#include "gen.h"
#include "leg.h"
#include "settings-gen.h"

/**
 * pep_profile_name_ok() - is this a valid name?
 * @name: text of at most PEP_NAME_LEN - 1 characters
 *
 * Return: true for 1 or more out of A-Z a-z 0-9 . _ and -, no leading dash.
 */
bool pep_profile_name_ok(const char *name)
{
	size_t i, len = strnlen(name, PEP_NAME_LEN);

	if (!len || len == PEP_NAME_LEN || name[0] == '-')
		return false;
	for (i = 0; i < len; i++)
		if (!isascii(name[i]) ||
		    (!isalnum(name[i]) && !strchr("._-", name[i])))
			return false;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(pep_profile_name_ok);

/**
 * pep_profile_defaults() - set the defaults of a profile
 * @values: result
 */
void pep_profile_defaults(struct pep_values *values)
{
	static const struct pep_values defaults = PEP_SETTINGS_DEFAULTS;

	/* With the bytes between members: profiles are compared as a whole. */
	memcpy(values, &defaults, sizeof(*values));
}
EXPORT_SYMBOL_IF_KUNIT(pep_profile_defaults);

/**
 * pep_profile_check_cc() - is this congestion control available?
 * @pn: instance
 * @cc: name
 *
 * Sets it on a socket of the namespace, which loads the module if need be.
 *
 * Context: may sleep.
 * Return: 0, -ENOENT when the kernel has none of that name, or another
 * negative error.
 */
int pep_profile_check_cc(struct pep_net *pn, const char *cc)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(pn->net, PF_INET, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (err)
		return err;
	err = pep_leg_set_cc(sock->sk, cc);
	sock_release(sock);
	return err;
}

/**
 * pep_profile_find() - find a profile by name
 * @pn: instance
 * @name: name
 *
 * Context: pep_net.lock held.
 * Return: the profile or NULL.
 */
struct pep_profile *pep_profile_find(struct pep_net *pn, const char *name)
{
	struct pep_profile *profile;

	lockdep_assert_held(&pn->lock);
	list_for_each_entry(profile, &pn->profiles, node)
		if (!strcmp(profile->name, name))
			return profile;
	return NULL;
}

/* The tally of a name, with a reference: that of remaining flows of an earlier
 * profile of this name, or a new one; NULL without memory.
 */
static struct pep_tally *pep_profile_tally(struct pep_net *pn,
					   const char *name)
{
	struct pep_gen *gen;

	list_for_each_entry(gen, &pn->gens, node)
		if (!strcmp(gen->name, name))
			return pep_tally_get(gen->tally);
	return pep_tally_create();
}

/* Begin a comparison when a profile's control group changes. Return: false
 * without memory; otherwise *gain is to be passed to pep_profile_compare().
 */
static bool pep_profile_compares(const struct pep_tally *tally,
				 const struct pep_values *values,
				 struct pep_gain **gain)
{
	struct pep_gain *old = rcu_dereference_protected(tally->gain, true);

	*gain = NULL;
	if (!values->control)
		return true;
	/* Under pep_net.lock it stays. */
	if (old && old->share == values->control &&
	    old->by == values->control_by) {
		*gain = old;
		return true;
	}
	*gain = pep_gain_create(values->control, values->control_by);
	return *gain;
}

/* Install the comparison of the profile's connections. A dump that has begun is marked:
 * it has parts of the old one.
 */
static void pep_profile_compare(struct pep_profile *profile,
				struct pep_gain *gain)
{
	struct pep_tally *tally = profile->tally;
	struct pep_gain *old = rcu_access_pointer(tally->gain);

	if (old == gain)
		return;
	rcu_assign_pointer(tally->gain, gain);
	profile->pn->profiles_seq++;
	pep_gain_put(old);
}

/**
 * pep_profile_add() - add a profile
 * @pn: instance
 * @name: valid name that is not in use
 * @values: checked settings
 *
 * Context: may sleep, pep_net.lock held.
 * Return: 0 or -ENOMEM.
 */
int pep_profile_add(struct pep_net *pn, const char *name,
		    const struct pep_values *values)
{
	struct pep_profile *profile;
	struct pep_gain *gain;

	lockdep_assert_held(&pn->lock);
	profile = kzalloc(sizeof(*profile), GFP_KERNEL);
	if (!profile)
		return -ENOMEM;
	profile->tally = pep_profile_tally(pn, name);
	if (!profile->tally) {
		kfree(profile);
		return -ENOMEM;
	}
	if (!pep_profile_compares(profile->tally, values, &gain)) {
		pep_tally_put(profile->tally);
		kfree(profile);
		return -ENOMEM;
	}
	profile->pn = pn;
	pep_profile_compare(profile, gain);
	strscpy(profile->name, name);
	profile->values = *values;
	profile->listed = true;
	list_add_tail(&profile->node, &pn->profiles);
	pn->profiles_seq++;
	return 0;
}

static void pep_profile_swap(struct pep_profile *profile, struct pep_gen *gen)
{
	struct pep_tally *tally = profile->tally;
	struct pep_gen *old;

	old = rcu_replace_pointer(profile->gen, gen,
				  lockdep_is_held(&profile->pn->lock));
	rcu_assign_pointer(tally->gen, gen);
	if (old)
		pep_gen_retire(old);
}

/**
 * pep_profile_same() - would a change make no difference?
 * @profile: profile
 * @values: checked settings
 *
 * Another device may have the name of the server device by now; when none has,
 * there is nothing better than the old sockets.
 *
 * Context: pep_net.lock held.
 * Return: true when the profile and its sockets have these settings already.
 */
bool pep_profile_same(const struct pep_profile *profile,
		      const struct pep_values *values)
{
	int ifindex = pep_gen_server_ifindex(profile->pn, values);
	const struct pep_gen *gen;

	lockdep_assert_held(&profile->pn->lock);
	if (memcmp(&profile->values, values, sizeof(*values)))
		return false;
	gen = rcu_dereference_protected(profile->gen,
					lockdep_is_held(&profile->pn->lock));
	return ifindex < 0 || !gen || gen->server_ifindex == ifindex;
}

/* Open sockets with settings of a profile, or report the error. */
static int pep_profile_open(struct pep_profile *profile,
			    const struct pep_values *values,
			    struct netlink_ext_ack *extack)
{
	struct pep_gen *gen = pep_gen_create(profile, values);

	if (!IS_ERR(gen)) {
		pep_profile_swap(profile, gen);
		return 0;
	}
	if (PTR_ERR(gen) == -ENODEV)
		NL_SET_ERR_MSG_FMT_MOD(extack,
				       "profile: its server-dev \"%s\" does not exist",
				       values->server_dev);
	else
		NL_SET_ERR_MSG_MOD(extack,
				   "profile: cannot open its sockets");
	return PTR_ERR(gen);
}

/**
 * pep_profile_set() - change a profile
 * @profile: profile
 * @values: checked settings; its sockets are replaced even if these are equal
 * @extack: receives the error message
 *
 * Context: may sleep, pep_net.lock held.
 * Return: 0 or a negative error with nothing changed.
 */
int pep_profile_set(struct pep_profile *profile,
		    const struct pep_values *values,
		    struct netlink_ext_ack *extack)
{
	struct pep_tally *tally = profile->tally;
	struct pep_gain *gain;
	int err = 0;

	lockdep_assert_held(&profile->pn->lock);
	if (!pep_profile_compares(tally, values, &gain)) {
		NL_SET_ERR_MSG_MOD(extack,
				   "control: no memory to count in");
		return -ENOMEM;
	}
	if (profile->devices)
		err = pep_profile_open(profile, values, extack);
	if (err) {
		if (gain != rcu_access_pointer(tally->gain))
			pep_gain_put(gain);
		return err;
	}
	pep_profile_compare(profile, gain);
	profile->values = *values;
	return 0;
}

static void pep_profile_free_unused(struct pep_profile *profile)
{
	if (profile->listed || profile->devices)
		return;
	pep_tally_put(profile->tally);
	kfree_rcu(profile, rcu);
}

/**
 * pep_profile_del() - take a profile out of the list
 * @profile: profile; gone on return unless a device uses it
 *
 * Context: pep_net.lock held.
 */
void pep_profile_del(struct pep_profile *profile)
{
	lockdep_assert_held(&profile->pn->lock);
	list_del(&profile->node);
	profile->pn->profiles_seq++;
	profile->listed = false;
	pep_profile_free_unused(profile);
}

/**
 * pep_profile_bind() - use a profile for a device
 * @profile: profile, of an instance that has started
 * @extack: receives the error message
 *
 * Context: may sleep, pep_net.lock held.
 * Return: 0, to be undone by pep_profile_unbind(), or a negative error.
 */
int pep_profile_bind(struct pep_profile *profile,
		     struct netlink_ext_ack *extack)
{
	int err = 0;

	lockdep_assert_held(&profile->pn->lock);
	if (!profile->devices)
		err = pep_profile_open(profile, &profile->values, extack);
	if (!err)
		profile->devices++;
	return err;
}

/**
 * pep_profile_unbind() - end a device's use of a profile
 * @profile: bound by pep_profile_bind()
 *
 * Context: may sleep, takes pep_net.lock.
 */
void pep_profile_unbind(struct pep_profile *profile)
{
	struct pep_net *pn = profile->pn;

	mutex_lock(&pn->lock);
	if (!--profile->devices)
		pep_profile_swap(profile, NULL);
	pep_profile_free_unused(profile);
	mutex_unlock(&pn->lock);
}

/**
 * pep_profile_init() - make the default profile
 * @pn: instance
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int pep_profile_init(struct pep_net *pn)
{
	struct pep_values values;
	int err;

	pep_profile_defaults(&values);
	mutex_lock(&pn->lock);
	err = pep_profile_add(pn, PEP_PROFILE_DEFAULT, &values);
	mutex_unlock(&pn->lock);
	return err;
}

/**
 * pep_profile_exit() - let go of all profiles and their sockets
 * @pn: instance that is stopping
 *
 * Devices may still use a profile, which splits nothing any more.
 *
 * Context: may sleep, pep_net.lock held.
 */
void pep_profile_exit(struct pep_net *pn)
{
	struct pep_profile *profile, *next;

	list_for_each_entry_safe(profile, next, &pn->profiles, node) {
		pep_profile_swap(profile, NULL);
		pep_profile_del(profile);
	}
}
