# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# kernel.sh - kernels for the guests: where they come from, where they are kept
#
# stock        Debian's linux-image 6.12, as installed by apt
# next         linux-image 7.3 of trixie-backports, in the root of next.sh
# fast, frags, debug, rt, kcsan, sim, simdebug
#              built from Debian's linux-source-6.12 out of the fragments in
#              selftests/config, kept under $PEP_LAB_CACHE/kernels/NAME-KEY; KEY
#              is a hash of everything that goes in, so that a changed fragment,
#              source package or compiler builds a new one. sim and simdebug are
#              User Mode Linux, for sim.sh.

# Fail when there is no such kernel.
kernel_known() # NAME
{
	case $1 in
	stock | next | fast | frags | debug | rt | kcsan | sim | simdebug) ;;
	*)
		bad "no such kernel: $1 (stock, next, fast, frags, debug, rt," \
			"kcsan, sim or simdebug)"
		;;
	esac
}

# Print the fragments of a built kernel, lowest first.
kernel_fragments() # FLAVOUR
{
	local dir=$TOP/selftests/config

	case $1 in
	fast) echo "$dir/base.config" "$dir/net.config" ;;
	frags) echo "$dir/base.config" "$dir/net.config" "$dir/frags.config" ;;
	debug) echo "$dir/base.config" "$dir/net.config" "$dir/debug.config" ;;
	rt) echo "$dir/base.config" "$dir/net.config" "$dir/rt.config" ;;
	kcsan) echo "$dir/base.config" "$dir/net.config" "$dir/kcsan.config" ;;
	sim) echo "$dir/net.config" "$dir/sim.config" ;;
	simdebug)
		echo "$dir/net.config" "$dir/debug.config" "$dir/sim.config" \
			"$dir/simdebug.config" \
			${LAB_COVERAGE:+"$dir/gcov.config"}
		;;
	*) die "not a kernel that the lab builds: $1" ;;
	esac
}

# Print the architecture of a built kernel, in the form for make.
kernel_arch() # FLAVOUR
{
	sim_kernel "$1" && echo um || echo x86
}

# Unpack Debian's kernel source into the cache; prints the folder. To be called
# in a subshell, which holds a lock until it ends.
kernel_source()
{
	local version dir

	version=$(dpkg-query -W -f '${Version}' linux-source-6.12) ||
		die "linux-source-6.12 is not installed"
	dir=$PEP_LAB_CACHE/source/linux-source-$version
	lock source
	if [ ! -e "$dir/.complete" ]; then
		say "unpacking linux-source-6.12 $version"
		rm -rf "$dir"
		mkdir -p "$dir"
		tar -xf /usr/src/linux-source-6.12.tar.xz -C "$dir" \
			--strip-components=1
		touch "$dir/.complete"
	fi
	echo "$dir"
}

# Print the variables of make that a kernel is built with besides its configuration.
kernel_variables() # FLAVOUR
{
	# See kcsan.config; modules are built without it.
	[ "$1" != kcsan ] || echo KCSAN_SANITIZE=n
}

# Print the cache key of a built kernel.
kernel_key() # FLAVOUR
{
	local frags

	frags=$(kernel_fragments "$1")
	# shellcheck disable=SC2086 # a list of files
	{
		cat $frags
		kernel_variables "$1"
		dpkg-query -W -f '${Version}' linux-source-6.12
		gcc -dumpfullversion
	} | sha256sum | cut -c1-16
}

# Fail when an option of the fragments did not end up in the configuration:
# allnoconfig silently drops an option that lacks a dependency. When several
# fragments set an option, the last one counts.
kernel_check_config() # CONFIG FRAGMENT...
{
	local config=$1 missing

	shift
	missing=$(cat "$@" | sed -n 's/^# \(CONFIG_[A-Z0-9_]*\) is not set$/\1=n/p
		/^CONFIG_/p' | awk -F= '{ last[$1] = $0 }
		END { for (name in last) print last[name] }' |
		grep '=[^n]' | grep -vxFf "$config" || true)
	[ -z "$missing" ] || die "kernel options that did not stick: $missing"
}

# Is a kernel Debian's, or already built in the cache?
kernel_built() # KERNEL
{
	case $1 in
	stock | next) ;;
	*) [ -e "$PEP_LAB_CACHE/kernels/$1-$(kernel_key "$1")/.complete" ] ;;
	esac
}

# Print the build folder of a kernel, built first unless it is in the cache;
# it serves as KDIR for modules and holds vmlinux and arch/x86/boot/bzImage,
# that of User Mode Linux the program linux.
kernel_build() # FLAVOUR
{
	local out

	out=$PEP_LAB_CACHE/kernels/$1-$(kernel_key "$1")
	[ -e "$out/.complete" ] || (
		lock "kernel-$1"
		[ -e "$out/.complete" ] || kernel_make "$1" "$out"
	)
	echo "$out"
}

# Configure and compile a kernel into a folder, or resume its build.
kernel_make() # FLAVOUR FOLDER
{
	local flavour=$1 out=$2 src frags log make targets='bzImage modules'

	! sim_kernel "$flavour" || targets='linux modules'
	src=$(kernel_source)
	frags=$(kernel_fragments "$flavour")
	log=$out/build.log
	make=(make -C "$src" O="$out" "ARCH=$(kernel_arch "$flavour")")
	# shellcheck disable=SC2207 # words without spaces
	make+=($(kernel_variables "$flavour"))
	say "building the $flavour kernel (10 to 20 minutes on 2 cores, once)"
	if [ ! -e "$out/.configured" ]; then
		rm -rf "$out"
		mkdir -p "$out"
		# shellcheck disable=SC2086 # a list of files
		cat $frags > "$out/all.config"
		"${make[@]}" -s KCONFIG_ALLCONFIG="$out/all.config" \
			allnoconfig > "$log" 2>&1 ||
			die_log "$log" "configuration"
		# shellcheck disable=SC2086 # a list of files
		kernel_check_config "$out/.config" $frags
		touch "$out/.configured"
	fi
	# shellcheck disable=SC2086 # a list of targets
	progress "$log" "${make[@]}" -j"$(nproc)" $targets ||
		die_log "$log" "kernel build"
	touch "$out/.complete"
}
