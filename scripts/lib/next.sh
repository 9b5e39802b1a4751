# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# next.sh - a Debian 13 root to compile the module for 7.3 in, and its kernel
#
# The headers of the 7.3 kernel in trixie-backports need gcc-14, which Debian
# 12 lacks; a small root of Debian 13 has both, whatever this machine runs.

NEXT_PACKAGES=make,gcc-14,libc6-dev

# Print the folder of the root, made first when missing; removing it gets the
# newest headers.
next_root()
{
	(
		lock next
		packages_need next
		root_make "$PEP_LAB_CACHE/next" '' trixie "$NEXT_PACKAGES" \
			next-headers.sh \
			"deb $ROOT_MIRROR trixie-backports main"
	)
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

# Print the folder of the headers in the root, as this machine sees it.
next_kdir()
{
	local root

	root=$(next_root)
	echo "$root/usr/src/linux-headers-$(next_release "$root")"
}

# Run a command in a root. It sees a folder of this machine as /build, and /proc
# and resolv.conf: objtool reads /proc, apt resolves names.
next_run() # ROOT FOLDER COMMAND...
{
	mkdir -p "$1/build"
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount bash -c '
		set -e
		mount -t proc proc "$1/proc"
		mount --bind /etc/resolv.conf "$1/etc/resolv.conf"
		mount --bind "$2" "$1/build"
		root=$1
		shift 2
		exec chroot "$root" "$@"
	' bash "$1" "$2" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		${http_proxy:+"http_proxy=$http_proxy"} "${@:3}"
}

# Make the module of a folder in a root, with further arguments of make.
next_make() # ROOT FOLDER MAKE-ARG...
{
	next_run "$1" "$2" make -C "/lib/modules/$(next_release "$1")/build" \
		M=/build -j"$(nproc)" "${@:3}" modules
}

# Compile a copy of the module; any warning is a failure.
next_compile() # BUILD-FOLDER LOG
{
	local copy=$1-next root

	root=$(next_root)
	rm -rf "$copy"
	mkdir "$copy"
	tar -C "$1" --exclude='*.o' --exclude='*.ko' --exclude='*.mod*' \
		--exclude='.*.cmd' -cf - Kbuild dkms.conf kmod uapi |
		tar -C "$copy" -xf -
	next_make "$root" "$copy" W=1 KCFLAGS=-Werror > "$2" 2>&1 || return 1
	! grep -E 'warning:|WARNING:' "$2"
}

# Print the image of 7.3 that goes with the headers of the root, whose modules
# are in the root too; both are fetched first when missing. They are unpacked
# only: installed, they would need a boot loader and an initramfs.
next_image()
{
	local root release log=$PEP_LAB_CACHE/next-image.log

	root=$(next_root)
	release=$(next_release "$root")
	(
		lock next
		[ ! -e "$root/.image" ] || exit 0
		say "getting the image and the modules of $release"
		: > "$log"
		progress "$log" next_fetch "$root" "$release" ||
			die_log "$log" "getting $release (remove $root for a newer one)"
		touch "$root/.image"
	)
	echo "$root/lib/modules/$release/vmlinuz"
}

# Download the image and the modules of a release and unpack them in the root.
next_fetch() # ROOT RELEASE
{
	local rc=0

	rm -rf "$1.deb"
	mkdir "$1.deb"
	# shellcheck disable=SC2016 # expanded by the inner shell
	next_run "$1" "$1.deb" sh -exc '
		cd /build
		apt-get -q -o Acquire::Languages=none update
		apt-get -q -o APT::Sandbox::User=root download \
			"linux-binary-$1" "linux-modules-$1"
		rm -rf /var/lib/apt/lists
		for package in *.deb; do
			dpkg-deb --fsys-tarfile "$package" > files.tar
			tar -C / --keep-directory-symlink -xf files.tar
		done
	' sh "$2" && depmod -b "$1" "$2" || rc=1
	rm -rf "$1.deb"
	return "$rc"
}
