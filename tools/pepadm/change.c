// SPDX-License-Identifier: GPL-2.0
/*
 * From one configuration to another: the one in force is read first, so that
 * the change can be undone by going back.
 */
#include "change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pep.h>

#include "detach.h"
#include "hold.h"
#include "limit.h"
#include "lock.h"
#include "profile.h"
#include "uses.h"

/**
 * struct way - how to get to a configuration
 * @through: go on after a failure, to get as near as possible
 * @err: the first failure, or PEP_OK
 */
struct way {
	bool through;
	enum pep_exit err;
};

/* Note how a step has ended. Return whether to go on. */
static bool step(struct way *way, enum pep_exit err)
{
	way->err = way->err ? way->err : err;
	return way->through || !way->err;
}

/* Set profiles and limits as in a configuration; delete no profile. */
static bool apply_values(const struct pep_config *conf, struct way *way)
{
	const struct pep_config_line *line;
	struct pep_args args;
	enum pep_exit err;
	bool on = true;

	for (size_t i = 0; i < conf->n && on; i++) {
		line = &conf->lines[i];
		if (line->kind == PEP_CONFIG_DEV)
			continue;
		pep_config_place(conf, line);
		args = pep_config_args(line);
		err = line->kind == PEP_CONFIG_PROFILE ? pep_profile_replace(&args) :
						   pep_limit_replace(&args);
		on = step(way, err);
	}
	pep_err_place(NULL, 0);
	if (!on || pep_config_find(conf, PEP_CONFIG_LIMIT, ""))
		return on;
	args = (struct pep_args){ 0 };
	return step(way, pep_limit_replace(&args));
}

/* Detach the devices that a configuration lacks, or has on the other side. */
static bool apply_gone(const struct pep_config *conf,
		       const struct pep_config *now, struct way *way)
{
	const struct pep_config_line *line, *wanted;
	const char **names;
	bool on = true;
	size_t n = 0;

	names = calloc(now->n + 1, sizeof(*names));
	if (!names)
		return step(way, pep_err_failed("%s", strerror(ENOMEM)));
	for (size_t i = 0; i < now->n; i++) {
		line = &now->lines[i];
		if (line->kind != PEP_CONFIG_DEV)
			continue;
		wanted = pep_config_find(conf, PEP_CONFIG_DEV, line->name);
		if (!wanted || wanted->dev.side != line->dev.side)
			names[n++] = line->name;
	}
	if (n)
		on = step(way, pep_detach(names, n));
	free(names);
	return on;
}

/* Attach the devices that are missing, and correct the filters of others. */
static bool apply_devs(const struct pep_config *conf, struct way *way)
{
	const struct pep_config_line *line;
	bool on = true;

	for (size_t i = 0; i < conf->n && on; i++) {
		line = &conf->lines[i];
		if (line->kind != PEP_CONFIG_DEV)
			continue;
		pep_config_place(conf, line);
		on = step(way, pep_dev_replace(&line->dev));
	}
	pep_err_place(NULL, 0);
	return on;
}

/*
 * Delete a profile that no device of ours uses, but not one that filters of
 * others use.
 */
static enum pep_exit drop_profile(const char *name)
{
	enum pep_exit err;
	__u64 uses;

	err = pep_uses(name, &uses);
	if (err)
		return err;
	if (!uses)
		return pep_profile_del(name);
	pep_err_warning("profile \"%s\" stays: other tc filters use it, actions: %llu",
			name, (unsigned long long)uses);
	return PEP_OK;
}

/* Delete the profiles that a configuration lacks; reset the default one. */
static bool apply_rest(const struct pep_config *conf,
		       const struct pep_config *now, struct way *way)
{
	char name[] = PEP_PROFILE_DEFAULT, *word = name;
	const struct pep_config_line *line;
	struct pep_args args;
	bool on = true;

	for (size_t i = 0; i < now->n && on; i++) {
		line = &now->lines[i];
		if (line->kind != PEP_CONFIG_PROFILE ||
		    pep_config_find(conf, PEP_CONFIG_PROFILE, line->name))
			continue;
		args = (struct pep_args){ .argc = 1, .argv = &word };
		on = step(way, strcmp(line->name, PEP_PROFILE_DEFAULT) ?
			       drop_profile(line->name) :
			       pep_profile_replace(&args));
	}
	return on;
}

/*
 * Go from the configuration in force to another. Devices come last; after them
 * only the profiles that they may have used are deleted.
 */
static void apply(const struct pep_config *conf, const struct pep_config *now,
		  struct way *way)
{
	(void)(apply_values(conf, way) && apply_gone(conf, now, way) &&
	       apply_devs(conf, way) && apply_rest(conf, now, way));
}

/* Go back to the configuration before a failure, as near as possible. */
static void restore(const struct pep_config *before)
{
	struct way way = { .through = true };
	struct pep_config now;

	pep_err_quiet(true);
	way.err = pep_config_now(&now);
	if (!way.err)
		apply(before, &now, &way);
	pep_config_free(&now);
	pep_err_quiet(false);
	if (way.err)
		pep_err_warning("not all of what was configured before could be restored");
}

/* Go to a configuration, with @anew over no devices at all; all or nothing. */
static enum pep_exit change(const struct pep_config *conf, bool anew)
{
	const struct pep_config none = { 0 };
	struct pep_config before, now = none;
	struct way way = { 0 };

	way.err = pep_config_now(&before);
	if (way.err) {
		pep_config_free(&before);
		return way.err;
	}
	/* Steps that can be refused come before those that end flows. */
	if (anew && apply_values(conf, &way))
		apply_gone(&none, &before, &way);
	if (!way.err)
		way.err = pep_config_now(&now);
	if (!way.err)
		apply(conf, &now, &way);
	if (way.err)
		restore(&before);
	pep_config_free(&now);
	pep_config_free(&before);
	return way.err;
}

/**
 * pep_change() - go to a configuration
 * @conf: the configuration; alternative names of devices are replaced
 * @anew: over no devices at all, which ends the flows
 *
 * All or nothing, and to its end, despite signals meanwhile; not while another
 * pepadm does the same.
 *
 * Return: PEP_OK; after a message PEP_USAGE or PEP_FAILED, with nothing changed
 * unless a warning reports otherwise.
 */
enum pep_exit pep_change(struct pep_config *conf, bool anew)
{
	enum pep_exit err = pep_config_resolve(conf);
	sigset_t old;
	int lock;

	if (err)
		return err;
	lock = pep_lock_take();
	pep_hold_begin(&old);
	err = change(conf, anew);
	pep_hold_end(&old);
	pep_lock_release(lock);
	return err;
}
