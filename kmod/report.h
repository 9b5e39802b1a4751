/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_REPORT_H
#define _PEP_REPORT_H

#include <linux/types.h>
#include <uapi/linux/pep.h>

#include "stat-gen.h"
#include "tuple.h"

struct genl_family;
struct net;
struct pep_flow;
struct pep_net;
struct pep_path;
struct sk_buff;

/**
 * struct pep_report_attrs - attributes of both ends' addresses and ports
 * @family: of the addresses
 * @subscriber_addr: address of the subscriber
 * @subscriber_port: their port
 * @server_addr: address of the server
 * @server_port: its port
 */
struct pep_report_attrs {
	int family;
	int subscriber_addr;
	int subscriber_port;
	int server_addr;
	int server_port;
};

int pep_report_dev(struct sk_buff *skb, int attr, struct net *net, int ifindex);
bool pep_report_wanted(const struct pep_net *pn, unsigned int group);
struct sk_buff *pep_report_begin(struct net *net, unsigned int group, u8 cmd,
				 void **hdr);
void pep_report_finish(struct net *net, unsigned int group,
		       struct sk_buff *skb, void *hdr, int err);
int pep_report_ends(struct sk_buff *skb, const struct pep_tuple *t, enum pep_side opener,
		    const struct pep_report_attrs *attrs);
int pep_report_flow(struct sk_buff *skb, const struct pep_flow *flow);
void pep_report_new(const struct pep_flow *flow);
void pep_report_closed(const struct pep_flow *flow, enum pep_stat cause);
void pep_report_overload(const struct pep_net *pn, enum pep_stat counter,
			 const struct pep_path *path);
void pep_report_drained(const struct pep_net *pn);
void pep_report_start(const struct genl_family *family);
void pep_report_stop(void);

#endif
