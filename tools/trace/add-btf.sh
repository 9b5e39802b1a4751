#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Add BTF to a module that was built with headers that lack the vmlinux which
# the kernel's build takes the base from; Debian's have it. The base of the
# running kernel will do as well, so run this on the machine the module is for.
# Do this before the module is signed and stripped. A kernel refuses a module
# with BTF that it does not accept: pahole has to be as new as the kernel. 1.24,
# of Debian 12, is for 6.12, and too old for 7.3.
#
# usage: add-btf.sh MODULE
#
# Exit code: 0; 1 when the kernel or pahole refuses; 2 when the command line is
# wrong.

set -eu

case ${1:-} in
-h | --help)
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
	exit
	;;
esac

base=/sys/kernel/btf/vmlinux
if [ $# != 1 ]; then
	echo "add-btf: a module is missing (usage: add-btf.sh MODULE)" >&2
	exit 2
fi
if [ ! -w "$1" ]; then
	echo "add-btf: cannot write to $1" >&2
	exit 2
fi
if [ ! -r "$base" ]; then
	echo "add-btf: the kernel that runs has no BTF" >&2
	exit 1
fi
exec pahole -J --btf_base "$base" "$1"
