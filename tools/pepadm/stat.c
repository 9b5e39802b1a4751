// SPDX-License-Identifier: GPL-2.0
/* pepadm stat: the counters of the namespace. */
#include "cmd.h"

#include <linux/pep.h>

#include "genl.h"
#include "names-gen.h"
#include "out.h"

/* Show all counters that have a name. */
static int show_stat(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[PEP_A_STAT_MAX + 1];
	size_t i;

	(void)data;
	pep_genl_parse(nlh, tb, PEP_A_STAT_MAX);
	pep_out_open_object(NULL);
	for (i = 1; i < ARRAY_SIZE(names_stat); i++) {
		if (!*names_stat[i] || !tb[i])
			continue;
		pep_out_uint(names_stat[i], names_stat[i],
			     pep_nl_uint(tb[i]));
		pep_out_newline("");
	}
	pep_out_close_object();
	return MNL_CB_OK;
}

static enum pep_exit stat_show(struct pep_args *args)
{
	enum pep_exit err = pep_args_end(args);

	return err ? err : pep_genl_show(PEP_CMD_STAT_GET, 0, show_stat);
}

static const struct pep_cmd_verb stat_verbs[] = {
	{ "show", stat_show },
	{ NULL, NULL },
};

const struct pep_cmd_object pep_stat_object = {
	.name = "stat",
	.verbs = stat_verbs,
	.show = stat_show,
	.usage =
	"pepadm stat show\n",
};
