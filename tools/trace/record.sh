#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Record events of pep beside those of TCP, for trace-cmd report and
# KernelShark.
#
# usage: record.sh FILE [COMMAND...]
#
# Needs root, trace-cmd and the module. Records into FILE, times in ns, until
# COMMAND ends, or until Ctrl-C; all events but those of each packet and of a
# connection's stages, which are too many. Show one flow of it by
#   trace-cmd report -i FILE -F 'pep:flow == 7'
#
# Exit code: that of trace-cmd; 2 when the command line is wrong.

set -eu

case ${1:-} in
-h | --help)
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
	exit
	;;
esac
case ${1:-} in
'' | -*)
	echo "record: a file is missing (usage: record.sh FILE [COMMAND...])" >&2
	exit 2
	;;
esac
file=$1
shift
exec trace-cmd record -o "$file" -e pep:pep_syn -e pep:pep_unsplit \
	-e pep:pep_accept -e pep:pep_connect -e pep:pep_state -e pep:pep_stall \
	-e pep:pep_resume -e pep:pep_careful -e pep:pep_relay \
	-e pep:pep_residence -e pep:pep_close -e tcp:tcp_retransmit_skb \
	-e sock:inet_sock_set_state "$@"
