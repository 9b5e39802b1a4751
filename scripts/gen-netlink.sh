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
source=$TOP/Documentation/netlink/specs/pep.yaml
spec=$tmp/Documentation/netlink/specs/pep.yaml
cp "$source" "$spec"

# Print where the new form of a file of this tree is generated.
new() # FILE
{
	mkdir -p "$tmp/new/$(dirname "$1")"
	echo "$tmp/new/$1"
}

generate() # MODE KIND FILE
{
	local out

	out=$(new "$3")
	timeout 60 /usr/bin/python3 "$src/tools/net/ynl/ynl-gen-c.py" \
		--spec "$spec" --mode "$1" "--$2" -o "$out"
	# The generator has no flags for groups: only CAP_NET_ADMIN may see
	# which flows and connections exist.
	sed -i 's/= { \("[a-z]*"\), },/= { \1, GENL_MCAST_CAP_NET_ADMIN, },/' \
		"$out"
}

settings() # WHAT FILE [FILE-BEFORE]
{
	local out

	out=$(new "$2")
	/usr/bin/python3 "$TOP/scripts/gen-settings.py" "$1" "$source" \
		"$TOP/Documentation/netlink/settings.yaml" "${@:3}" > "$out"
}

names() # KIND FILE
{
	local out

	out=$(new "$2")
	/usr/bin/python3 "$TOP/scripts/gen-names.py" "$1" "$source" > "$out"
}

# Put the generated files in place, or compare them; fails when one is not current.
settle()
{
	local file rc=0

	while read -r file; do
		if [ -z "$check" ]; then
			cat "$tmp/new/$file" > "$TOP/$file"
		elif ! cmp -s "$tmp/new/$file" "$TOP/$file"; then
			echo "gen-netlink: $file is not current, run scripts/lab netlink" >&2
			rc=1
		fi
	done < <(cd "$tmp/new" && find . -type f -printf '%P\n' | sort)
	return $rc
}

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
# The kernel's generator comes last: it gives no reason for a fault of the spec.
generate kernel source kmod/netlink-gen.c
generate kernel header kmod/netlink-gen.h
generate uapi header uapi/linux/pep.h
# All of them, once each is made.
settle
