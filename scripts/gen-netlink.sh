#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Generate the netlink policy, operations and UAPI header of pep from
# Documentation/netlink/specs/pep.yaml with the kernel's own ynl generator, and the code
# for the settings of a profile from it and Documentation/netlink/settings.yaml.
#
# usage: gen-netlink.sh [--check] KERNEL-SOURCE
#   --check   change nothing, exit 1 when a generated file is not current
# KERNEL-SOURCE is that of Linux 6.12, as "scripts/lab netlink" has it. Exit code:
# 0, 1 when the generator fails, 2 when the command line is wrong.

set -euo pipefail

case ${1:-} in
-h | --help)
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
	exit
	;;
esac
TOP=$(cd "$(dirname "$0")/.." && pwd)
check=
if [ "${1:-}" = --check ]; then
	check=1
	shift
fi
src=${1:-}
if [ $# != 1 ] || [ ! -e "$src/tools/net/ynl/ynl-gen-c.py" ]; then
	echo "gen-netlink: no source of a kernel: $* (usage: gen-netlink.sh [--check] KERNEL-SOURCE)" >&2
	exit 2
fi

# The generator looks for the schema one level above the spec. The paths in
# its file headers are relative to the folder with a MAINTAINERS file.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/Documentation/netlink/specs"
touch "$tmp/MAINTAINERS"
cp "$src/Documentation/netlink/genetlink.yaml" "$tmp/Documentation/netlink/"
spec=$tmp/Documentation/netlink/specs/pep.yaml
cp "$TOP/Documentation/netlink/specs/pep.yaml" "$spec"

rc=0
generate() # MODE KIND FILE
{
	timeout 60 /usr/bin/python3 "$src/tools/net/ynl/ynl-gen-c.py" \
		--spec "$spec" --mode "$1" "--$2" -o "$tmp/$(basename "$3")"
	# The generator has no flags for groups: only CAP_NET_ADMIN may see
	# which flows and connections exist.
	sed -i 's/= { \("[a-z]*"\), },/= { \1, GENL_MCAST_CAP_NET_ADMIN, },/' \
		"$tmp/$(basename "$3")"
	settle "$3"
}

# Put a generated file in place, or compare.
settle() # FILE
{
	local made
	made=$tmp/$(basename "$1")
	if [ -z "$check" ]; then
		mkdir -p "$(dirname "$TOP/$1")"
		cp "$made" "$TOP/$1"
	elif ! cmp -s "$made" "$TOP/$1"; then
		echo "gen-netlink: $1 is not current, run make netlink" >&2
		rc=1
	fi
}

settings() # WHAT FILE [FILE-BEFORE]
{
	/usr/bin/python3 "$TOP/scripts/gen-settings.py" "$1" "$spec" \
		"$TOP/Documentation/netlink/settings.yaml" "${@:3}" \
		> "$tmp/$(basename "$2")"
	settle "$2"
}

names() # KIND FILE
{
	/usr/bin/python3 "$TOP/scripts/gen-names.py" "$1" "$spec" \
		> "$tmp/$(basename "$2")"
	settle "$2"
}

generate kernel source kmod/netlink-gen.c
generate kernel header kmod/netlink-gen.h
generate uapi header uapi/linux/pep.h
names pepadm tools/pepadm/names-gen.h
names kmod kmod/names-gen.h
names stat kmod/stat-gen.h
settings kmod kmod/settings-gen.h
settings pepadm-header tools/pepadm/settings-gen.h
settings pepadm-source tools/pepadm/settings-gen.c
settings selftests selftests/peptest/settings-gen.json
for file in completion:tools/completion/pepadm \
	manual:Documentation/man/pepadm.8; do
	settings "${file%%:*}" "${file#*:}" "$TOP/${file#*:}"
done
exit $rc
