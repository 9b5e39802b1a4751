// SPDX-License-Identifier: GPL-2.0
/*
 * The tc action "pepsplit": binds a device's ingress to a side and a profile.
 * Any classifier may choose which packets it sees.
 */

#include "action.h"

#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/netlink.h>
#include <net/netns/generic.h>
#include <net/pkt_cls.h>
#include <uapi/linux/tc_act/tc_pepsplit.h>

#include "compat.h"
#include "instance.h"
#include "leave.h"
#include "net.h"
#include "profile.h"
#include "remains.h"
#include "steer.h"
#include "stray.h"

/* Beyond the numbers of the kernel's own actions. */
#define PEP_ACTION_ID	((enum tca_id)0x7065)

/**
 * struct pep_action_params - settings that can be replaced while packets pass
 * @profile: profile, bound
 * @side: side of the device, enum pep_side
 * @rcu: frees it
 */
struct pep_action_params {
	struct pep_profile *profile;
	u32 side;
	struct rcu_head rcu;
};

/**
 * struct pep_action - an instance of the action
 * @common: tc's part
 * @params: settings; written under @common.tcfa_lock
 * @ifindex: device whose only filter at ingress has it, counted in pep_net.attached; else 0
 * @noted: another device whose packet it has noted last, by pep_stray_number()
 */
struct pep_action {
	struct tc_action common;
	struct pep_action_params __rcu *params;
	int ifindex;
	u64 noted;
};

static struct tc_action_ops pep_action_ops;

static const struct nla_policy pep_action_policy[TCA_PEPSPLIT_MAX + 1] = {
	[TCA_PEPSPLIT_PARMS] = NLA_POLICY_EXACT_LEN(sizeof(struct tc_pepsplit)),
	[TCA_PEPSPLIT_SIDE] = NLA_POLICY_MAX(NLA_U32, PEP_SIDE_SERVER),
	[TCA_PEPSPLIT_PROFILE] = { .type = NLA_NUL_STRING,
				   .len = PEP_NAME_LEN - 1 },
};

/* Note that the action has a packet of a device. */
static void pep_action_note(struct pep_action *act, struct pep_net *pn, int ifindex)
{
	u64 number;

	if (likely(READ_ONCE(act->ifindex) == ifindex))
		return;
	number = pep_stray_number(pn, ifindex);
	if (unlikely(READ_ONCE(act->noted) != number) && pep_stray_note(pn, number))
		WRITE_ONCE(act->noted, number);
}

static int pep_action_act(struct sk_buff *skb, const struct tc_action *a,
			  struct tcf_result *res)
{
	struct pep_action *act = container_of(a, struct pep_action, common);
	int verdict = READ_ONCE(act->common.tcfa_action);
	const struct pep_action_params *params;

	pep_compat_lastuse(&act->common.tcfa_tm);
	tcf_action_update_bstats(&act->common, skb);
	if (!skb_at_tc_ingress(skb))
		return verdict;
	params = rcu_dereference_bh(act->params);
	if (!params)
		return verdict;
	pep_action_note(act, params->profile->pn, skb->dev->ifindex);
	if (pep_steer(skb, params->profile, params->side))
		return TC_ACT_CONSUMED;
	return verdict;
}

static struct pep_action_params *
pep_action_parse(struct net *net, struct nlattr **tb,
		 struct netlink_ext_ack *extack)
{
	const char *name = PEP_PROFILE_DEFAULT;
	struct pep_action_params *params;

	if (!tb[TCA_PEPSPLIT_SIDE]) {
		NL_SET_ERR_MSG_MOD(extack,
				   "side: is required, 0 wireless or 1 server");
		return ERR_PTR(-EINVAL);
	}
	if (tb[TCA_PEPSPLIT_PROFILE])
		name = nla_data(tb[TCA_PEPSPLIT_PROFILE]);
	params = kzalloc(sizeof(*params), GFP_KERNEL);
	if (!params)
		return ERR_PTR(-ENOMEM);
	params->side = nla_get_u32(tb[TCA_PEPSPLIT_SIDE]);
	params->profile = pep_instance_bind(pep_net(net), name, extack);
	if (IS_ERR(params->profile)) {
		struct pep_profile *err = params->profile;

		kfree(params);
		return ERR_CAST(err);
	}
	atomic_inc(&params->profile->pn->devices[params->side]);
	/* A device is attached, maybe the one that was to be detached. */
	pep_leave_clear(params->profile->pn);
	return params;
}

static void pep_action_free_params(struct pep_action_params *params)
{
	struct pep_net *pn;

	if (!params)
		return;
	pn = params->profile->pn;
	if (atomic_dec_and_test(&pn->devices[params->side]))
		atomic_inc(&pn->gaps);
	pep_profile_unbind(params->profile);
	kfree_rcu(params, rcu);
}

/* Find the action or create it; *bound: it exists and must not be changed. */
static int pep_action_alloc(struct net *net, u32 *index, struct nlattr *est,
			    struct tc_action **a, u32 flags, bool *bound,
			    struct netlink_ext_ack *extack)
{
	struct tc_action_net *tn = net_generic(net, pep_action_ops.net_id);
	bool bind = flags & TCA_ACT_FLAGS_BIND;
	int err;

	err = tcf_idr_check_alloc(tn, index, a, bind);
	if (err < 0)
		return err;
	if (!err) {
		err = tcf_idr_create_from_flags(tn, *index, est, a,
						&pep_action_ops, bind, flags);
		if (err)
			tcf_idr_cleanup(tn, *index);
		return err ? err : ACT_P_CREATED;
	}
	*bound = bind;
	if (bind)
		return ACT_P_BOUND;
	if (!(flags & TCA_ACT_FLAGS_REPLACE)) {
		tcf_idr_release(*a, bind);
		NL_SET_ERR_MSG_MOD(extack,
				   "index: an action of this number is there");
		return -EEXIST;
	}
	return 0;
}

/* Count the filter that the action was made for, where it is at the ingress of one device. */
static void pep_action_attach(struct pep_action *act, struct pep_net *pn,
			      const struct tcf_proto *tp)
{
	const struct tcf_block *block = tp ? tp->chain->block : NULL;
	int ifindex;

	if (!block || !block->q || !(block->q->flags & TCQ_F_INGRESS) ||
	    block->classid == TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS))
		return;
	ifindex = qdisc_dev(block->q)->ifindex;
	if (pep_stray_attach(pn, ifindex))
		WRITE_ONCE(act->ifindex, ifindex);
}

/* The action gets another filter. */
static void pep_action_share(struct pep_action *act, struct pep_net *pn)
{
	int ifindex = xchg(&act->ifindex, 0);

	if (ifindex)
		pep_stray_share(pn, ifindex);
}

static int pep_action_init(struct net *net, struct nlattr *nla,
			   struct nlattr *est, struct tc_action **a,
			   struct tcf_proto *tp, u32 flags,
			   struct netlink_ext_ack *extack)
{
	struct pep_action_params *params, *old;
	struct nlattr *tb[TCA_PEPSPLIT_MAX + 1];
	struct tcf_chain *goto_chain = NULL;
	const struct tc_pepsplit *parm;
	struct pep_action *act;
	bool bound = false;
	int err, ret;
	bool moved;
	u32 index;

	/* Flows of any namespace use the machine's memory. */
	if (!capable(CAP_NET_ADMIN)) {
		NL_SET_ERR_MSG_MOD(extack,
				   "needs CAP_NET_ADMIN in the first user namespace");
		return -EPERM;
	}
	if (!nla) {
		NL_SET_ERR_MSG_MOD(extack, "options are required");
		return -EINVAL;
	}
	err = nla_parse_nested(tb, TCA_PEPSPLIT_MAX, nla, pep_action_policy,
			       extack);
	if (err < 0)
		return err;
	if (!tb[TCA_PEPSPLIT_PARMS]) {
		NL_SET_ERR_MSG_MOD(extack, "the fixed part is missing");
		return -EINVAL;
	}
	parm = nla_data(tb[TCA_PEPSPLIT_PARMS]);
	index = parm->index;
	ret = pep_action_alloc(net, &index, est, a, flags, &bound, extack);
	if (bound)
		pep_action_share(container_of(*a, struct pep_action, common),
				 pep_net(net));
	if (ret < 0 || bound)
		return ret;

	err = tcf_action_check_ctrlact(parm->action, tp, &goto_chain, extack);
	if (err < 0)
		goto release;
	params = pep_action_parse(net, tb, extack);
	if (IS_ERR(params)) {
		err = PTR_ERR(params);
		goto put_chain;
	}

	act = container_of(*a, struct pep_action, common);
	spin_lock_bh(&act->common.tcfa_lock);
	goto_chain = tcf_action_set_ctrlact(*a, parm->action, goto_chain);
	old = rcu_replace_pointer(act->params, params,
				  lockdep_is_held(&act->common.tcfa_lock));
	spin_unlock_bh(&act->common.tcfa_lock);
	if (goto_chain)
		tcf_chain_put_by_act(goto_chain);
	if (ret == ACT_P_CREATED)
		pep_action_attach(act, pep_net(net), tp);
	moved = old && old->side != params->side;
	pep_action_free_params(old);
	if (moved)
		pep_stray_detach(pep_net(net), 0);
	return ret;

put_chain:
	if (goto_chain)
		tcf_chain_put_by_act(goto_chain);
release:
	tcf_idr_release(*a, flags & TCA_ACT_FLAGS_BIND);
	return err;
}

static void pep_action_cleanup(struct tc_action *a)
{
	struct pep_action *act = container_of(a, struct pep_action, common);
	struct pep_action_params *params;
	struct pep_net *pn;

	params = rcu_dereference_protected(act->params, 1);
	if (!params)
		return;
	pn = params->profile->pn;
	pep_remains_schedule(pn);
	pep_action_free_params(params);
	pep_stray_detach(pn, READ_ONCE(act->ifindex));
}

static int pep_action_dump(struct sk_buff *skb, struct tc_action *a, int bind,
			   int ref)
{
	struct pep_action *act = container_of(a, struct pep_action, common);
	unsigned char *mark = skb_tail_pointer(skb);
	const struct pep_action_params *params;
	struct tc_pepsplit opt = {
		.index = a->tcfa_index,
		.refcnt = refcount_read(&a->tcfa_refcnt) - ref,
		.bindcnt = atomic_read(&a->tcfa_bindcnt) - bind,
	};
	struct tcf_t tm;

	spin_lock_bh(&a->tcfa_lock);
	opt.action = a->tcfa_action;
	params = rcu_dereference_protected(act->params,
					   lockdep_is_held(&a->tcfa_lock));
	pep_compat_tm_dump(&tm, &a->tcfa_tm);
	if (nla_put(skb, TCA_PEPSPLIT_PARMS, sizeof(opt), &opt) ||
	    nla_put_u32(skb, TCA_PEPSPLIT_SIDE, params->side) ||
	    nla_put_string(skb, TCA_PEPSPLIT_PROFILE, params->profile->name) ||
	    nla_put_64bit(skb, TCA_PEPSPLIT_TM, sizeof(tm), &tm,
			  TCA_PEPSPLIT_PAD)) {
		spin_unlock_bh(&a->tcfa_lock);
		nlmsg_trim(skb, mark);
		return -1;
	}
	spin_unlock_bh(&a->tcfa_lock);
	return skb->len;
}

static size_t pep_action_fill_size(const struct tc_action *act)
{
	return nla_total_size(sizeof(struct tc_pepsplit)) +
	       nla_total_size(sizeof(u32)) + nla_total_size(PEP_NAME_LEN);
}

static struct tc_action_ops pep_action_ops = {
	.kind		= TCA_PEPSPLIT_KIND,
	.id		= PEP_ACTION_ID,
	.owner		= THIS_MODULE,
	.act		= pep_action_act,
	.dump		= pep_action_dump,
	.init		= pep_action_init,
	.cleanup	= pep_action_cleanup,
	.get_fill_size	= pep_action_fill_size,
	.size		= sizeof(struct pep_action),
};

static int __net_init pep_action_net_init(struct net *net)
{
	struct tc_action_net *tn = net_generic(net, pep_action_ops.net_id);

	return tc_action_net_init(net, tn, &pep_action_ops);
}

static void __net_exit pep_action_net_exit(struct list_head *nets)
{
	tc_action_net_exit(nets, pep_action_ops.net_id);
}

static struct pernet_operations pep_action_net_ops = {
	.init		= pep_action_net_init,
	.exit_batch	= pep_action_net_exit,
	.id		= &pep_action_ops.net_id,
	.size		= sizeof(struct tc_action_net),
};

/**
 * pep_action_register() - register the action with tc
 *
 * Context: may sleep; once, at load.
 * Return: 0 or a negative error.
 */
int pep_action_register(void)
{
	return tcf_register_action(&pep_action_ops, &pep_action_net_ops);
}

/**
 * pep_action_unregister() - unregister the action; no instance is left
 *
 * Context: may sleep; once, at unload.
 */
void pep_action_unregister(void)
{
	tcf_unregister_action(&pep_action_ops, &pep_action_net_ops);
}
