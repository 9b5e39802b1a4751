# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# root.sh - roots of other releases of Debian, made by mmdebstrap and kept

ROOT_MIRROR=http://deb.debian.org/debian

# Print the folder of a minimal root with some packages, parted by commas, and
# what a hook does to it; the hook is a program of scripts/lib with arguments,
# called with these and the root. The folder is PREFIX with a hash of all
# that goes in, KEY for the part that the hook's arguments do not cover. It is
# made first when missing, and others of that prefix are removed. Removing it
# gets the newest packages. The caller holds a lock.
root_make() # PREFIX KEY RELEASE PACKAGES HOOK ARCHIVE...
{
	local prefix=$1 release=$3 packages=$4 hook=$5 root key log=$1.log

	key=$({
		echo "$ROOT_MIRROR" "${@:2:3}" "${hook//"$TOP"/}" "${@:6}"
		cat "$TOP/scripts/lib/${hook%% *}"
	} | sha256sum | cut -c1-12)
	root=$prefix-$key
	if [ ! -e "$root/.complete" ]; then
		say "making a root of Debian $release ($(basename "$prefix"))"
		rm -rf "$prefix"-????????????
		mkdir -p "$(dirname "$prefix")"
		: > "$log"
		progress "$log" mmdebstrap --variant=minbase \
			--aptopt='APT::Install-Recommends "false"' \
			--include="$packages" \
			--keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
			--customize-hook="$TOP/scripts/lib/$hook \"\$1\"" \
			"$release" "$root" "$ROOT_MIRROR" "${@:6}" ||
			die_log "$log" "mmdebstrap"
		touch "$root/.complete"
	fi
	echo "$root"
}
