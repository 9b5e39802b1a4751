/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_OPTION_H
#define _PEP_OPTION_H

#include <linux/types.h>

/**
 * enum pep_option_kind - meaning of the options of a SYN or SYN-ACK for splitting
 * @PEP_OPTION_PLAIN: nothing that a split connection would lose
 * @PEP_OPTION_MD5: TCP-MD5, RFC 2385: signed end to end
 * @PEP_OPTION_AO: TCP-AO, RFC 5925: signed end to end
 * @PEP_OPTION_MPTCP: Multipath TCP, RFC 8684, is requested
 * @PEP_OPTION_MPTCP_JOIN: one more path of a Multipath TCP connection, MP_JOIN,
 *	which must not be answered as plain TCP
 * @PEP_OPTION_FASTOPEN: TCP Fast Open, RFC 7413
 * @PEP_OPTION_UNKNOWN: an option that is unknown or malformed
 */
enum pep_option_kind {
	PEP_OPTION_PLAIN,
	PEP_OPTION_MD5,
	PEP_OPTION_AO,
	PEP_OPTION_MPTCP,
	PEP_OPTION_MPTCP_JOIN,
	PEP_OPTION_FASTOPEN,
	PEP_OPTION_UNKNOWN,
};

/**
 * struct pep_options - values found among the options of a SYN or SYN-ACK
 * @kind: the first reason against splitting, or PEP_OPTION_PLAIN;
 *	PEP_OPTION_MPTCP only when there is no other
 * @has_ts: there is a timestamp option, RFC 7323
 * @has_wscale: there is a window scale
 * @has_sack: SACK is permitted, RFC 2018
 * @wscale: shift count of windows, at most TCP_MAX_WSCALE
 * @mss: maximum segment size, bytes; 0 when there is none
 * @tsval: value of the timestamp, ticks of the sender's clock
 */
struct pep_options {
	enum pep_option_kind kind;
	bool has_ts;
	bool has_wscale;
	bool has_sack;
	u8 wscale;
	u16 mss;
	u32 tsval;
};

bool pep_option_strip(u8 *opt, unsigned int len);
void pep_option_scan(const u8 *opt, unsigned int len,
		     struct pep_options *found);

#endif
