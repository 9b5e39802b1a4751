# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# pkg.sh - lab test packages: Debian's packages, from build to purge
#
# For each release of Debian there are two roots: one to build in, one that is
# clean except for kernels and for the tools that check the packages. They are
# kept; all steps run on a copy.

PKG_SECURITY=http://deb.debian.org/debian-security
PKG_RELEASES='bookworm trixie'
PKG_BUILD=build-essential,lintian
PKG_CLEAN=openssl,systemd-sysv,udev,dbus,initramfs-tools,man-db,python3,kmod
PKG_CLEAN+=,iproute2,ethtool,nftables,procps,curl,prometheus-node-exporter
PKG_STEPS='build lintian dependencies install module tools manuals completion'
PKG_STEPS+=' units loading boot upgrade remove purge again run source'
PKG_SELFTESTS='attach transfer'
PKG_SECONDS=600

# Print the series of Debian's kernels that a release has.
pkg_kernels() # RELEASE
{
	case $1 in
	bookworm) echo 6.12 ;;
	trixie) echo 6.12 7.3 ;;
	esac
}

# Print the further archives of a release; 7.3 is in the backports.
pkg_archives() # RELEASE
{
	echo "deb $PKG_SECURITY $1-security main"
	[ "$1" != trixie ] || echo "deb $ROOT_MIRROR trixie-backports main"
}

# Print the folder of a root, made first when missing.
pkg_root() # RELEASE build|clean
{
	local key='' include=$PKG_CLEAN hook archives

	hook="pkg-root.sh clean '$(pkg_kernels "$1")'"
	if [ "$2" = build ]; then
		key=$(grep '^Build-Depends' "$TOP/debian/control")
		include=$PKG_BUILD
		hook="pkg-root.sh build $TOP/debian/control"
	fi
	mapfile -t archives < <(pkg_archives "$1")
	root_make "$PEP_LAB_CACHE/pkg/$1-$2" "$key" "$1" "$include" "$hook" \
		"${archives[@]}"
}

# Print the folder of a fresh copy of a root, with an empty folder /lab in it.
pkg_copy() # RELEASE build|clean
{
	local root copy=$PEP_LAB_CACHE/pkg/$1-$2

	root=$(pkg_root "$1" "$2") && rm -rf "$copy" &&
		cp -a --reflink=auto "$root" "$copy" &&
		cp /etc/resolv.conf "$copy/etc" && mkdir "$copy/lab" &&
		echo "$copy"
}

# Run a command in a root, as its own system would.
pkg_in() # ROOT CMD...
{
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child bash -c '
		mount -t proc proc "$1/proc" && exec chroot "$@"
	' bash "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		${http_proxy:+"http_proxy=$http_proxy"} "${@:2}" < /dev/null
}

# Put the sources into a folder, with their own version or with a higher one for
# the upgrade.
pkg_sources() # FOLDER old|new
{
	local version

	mkdir -p "$1" &&
		build_files | tar -C "$TOP" --files-from - -cf - |
		tar -C "$1" -xf - || return 1
	[ "$2" = new ] || return 0
	version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$1/dkms.conf")
	sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"$version.1\"/" \
		"$1/dkms.conf"
	sed "1s/(.*)/($version.1)/" "$1/debian/changelog" > "$1/debian/new"
	echo >> "$1/debian/new"
	cat "$1/debian/changelog" >> "$1/debian/new"
	mv "$1/debian/new" "$1/debian/changelog"
}

# Build both versions of the packages, and copy them to the clean root.
pkg_step_build() # RELEASE
{
	local version root=$PEP_LAB_CACHE/pkg/$1-build

	pkg_copy "$1" build > /dev/null || return 1
	for version in old new; do
		pkg_sources "$root/lab/$version/pep" "$version" || return 1
		pkg_in "$root" sh -c "cd /lab/$version/pep &&
			dpkg-buildpackage -us -uc" || return 1
	done
	cp -r "$root/lab/"{old,new} "$PEP_LAB_CACHE/pkg/$1-clean/lab"
}

# No errors; warnings are shown.
pkg_step_lintian() # RELEASE
{
	pkg_in "$PEP_LAB_CACHE/pkg/$1-build" sh -c \
		'lintian --allow-root --fail-on error /lab/old/*.changes'
}

# Run the module of DKMS under the kernels that it was built for, in the root in
# which it and pepadm are installed.
pkg_step_run() # RELEASE
{
	local root=$PEP_LAB_CACHE/pkg/$1-clean series

	for series in $(pkg_kernels "$1"); do
		pkg_guest "$1" "$root" "$series" || return 1
	done
}

# Run selftests in a guest whose files are those of a root.
pkg_guest() # RELEASE ROOT SERIES
{
	local log=$TEST_LOGS/packages-$1-$3-console.log complaints

	GUEST_PARALLEL='' GUEST_ROOT=$2 guest_run "$(echo "$2"/boot/vmlinuz-"$3".*)" \
		"$PKG_SECONDS" "$log" "
		export PEP_KO=\$(modinfo -n pep) PEPADM=/usr/sbin/pepadm
		export PEP_KERNEL=stock
		uname -r
		echo \"\$PEP_KO\"
		/usr/bin/python3 /lab/old/pep/selftests/run.py $PKG_SELFTESTS" ||
		return 1
	complaints=$(guest_complaints "$log")
	[ -z "$complaints" ] || {
		echo "$complaints"
		return 1
	}
}

# Run a step as a case of KTAP, with its output.
pkg_case() # NUMBER NAME CMD...
{
	local number=$1 name=$2 rc=0

	shift 2
	"$@" 2>&1 | sed -u 's/^/    # /' || rc=1
	echo "    $([ "$rc" = 0 ] || echo 'not ')ok $number $name"
	return "$rc"
}

# The boot step: its cases are those of the session.
pkg_cases() # NUMBER RELEASE
{
	local rc=0

	echo "        # Subtest: boot"
	pkg_boot "$2" 2>&1 | tr -d '\r' | sed -u 's/^/        /' || rc=1
	echo "    $([ "$rc" = 0 ] || echo 'not ')ok $1 boot"
	return "$rc"
}

# Run all steps of one release; only their logs are left.
pkg_release() # RELEASE
{
	local clean step n=0 failed=0 command

	clean=$(pkg_copy "$1" clean) || return 1
	cp "$TOP/scripts/lib/pkg-steps.sh" "$clean/lab"
	pkg_kernels "$1" | tr ' ' '\n' > "$clean/lab/kernels"
	echo "    1..$(wc -w <<< "$PKG_STEPS")"
	for step in $PKG_STEPS; do
		n=$((n + 1))
		say "Debian $1: $step"
		case $step in
		boot)
			pkg_cases "$n" "$1" || failed=1
			continue
			;;
		build | lintian | run) command=("pkg_step_$step" "$1") ;;
		*) command=(pkg_in "$clean" /lab/pkg-steps.sh "$step") ;;
		esac
		pkg_case "$n" "$step" "${command[@]}" || failed=1
	done
	rm -rf "$PEP_LAB_CACHE/pkg/$1-build" "$clean"
	return "$failed"
}

# Run all releases as one KTAP stream.
pkg_run()
{
	local release n=0

	echo "TAP version 13"
	# shellcheck disable=SC2086 # a list of names
	set -- $PKG_RELEASES
	echo "1..$#"
	for release in "$@"; do
		n=$((n + 1))
		echo "    # Subtest: $release"
		if pkg_release "$release"; then
			echo "ok $n $release"
		else
			echo "not ok $n $release"
		fi
	done
}

lab_packages()
{
	packages_need build guest next
	lock packages
	TEST_LOGS=$PEP_LAB_CACHE/logs
	TEST_COUNTS=$TEST_LOGS/counts-packages
	mkdir -p "$TEST_LOGS"
	: > "$TEST_COUNTS"
	pkg_run | "$TOP/scripts/lib/ktap.py" packages \
		"$TEST_LOGS/packages.ktap" "$TEST_COUNTS" || true
	"$TOP/scripts/lib/counts.py" sum "$TEST_COUNTS"
}
