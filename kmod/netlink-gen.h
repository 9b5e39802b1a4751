/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/pep.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_PEP_GEN_H
#define _LINUX_PEP_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/pep.h>

/* Common nested types */
extern const struct nla_policy pep_end_nl_policy[PEP_A_END_TSVAL + 1];

int pep_nl_conn_get_start(struct netlink_callback *cb);
int pep_nl_path_get_start(struct netlink_callback *cb);
int pep_nl_conn_get_done(struct netlink_callback *cb);
int pep_nl_path_get_done(struct netlink_callback *cb);

int pep_nl_profile_get_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_profile_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pep_nl_profile_add_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_profile_set_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_profile_del_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_flow_get_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_flow_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pep_nl_flow_kill_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_limit_get_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_limit_set_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_stat_get_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_stat_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pep_nl_residence_get_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_profile_replace_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_limit_replace_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_flow_release_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_conn_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pep_nl_flow_export_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pep_nl_flow_import_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_path_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int pep_nl_path_flush_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_path_stat_get_doit(struct sk_buff *skb, struct genl_info *info);
int pep_nl_gain_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

enum {
	PEP_NLGRP_FLOWS,
	PEP_NLGRP_CONNS,
};

extern struct genl_family pep_nl_family;

#endif /* _LINUX_PEP_GEN_H */
