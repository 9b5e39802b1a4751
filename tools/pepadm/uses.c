// SPDX-License-Identifier: GPL-2.0
#include "uses.h"

#include <stddef.h>
#include <string.h>

#include <linux/pep.h>

#include "genl.h"

/**
 * struct uses - a count of the actions that use profiles
 * @profile: name of the only profile counted, NULL for all
 * @n: actions that use it
 */
struct uses {
	const char *profile;
	__u64 n;
};

/* Add the actions that use a profile. */
static int add(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_PROFILE_MAX + 1];
	struct uses *uses = data;

	pep_genl_parse(nlh, tb, PEP_A_PROFILE_MAX);
	if (!uses->profile ||
	    !strcmp(uses->profile, pep_nl_string(tb[PEP_A_PROFILE_NAME])))
		uses->n += pep_nl_uint(tb[PEP_A_PROFILE_DEVICES]);
	return MNL_CB_OK;
}

/**
 * pep_uses() - count the tc actions that use a profile
 * @profile: its name, NULL for all profiles together
 * @n: their number; 0 for a profile that is not there
 *
 * Return: PEP_OK, or PEP_FAILED after a message.
 */
enum pep_exit pep_uses(const char *profile, __u64 *n)
{
	struct uses uses = { .profile = profile };
	enum pep_exit err;

	err = pep_genl_ask(PEP_CMD_PROFILE_GET, NLM_F_DUMP, add, &uses);
	*n = uses.n;
	return err;
}
