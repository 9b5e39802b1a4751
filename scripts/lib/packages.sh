# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# packages.sh - the packages that the lab installs on a bare Debian 12 or 13
#
# Everything comes from Debian's archive by apt, but for virtme-ng, which
# Debian 12 lacks: it goes from PyPI into a Python venv in the cache, on both
# releases, so that everyone boots guests with the same version.

VNG_VERSION=1.42

# Print the Debian packages of a group, kernels excepted (packages_kernel).
packages_of() # GROUP
{
	case $1 in
	build)
		echo make gcc libc6-dev pkg-config libmnl-dev libssl-dev \
			libelf-dev git kmod python3 python3-yaml \
			python3-jsonschema
		;;
	source)
		echo linux-source-6.12 xz-utils flex bison bc perl cpio
		;;
	guest)
		echo qemu-system-x86 python3-venv busybox-static udev file \
			binutils zstd procps iproute2 ethtool iperf3 curl \
			nginx tcpdump nftables conntrack wget openssl \
			haproxy rsync openssh-client dropbear-bin \
			python3-pyftpdlib python3-scapy diod bpftrace \
			trace-cmd dwarves
		;;
	bench)
		echo haproxy nginx libnginx-mod-stream linux-perf clang \
			libbpf-dev
		;;
	fuzz)
		echo clang libclang-rt-dev llvm
		;;
	link)
		echo python3-matplotlib
		;;
	style)
		echo sparse shellcheck codespell yamllint pyflakes3 \
			pycodestyle g++ mandoc systemd
		;;
	site)
		echo git mandoc python3-sphinx python3-myst-parser
		;;
	next)
		echo mmdebstrap debian-archive-keyring
		;;
	*)
		die "no such group of packages: $1"
		;;
	esac
}

# Print those of the packages that are not installed.
packages_missing() # PACKAGE...
{
	local p

	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2> /dev/null)" = \
			"ii " ] || echo "$p"
	done
}

# Fail early and clearly where apt cannot help.
packages_check_system()
{
	local id='' version=''

	[ "$(id -u)" = 0 ] ||
		die "run as root: packages, mount namespaces and guests need it"
	[ "$(dpkg --print-architecture 2> /dev/null)" = amd64 ] ||
		die "only Debian on amd64 is supported"
	id=$(. /etc/os-release && echo "${ID:-}")
	version=$(. /etc/os-release && echo "${VERSION_ID:-}")
	case $id-$version in
	debian-12 | debian-13) ;;
	*) say "this is $id $version; the lab is made for Debian 12 and 13" ;;
	esac
}

# Update the package lists, at most once a run.
packages_update()
{
	[ -z "${PACKAGES_UPDATED:-}" ] || return 0
	say "updating the package lists"
	progress "$PEP_LAB_CACHE/apt.log" apt-get -q update ||
		die_log "$PEP_LAB_CACHE/apt.log" "apt-get update"
	PACKAGES_UPDATED=1
}

# Packages whose services are needed in guests, not on this machine.
PACKAGES_SERVICES='nginx haproxy rsync diod'

# Install packages without their recommendations. A policy-rc.d keeps their
# services from being started; those that were not here before are disabled
# from the next boot on.
packages_install() # PACKAGE...
{
	local log=$PEP_LAB_CACHE/apt.log policy=/usr/sbin/policy-rc.d rc=0
	local new service

	packages_update
	# shellcheck disable=SC2086 # a list of packages
	new=$(packages_missing $PACKAGES_SERVICES)
	say "installing $*"
	[ ! -e "$policy" ] || policy=
	(
		[ -z "$policy" ] || {
			# It must not stay where the installation is interrupted,
			# nor go before apt, which goes on to its end.
			trap 'rm -f "$policy"' EXIT
			trap 'wait; exit 130' INT TERM HUP
			printf '#!/bin/sh\nexit 101\n' > "$policy"
			chmod 755 "$policy"
		}
		DEBIAN_FRONTEND=noninteractive progress "$log" apt-get -qy \
			-o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
			install --no-install-recommends "$@"
	) || rc=$?
	[ "$rc" = 0 ] || die_log "$log" "apt-get install $*"
	for service in $new; do
		[ -n "$(packages_missing "$service")" ] ||
			update-rc.d "$service" disable >> "$log" 2>&1 || true
	done
}

# Install the missing packages of some groups.
packages_need() # GROUP...
{
	local group missing names=()

	packages_check_system
	mkdir -p "$PEP_LAB_CACHE"
	for group in "$@"; do
		# shellcheck disable=SC2207 # package names have no blanks
		names+=($(packages_of "$group"))
	done
	missing=$(packages_missing "${names[@]}")
	# shellcheck disable=SC2086 # a list of packages
	[ -z "$missing" ] || packages_install $missing
}

# Print the release of the newest installed 6.12 kernel of Debian that has
# both its image and its headers here.
packages_kernel_installed()
{
	local dir release

	for dir in /lib/modules/6.12.*+deb1[0-9]-amd64; do
		release=${dir##*/}
		if [ -e "/boot/vmlinuz-$release" ] &&
			[ -e "$dir/build/Makefile" ] &&
			[ -e "$dir/modules.dep" ]; then
			echo "$release"
		fi
	done | sort -V | tail -n 1
}

# Print the release of the 6.12 kernel to install: that of linux-source-6.12
# when its image and headers are there, else the newest that has both.
packages_kernel_choose()
{
	local names source release

	source=$(apt-cache policy linux-source-6.12 |
		sed -n 's/^ *Candidate: *\(6\.12\.[0-9]*\)-.*/\1/p')
	names=$(apt-cache pkgnames linux- |
		grep -xE 'linux-(image|headers)-6\.12\.[0-9]+\+deb1[0-9]-amd64')
	release=$(comm -12 \
		<(sed -n 's/^linux-image-//p' <<< "$names" | sort) \
		<(sed -n 's/^linux-headers-//p' <<< "$names" | sort) |
		awk -v first="$source+" '{ print index($0, first) == 1, $0 }' |
		sort -k1,1n -k2,2V | tail -n 1 | cut -d' ' -f2)
	[ -n "$release" ] ||
		die "no linux-image-6.12 with matching headers in the archive; Debian 12 has it in bookworm-security"
	echo "$release"
}

# Print the release of the stock kernel, installed first when it is not there.
packages_kernel()
{
	local release

	release=$(packages_kernel_installed)
	if [ -z "$release" ]; then
		packages_check_system
		packages_update
		release=$(packages_kernel_choose)
		say "Debian's kernel $release goes beside the one that runs; a boot loader may take it at the next boot"
		packages_install "linux-image-$release" "linux-headers-$release"
		release=$(packages_kernel_installed)
		[ -n "$release" ] || die "the 6.12 kernel did not install rightly"
	fi
	echo "$release"
}

# Print the path of vng, installed into a venv of the cache when missing.
packages_vng()
{
	local venv log=$PEP_LAB_CACHE/pip.log

	venv=$PEP_LAB_CACHE/virtme-ng-$VNG_VERSION-py$(/usr/bin/python3 -c \
		'import sys; print("%d.%d" % sys.version_info[:2])')
	if [ ! -e "$venv/.complete" ]; then
		say "installing virtme-ng $VNG_VERSION from PyPI into $venv"
		rm -rf "$venv"
		/usr/bin/python3 -m venv "$venv" > "$log" 2>&1 ||
			die_log "$log" "making $venv"
		progress "$log" "$venv/bin/pip" install -q \
			"virtme-ng==$VNG_VERSION" ||
			die_log "$log" "installing virtme-ng"
		touch "$venv/.complete"
	fi
	echo "$venv/bin/vng"
}

# Print the path of Prometheus' promtool. It is taken out of Debian's package
# without installing that: installed, the package would start a server.
packages_promtool()
{
	local dir=$PEP_LAB_CACHE/promtool log=$PEP_LAB_CACHE/apt.log

	if [ ! -e "$dir/usr/bin/promtool" ]; then
		(
			lock promtool
			rm -rf "$dir" "$dir.new"
			mkdir -p "$dir.new"
			chmod 0777 "$dir.new"
			cd "$dir.new" || exit
			apt-get -q download prometheus >> "$log" 2>&1 || {
				packages_update >&2
				apt-get -q download prometheus >> "$log" 2>&1
			} || die_log "$log" "apt-get download prometheus"
			dpkg-deb --fsys-tarfile prometheus_*.deb |
				tar -x ./usr/bin/promtool
			rm prometheus_*.deb
			mv "$dir.new" "$dir"
		)
	fi
	echo "$dir/usr/bin/promtool"
}
