/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_TC_PEPSPLIT_H
#define _UAPI_LINUX_TC_PEPSPLIT_H

#include <linux/pkt_cls.h>

/* Kind of the tc action, as in "tc actions show action pepsplit". */
#define TCA_PEPSPLIT_KIND	"pepsplit"

/**
 * struct tc_pepsplit - fixed part of the action's configuration
 *
 * The members are those of tc_gen: index, capab, action (the verdict for
 * packets that go on unsplit), refcnt and bindcnt.
 */
struct tc_pepsplit {
	tc_gen;
};

/*
 * Attributes of the action. TM and PARMS are numbered as act_gact numbers
 * them, so that a tc without a plugin for this kind prints the fixed part
 * rightly; attributes of our own start behind those of gact.
 */
enum {
	TCA_PEPSPLIT_UNSPEC,
	TCA_PEPSPLIT_TM,	/* struct tcf_t; times of use, read only */
	TCA_PEPSPLIT_PARMS,	/* struct tc_pepsplit; required */
	TCA_PEPSPLIT_GACT_PROB,	/* of gact, refused */
	TCA_PEPSPLIT_PAD,
	TCA_PEPSPLIT_SIDE,	/* u32, enum pep_side; required */
	TCA_PEPSPLIT_PROFILE,	/* string, 1 to 15 characters; "default" */
	__TCA_PEPSPLIT_MAX
};

#define TCA_PEPSPLIT_MAX (__TCA_PEPSPLIT_MAX - 1)

#endif
