# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# test.sh - lab test: checks on this machine, then selftests in guests

# CPUs of the guests that run selftests at the same time, those of the first in
# parallel; the tests that need these and are the only ones there, for such a
# guest may die of its emulator; and those that mostly wait, which are left to
# the last guest.
TEST_GUESTS=(4 2 2 2)
TEST_WIDE='contend'
TEST_PATIENT='asymmetric_link asymmetry death route timers window'

# Those that wait most, and do nothing that a kernel in simulated time cannot:
# without -k it has them in place of the stock kernel, in a tenth of the time.
TEST_SIMULATED='asymmetric_link asymmetry death window'

# Tests of programs, which the debug kernel only makes slow: it is left
# out unless they are named. It has no events to trace.
TEST_PROGRAMS='completion dashboard trace ynl'

# Print the names of all selftests, or of those that a kernel is for.
test_list() # [KERNEL]
{
	/usr/bin/python3 "$TOP/selftests/run.py" --list |
		case ${1:-} in
		debug) grep -vxE "${TEST_PROGRAMS// /|}" ;;
		sim) grep -xE "${TEST_SIMULATED// /|}" ;;
		*) cat ;;
		esac
}

# Print the selftests of a kernel in a run of all.
test_all() # KERNEL
{
	test_list "$1" | if [ "$1" = stock ]; then
		grep -vxE "${TEST_SIMULATED// /|}"
	else
		cat
	fi
}

# Print the seconds the selftests of one guest may take in all.
test_timeout() # KERNEL
{
	case $1 in
	debug) echo 3000 ;;
	sim) echo 600 ;;
	*) echo 1800 ;;
	esac
}

# Add one failure that is none of a test to the counts and show it.
test_fail() # TITLE TEXT
{
	echo "FAIL $1: $2"
	printf 'fail\t%s\t-\t%s\ncount\t%s\t-\t0\t1\t0\t1\n' \
		"$1" "$2" "$1" >> "$TEST_COUNTS"
}

# The checks that need no guest.
test_host()
{
	style_run | "$TOP/scripts/lib/ktap.py" host "$TEST_LOGS/host.ktap" \
		"$TEST_COUNTS" || true
}

# A benchmark, of which only the form is tested.
test_bench() # cost|link
{
	say "running the benchmark $1 in its short form"
	bench_check "$1" "$TEST_LOGS/bench-$1" |
		"$TOP/scripts/lib/ktap.py" "bench-$1" \
			"$TEST_LOGS/bench-$1.ktap" "$TEST_COUNTS" || true
}

# Tell whether a guest died of its emulator: QEMU runs each CPU in a thread of
# its own, and one of them can meet a breakpoint that the kernel has already
# taken away again when it changed its own code on another (static keys).
test_emulator_fault() # LOG
{
	! guest_kvm && grep -qa 'Oops: int3' "$1"
}

# Print the tests of one guest: all but the first and the last one take turns,
# which makes them end at about the same time.
test_share() # INDEX NAME...
{
	local guest=$1 name turn i=0 last=$((${#TEST_GUESTS[@]} - 1))

	shift
	for name in "$@"; do
		if grep -qwF -- "$name" <<< "$TEST_PATIENT"; then
			turn=$last
		elif grep -qwF -- "$name" <<< "$TEST_WIDE"; then
			turn=0
		else
			turn=$((1 + i % (last - 1)))
			i=$((i + 1))
		fi
		[ "$turn" != "$guest" ] || echo "$name"
	done
}

# Build kernels while the CPUs have nothing else to do. A session has a share of
# the CPUs of its own (autogroup), which only its own file makes small.
test_build_begin() # KERNEL...
{
	# shellcheck disable=SC2016 # expanded by the inner shell
	setsid chrt --idle 0 bash -ec '
		! [ -w /proc/self/autogroup ] || echo 19 > /proc/self/autogroup
		lab=$1
		shift
		for kernel in "$@"; do "$lab" kernel "$kernel"; done
	' bash "$TOP/scripts/lab" "$@" > "$TEST_LOGS/build.log" 2>&1 &
	TEST_BUILD=$!
	trap test_build_end EXIT
}

# Stop building in the background; who needs the kernel goes on with it.
test_build_end()
{
	[ -n "${TEST_BUILD:-}" ] || return 0
	kill -TERM -- "-$TEST_BUILD" 2> /dev/null || true
	wait "$TEST_BUILD" 2> /dev/null || true
	TEST_BUILD=
}

# Selftests of one kernel in guests that run at the same time, for a single one
# leaves half of two CPUs idle.
test_kernel() # KERNEL NAME...
{
	local kernel=$1 dir i names share pids=()

	shift
	names=("$@")
	[ $# -gt 0 ] || mapfile -t names < <(test_list "$kernel")
	kernel_built "$kernel" || test_build_end
	dir=$(build_tree "$kernel" tools)
	guest_kvm || true
	packages_vng > /dev/null
	packages_promtool > /dev/null
	guest_image "$kernel" > /dev/null
	say "booting the $kernel kernel for the selftests"
	for i in "${!TEST_GUESTS[@]}"; do
		mapfile -t share < <(test_share "$i" "${names[@]}")
		[ "${#share[@]}" -gt 0 ] || continue
		GUEST_CPUS=${TEST_GUESTS[i]} \
			GUEST_PARALLEL=$([ "$i" -gt 0 ] || echo 1) \
			test_guest "$kernel" "$dir" "$kernel-$((i + 1))" \
			"${share[@]}" &
		pids+=("$!")
	done
	for i in "${pids[@]}"; do
		wait "$i" || test_fail "$kernel" "a guest could not be run"
	done
	mapfile -t names < <("$TOP/scripts/lib/counts.py" again \
		"$TEST_COUNTS" "$kernel")
	[ "${#names[@]}" -gt 0 ] || return 0
	say "once more, with nothing beside: ${names[*]}"
	GUEST_CPUS=${TEST_GUESTS[0]} test_guest "$kernel" "$dir" \
		"$kernel-again" "${names[@]}"
}

# The selftests of one guest; once more when the emulator was at fault.
test_guest() # KERNEL FOLDER TITLE NAME...
{
	local counts=$TEST_LOGS/counts-$3

	: > "$counts"
	TEST_COUNTS=$counts test_guest_once "$@"
	if test_emulator_fault "$TEST_LOGS/$3-console.log"; then
		say "the emulator ran a stale breakpoint (int3); once more"
		: > "$counts"
		TEST_COUNTS=$counts test_guest_once "$@"
	fi
	cat "$counts" >> "$TEST_COUNTS"
}

# The selftests in one boot; the console must stay clean.
test_guest_once() # KERNEL FOLDER TITLE NAME...
{
	local kernel=$1 dir=$2 title=$3 names log timeout kunit='' promtool
	local complaints line ynl rc=()

	shift 3
	names=$(printf ' %q' "$@")
	log=$TEST_LOGS/$title-console.log
	timeout=$(test_timeout "$kernel")
	[ ! -e "$dir/kmod/pep_kunit.ko" ] || kunit=$dir/kmod/pep_kunit.ko
	promtool=$(packages_promtool)
	ynl=$(kernel_source)/tools/net/ynl
	: > "$log"
	(
		cd "$dir"
		guest_run "$kernel" "$timeout" "$log" "
			export PEP_KO=$dir/kmod/pep.ko PEP_KERNEL=$kernel
			export PEPADM=$dir/tools/pepadm/pepadm
			export PEP_KUNIT=$kunit PEP_PROMTOOL=$promtool
			export PEP_YNL=$ynl
			/usr/bin/python3 selftests/run.py$names"
	) | "$TOP/scripts/lib/ktap.py" "$title" "$TEST_LOGS/$title.ktap" \
		"$TEST_COUNTS" || rc=("${PIPESTATUS[@]}")
	if [ "${rc[0]:-0}" -gt 1 ] ||
		{ [ "${rc[1]:-0}" = 0 ] && [ "${rc[0]:-0}" != 0 ]; }; then
		test_fail "$title" "exit code ${rc[0]} of the selftests"
	fi
	complaints=$(guest_complaints "$log")
	[ -n "$complaints" ] || return 0
	while read -r line; do
		test_fail "$title" "$line"
	done <<< "$complaints"
	say "the whole console of $title is $log"
}

lab_test() # [-k KERNEL] [NAME...]
{
	local kernels='' kernel host=1

	if [ "$*" = packages ]; then
		lab_packages
		return
	fi
	while [ $# -gt 0 ]; do
		case $1 in
		-k)
			kernels=${2:?}
			host=
			shift 2
			;;
		-*) bad "no such option of test: $1" ;;
		*) break ;;
		esac
	done
	for kernel in $kernels; do
		kernel_known "$kernel"
	done
	test_names "$@"

	TEST_LOGS=$PEP_LAB_CACHE/logs
	TEST_COUNTS=$TEST_LOGS/counts
	mkdir -p "$TEST_LOGS"
	lock test
	: > "$TEST_COUNTS"
	packages_need build source guest
	if [ -n "$host" ] && [ $# = 0 ]; then
		test_everything
	else
		for kernel in ${kernels:-stock debug}; do
			test_kernel "$kernel" "$@"
		done
	fi
	"$TOP/scripts/lib/counts.py" sum "$TEST_COUNTS"
}

# All there is, each test on the kernels where it shows something.
test_everything()
{
	local kernel names

	packages_need style next link
	test_build_begin sim debug
	test_host
	test_bench cost
	for kernel in stock sim debug; do
		mapfile -t names < <(test_all "$kernel")
		test_kernel "$kernel" "${names[@]}"
		[ "$kernel" != sim ] || test_bench link
	done
}

# Check the names of selftests before anything is built.
test_names() # NAME...
{
	local name known

	known=$(test_list)
	for name in "$@"; do
		grep -qxF -- "$name" <<< "$known" || bad "no such selftest: $name"
	done
}
