# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# next.sh - a Debian 13 root to compile the module for 7.3 in
#
# The headers of the 7.3 kernel in trixie-backports want gcc-14, which Debian
# 12 lacks; a small root of Debian 13 has both, whatever this machine runs.

NEXT_MIRROR=http://deb.debian.org/debian
NEXT_PACKAGES=make,gcc-14,libc6-dev

# Print the folder of the root, made first when missing. It is keyed by what
# goes in; removing it gets the newest headers.
next_root()
{
	local root key log

	key=$(echo "$NEXT_MIRROR $NEXT_PACKAGES" |
		cat - "$TOP/scripts/lib/next-headers.sh" | sha256sum | cut -c1-12)
	root=$PEP_LAB_CACHE/next-$key
	log=$PEP_LAB_CACHE/next.log
	(
		lock next
		[ ! -e "$root/.complete" ] || exit 0
		packages_need next
		say "making a Debian 13 root with the headers of 7.3"
		rm -rf "$root"
		: > "$log"
		progress "$log" mmdebstrap --variant=minbase \
			--aptopt='APT::Install-Recommends "false"' \
			--include="$NEXT_PACKAGES" \
			--keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
			--customize-hook="$TOP/scripts/lib/next-headers.sh \"\$1\"" \
			trixie "$root" "$NEXT_MIRROR" \
			"deb $NEXT_MIRROR trixie-backports main" ||
			die_log "$log" "mmdebstrap"
		touch "$root/.complete"
	)
	echo "$root"
}

# Print the release whose headers a root holds.
next_release() # ROOT
{
	local build

	for build in "$1"/lib/modules/7.3.*-amd64/build; do
		[ -e "$build/Makefile" ] || die "no headers of 7.3 in $1"
		basename "$(dirname "$build")"
		return
	done
}

# Compile a copy of the module in the root; any warning is a failure. objtool
# looks into /proc.
next_compile() # BUILD-FOLDER LOG
{
	local root release

	root=$(next_root)
	release=$(next_release "$root")
	rm -rf "$root/build"
	mkdir "$root/build"
	tar -C "$1" --exclude='*.o' --exclude='*.ko' --exclude='*.mod*' \
		--exclude='.*.cmd' -cf - Kbuild kmod uapi | tar -C "$root/build" -xf -
	say "compiling the module for $release"
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount bash -c '
		mount -t proc proc "$1/proc" && exec chroot "$@"
	' bash "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		make -C "/lib/modules/$release/build" M=/build W=1 \
		KCFLAGS=-Werror -j"$(nproc)" modules > "$2" 2>&1 || return 1
	! grep -E 'warning:|WARNING:' "$2"
}
