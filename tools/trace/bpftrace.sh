#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Start a script of bpftrace, or print its usage: the comment at its head. The
# scripts of this folder name this one in their first line.
#
# usage: bpftrace.sh SCRIPT [-h|--help]
#
# Exit code: that of bpftrace, which is 0 after Ctrl-C; 2 when the command line
# is wrong.

set -eu

case ${1:-} in
-h | --help)
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
	exit
	;;
'')
	echo "bpftrace.sh: an argument is missing (usage: bpftrace.sh SCRIPT)" >&2
	exit 2
	;;
esac
script=$1
shift
[ -r "$script" ] || {
	echo "bpftrace.sh: cannot read $script" >&2
	exit 2
}
case ${1:-} in
'') exec bpftrace "$script" ;;
-h | --help) sed -n '3,/^$/s,^// \{0\,1\},,p' "$script" ;;
*)
	echo "${script##*/}: takes no argument but --help: $1" >&2
	exit 2
	;;
esac
