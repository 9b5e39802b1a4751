// SPDX-License-Identifier: GPL-2.0
/* The TCP options of a SYN or SYN-ACK: may a connection with them be split? */

#include "option.h"

#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <net/tcp.h>

/* TCP-AO's number is private to the kernel's parser in some versions. */
#define PEP_TCPOPT_AO		29
#define PEP_TCPOPT_MPTCP	30
#define PEP_TCPOPT_EXP_FASTOPEN	0xF989

/* Subtype of MPTCP, upper half of the byte behind the length. */
#define PEP_MPTCP_JOIN		1

/**
 * pep_option_classify() - classify one option
 * @opt: kind byte of the option, @size bytes long by its length byte
 * @size: length of the option, 2 bytes or more
 * @found: result; all but the kind is written
 *
 * Return: PEP_OPTION_PLAIN, or the reason why the connection must not be split.
 */
static enum pep_option_kind pep_option_classify(const u8 *opt,
						unsigned int size,
						struct pep_options *found)
{
	switch (opt[0]) {
	case TCPOPT_MSS:
		if (size != TCPOLEN_MSS)
			return PEP_OPTION_UNKNOWN;
		found->mss = get_unaligned_be16(opt + 2);
		return PEP_OPTION_PLAIN;
	case TCPOPT_WINDOW:
		if (size != TCPOLEN_WINDOW)
			return PEP_OPTION_UNKNOWN;
		found->has_wscale = true;
		found->wscale = min(opt[2], TCP_MAX_WSCALE);
		return PEP_OPTION_PLAIN;
	case TCPOPT_SACK_PERM:
		if (size != TCPOLEN_SACK_PERM)
			return PEP_OPTION_UNKNOWN;
		found->has_sack = true;
		return PEP_OPTION_PLAIN;
	case TCPOPT_TIMESTAMP:
		if (size != TCPOLEN_TIMESTAMP)
			return PEP_OPTION_UNKNOWN;
		found->has_ts = true;
		found->tsval = get_unaligned_be32(opt + 2);
		return PEP_OPTION_PLAIN;
	case TCPOPT_MD5SIG:
		return PEP_OPTION_MD5;
	case PEP_TCPOPT_AO:
		return PEP_OPTION_AO;
	case PEP_TCPOPT_MPTCP:
		if (size < 3)
			return PEP_OPTION_UNKNOWN;
		return opt[2] >> 4 == PEP_MPTCP_JOIN ? PEP_OPTION_MPTCP_JOIN :
						       PEP_OPTION_MPTCP;
	case TCPOPT_FASTOPEN:
		return PEP_OPTION_FASTOPEN;
	case TCPOPT_EXP:
		/* RFC 6994: the first two bytes identify the experiment. */
		if (size >= 4 &&
		    get_unaligned_be16(opt + 2) == PEP_TCPOPT_EXP_FASTOPEN)
			return PEP_OPTION_FASTOPEN;
		return PEP_OPTION_UNKNOWN;
	default:
		return PEP_OPTION_UNKNOWN;
	}
}

/* Note a reason against splitting, unless there was one before; a profile may ignore that of
 * Multipath TCP, so another one takes its place.
 */
static void pep_option_note(struct pep_options *found, enum pep_option_kind kind)
{
	if (kind != PEP_OPTION_PLAIN &&
	    (found->kind == PEP_OPTION_PLAIN || found->kind == PEP_OPTION_MPTCP))
		found->kind = kind;
}

/**
 * pep_option_scan() - parse the options of a SYN
 * @opt: first byte behind the fixed TCP header
 * @len: length of the options, 0 to 40 bytes
 * @found: result
 *
 * Parses as tcp_parse_options() does, values behind a reason against splitting among them,
 * since the connection is followed; but a broken option is such a reason instead of being
 * ignored.
 *
 * Context: any.
 */
void pep_option_scan(const u8 *opt, unsigned int len,
		     struct pep_options *found)
{
	unsigned int size;

	memset(found, 0, sizeof(*found));
	for (; len && opt[0] != TCPOPT_EOL; opt += size, len -= size) {
		size = 1;
		if (opt[0] == TCPOPT_NOP)
			continue;
		if (len < 2 || opt[1] < 2 || opt[1] > len) {
			pep_option_note(found, PEP_OPTION_UNKNOWN);
			return;
		}
		size = opt[1];
		pep_option_note(found, pep_option_classify(opt, size, found));
	}
}
EXPORT_SYMBOL_IF_KUNIT(pep_option_scan);

/**
 * pep_option_strip() - overwrite the options of Multipath TCP
 * @opt: first byte behind the fixed TCP header of a SYN
 * @len: length of the options, 0 to 40 bytes
 *
 * Context: any.
 * Return: true when there was one.
 */
bool pep_option_strip(u8 *opt, unsigned int len)
{
	bool found = false;
	unsigned int size;

	for (; len && opt[0] != TCPOPT_EOL; opt += size, len -= size) {
		size = 1;
		if (opt[0] == TCPOPT_NOP)
			continue;
		if (len < 2 || opt[1] < 2 || opt[1] > len)
			break;
		size = opt[1];
		if (opt[0] != PEP_TCPOPT_MPTCP)
			continue;
		memset(opt, TCPOPT_NOP, size);
		found = true;
	}
	return found;
}
EXPORT_SYMBOL_IF_KUNIT(pep_option_strip);
