#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Hook of mmdebstrap: finish a new root for the packages.
#
# usage: pkg-root.sh build CONTROL ROOT     the build dependencies of CONTROL
#        pkg-root.sh clean KERNELS ROOT     the newest Debian kernel of each
#                                           series, with its headers

set -euo pipefail

kind=${1:?usage: pkg-root.sh build|clean WHAT ROOT}
what=${2:?}
root=${3:?}

in_root()
{
	chroot "$root" env DEBIAN_FRONTEND=noninteractive "$@"
}

# A root is thrown away after a crash.
echo force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/lab"

case $kind in
build)
	mkdir -p "$root/build/debian"
	cp "$what" "$root/build/debian/control"
	in_root sh -c 'cd /build &&
		apt-get -qy build-dep --no-install-recommends ./'
	rm -r "$root/build"
	;;
clean)
	backports=$(grep -ho '[a-z]*-backports' "$root/etc/apt/sources.list" ||
		true)
	for series in $what; do
		release=$(in_root apt-cache pkgnames "linux-headers-$series" |
			grep -xE "linux-headers-$series\.[0-9]+\+deb1[0-9]-amd64" |
			sort -V | tail -n 1)
		release=${release#linux-headers-}
		in_root apt-get -qy install --no-install-recommends \
			${backports:+-t "$backports"} \
			"linux-headers-$release" "linux-image-$release"
	done
	;;
esac
