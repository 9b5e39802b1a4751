#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Hook of mmdebstrap: install the newest headers of 7.3 into the new root.
#
# usage: next-headers.sh ROOT

set -euo pipefail

root=${1:?usage: next-headers.sh ROOT}
headers=$(chroot "$root" apt-cache pkgnames linux-headers-7.3 |
	grep -xE 'linux-headers-7\.3\.[0-9]+\+deb13-amd64' | sort -V | tail -n 1)
chroot "$root" apt-get -qy install --no-install-recommends "$headers"
