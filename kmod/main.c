// SPDX-License-Identifier: GPL-2.0
/* Loading and unloading. */

#include <linux/init.h>
#include <linux/module.h>
#include <net/act_api.h>
#include <net/genetlink.h>
#include <uapi/linux/tc_act/tc_pepsplit.h>

#include "accept.h"
#include "action.h"
#include "early.h"
#include "flow.h"
#include "gen.h"
#include "instance.h"
#include "live.h"
#include "netlink-gen.h"
#include "path.h"
#include "pool.h"
#include "queue.h"
#include "report.h"
#include "track.h"
#include "untrack.h"
#include "xmit.h"

/**
 * struct pep_part - a part of the module that is brought up at load
 * @init: brings it up; 0 or a negative error
 * @exit: takes it down
 */
struct pep_part {
	int (*init)(void);
	void (*exit)(void);
};

static int __init pep_genl_register(void)
{
	int err = genl_register_family(&pep_nl_family);

	if (!err)
		pep_report_start(&pep_nl_family);
	return err;
}

static void pep_genl_unregister(void)
{
	pep_report_stop();
	genl_unregister_family(&pep_nl_family);
}

/* Each part depends on the parts before it; they are taken down in reverse. */
static const struct pep_part pep_parts[] = {
	{ pep_path_init, pep_path_exit },
	{ pep_flow_init, pep_flow_exit },
	{ pep_track_init, pep_track_exit },
	{ pep_queue_init, pep_queue_exit },
	{ pep_pool_init, pep_pool_exit },
	{ pep_gen_init, pep_gen_exit },
	{ pep_live_init, pep_live_exit },
	{ pep_instance_register, pep_instance_unregister },
	{ pep_genl_register, pep_genl_unregister },
	{ pep_action_register, pep_action_unregister },
};

static void pep_take_down(int n)
{
	while (n--)
		pep_parts[n].exit();
}

static int __init pep_init(void)
{
	int err, i;

	err = pep_xmit_init();
	if (err)
		return err;
	pep_accept_init();
	pep_early_init();
	for (i = 0; i < ARRAY_SIZE(pep_parts); i++) {
		err = pep_parts[i].init();
		if (err) {
			pep_take_down(i);
			return err;
		}
	}
	return 0;
}

static void __exit pep_exit(void)
{
	pep_take_down(ARRAY_SIZE(pep_parts));
	pep_untrack_exit();
}

module_init(pep_init);
module_exit(pep_exit);
MODULE_AUTHOR("pep developers");
MODULE_DESCRIPTION("Transparent split-connection TCP performance enhancing proxy");
MODULE_LICENSE("GPL");
MODULE_VERSION(PEP_VERSION);
MODULE_ALIAS_NET_ACT(TCA_PEPSPLIT_KIND);
MODULE_ALIAS_GENL_FAMILY(PEP_FAMILY_NAME);
MODULE_SOFTDEP("pre: pep_bbr tcp_bbr tcp_cubic sch_ingress cls_matchall");
