# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# test.sh - lab test: checks on this machine, then selftests in guests

# CPUs of the emulated guests: the first one has them in parallel and runs alone, the
# others run at the same time. TEST_TURNS are the guests that take turns with the
# tests, but for those that need the first guest or mostly wait, which share the last.
TEST_GUESTS=(4 2 2 2)
TEST_TURNS=(1 2 3 1 2 3 1 2)

# The kernels that the full run needs and that are built, in its order.
TEST_BUILT='sim simdebug debug'

# Print names of selftests, see run.py.
test_list() # [--list [KERNEL]|--full KERNEL|--trait TRAIT]
{
	/usr/bin/python3 -B "$TOP/selftests/run.py" "${@:---list}"
}

# Print the seconds of this machine that a guest may take for some selftests: at
# least twice the time that they take here, with two CPUs. One of them may take 900.
test_timeout() # KERNEL TESTS
{
	case $1 in
	debug | rt | kcsan) echo $((1800 + 400 * $2)) ;;
	sim | simdebug) echo $((300 + 30 * $2)) ;;
	*) echo $((1800 + 120 * $2)) ;;
	esac
}

# Add one failure that belongs to no test to the counts and show it.
test_fail() # TITLE TEXT
{
	echo "FAIL $1: $2"
	printf 'fail\t%s\t-\t%s\ncount\t%s\t-\t0\t1\t0\t1\n' \
		"$1" "$2" "$1" >> "$TEST_COUNTS"
}

# Checks of the sources, see style.sh.
test_style() # CHECK...
{
	style_run "$@" | "$TOP/scripts/lib/ktap.py" host "$TEST_LOGS/host.ktap" \
		"$TEST_COUNTS" || true
}

# The fuzzers in their short form.
test_fuzz()
{
	fuzz_run | "$TOP/scripts/lib/ktap.py" fuzz "$TEST_LOGS/fuzz.ktap" \
		"$TEST_COUNTS" || true
}

# Run a benchmark, to test only its form.
test_bench() # attack|cost|link
{
	say "running the benchmark $1 in its short form"
	bench_check "$1" "$TEST_LOGS/bench-$1" |
		"$TOP/scripts/lib/ktap.py" "bench-$1" \
			"$TEST_LOGS/bench-$1.ktap" "$TEST_COUNTS" || true
}

# Check whether the emulator has killed a guest, and print the fault. QEMU runs
# each CPU in a thread of its own, and one of them can hit a breakpoint that the
# kernel has already removed when it changed its own code on another CPU (static
# keys). In simulated time a late alarm of the host sets User Mode Linux's clock
# to the last timer that it was set for, some nanoseconds back at times, which
# stops that kernel. No processor can set any of the upper ten bits of the flags
# (EFLAGS has none there): if one is set, QEMU has taken an exception in the
# middle of an instruction.
test_emulator_fault() # KERNEL LOG
{
	local flags='([1-9a-f].|.[1-9a-f]|..[4-9a-f])'

	if sim_kernel "$1"; then
		grep -ao -m 1 'time-travel: time goes backwards' "$2"
	else
		! guest_kvm &&
			grep -aoE -m 1 "Oops: int3|EFLAGS: ${flags}[0-9a-f]*" "$2"
	fi
}

# Print the CPUs of each guest that runs selftests of a kernel. A guest of User
# Mode Linux has a single CPU, and one CPU of this machine for itself.
test_guests() # KERNEL
{
	local cpus

	if sim_kernel "$1"; then
		cpus=$(sim_cpus)
		tr ' ' '\n' <<< "$cpus" | sed 's/.*/1/'
	else
		printf '%s\n' "${TEST_GUESTS[@]}"
	fi
}

# Print the tests of one guest: guests take turns, emulated ones by TEST_TURNS,
# so that they end at about the same time.
test_share() # KERNEL GUESTS INDEX NAME...
{
	local kernel=$1 guests=$2 guest=$3 name turn i=0 n=0
	local longest waits alone

	shift 3
	longest=$(test_list --trait longest)
	waits=$(test_list --trait waits)
	alone=$(test_list --trait alone)
	for name in "$@"; do
		if [ "$guests" = 1 ]; then
			turn=0
		elif sim_kernel "$kernel" && grep -qxF -- "$name" <<< "$longest"; then
			turn=$((n++ % guests))
		elif sim_kernel "$kernel"; then
			turn=$((i++ % guests))
		elif grep -qxF -- "$name" <<< "$waits"; then
			turn=$((guests - 1))
		elif grep -qxF -- "$name" <<< "$alone"; then
			turn=0
		elif [ "$kernel" = debug ]; then
			turn=$((1 + i++ % 2))
		else
			turn=${TEST_TURNS[i++ % ${#TEST_TURNS[@]}]}
		fi
		[ "$turn" != "$guest" ] || echo "$name"
	done
}

# Build kernels while the CPUs have nothing else to do. A session has a share of
# the CPUs of its own (autogroup), which only a write to its own file reduces.
test_build_begin()
{
	# shellcheck disable=SC2016,SC2086 # expanded by the inner shell; a list
	setsid chrt --idle 0 bash -ec '
		! [ -w /proc/self/autogroup ] || echo 19 > /proc/self/autogroup
		lab=$1
		shift
		for kernel in "$@"; do "$lab" kernel "$kernel"; done
	' bash "$TOP/scripts/lab" $TEST_BUILT >> "$TEST_LOGS/build.log" 2>&1 &
	TEST_BUILD=$!
	trap test_build_end EXIT
}

# Stop building in the background.
test_build_end()
{
	[ -n "${TEST_BUILD:-}" ] || return 0
	kill -TERM -- "-$TEST_BUILD" 2> /dev/null || true
	wait "$TEST_BUILD" 2> /dev/null || true
	TEST_BUILD=
}

# Build a kernel that is needed now on all CPUs, then go on with the others in
# the background.
test_build_now() # KERNEL
{
	! kernel_built "$1" || return 0
	test_build_end
	kernel_build "$1" > /dev/null
	test_build_begin
}

# Run the selftests of one kernel in guests at the same time: a single guest
# leaves half of two CPUs idle.
test_kernel() # KERNEL NAME...
{
	local kernel=$1 dir i list names share guests cpus pids=()

	shift
	names=("$@")
	if [ $# = 0 ]; then
		list=$(test_list --list "$kernel")
		mapfile -t names <<< "$list"
	fi
	dir=$(build_tree "$kernel" tools)
	packages_promtool > /dev/null
	if sim_kernel "$kernel"; then
		read -ra cpus <<< "$(sim_cpus)"
	else
		guest_kvm || true
		packages_vng > /dev/null
		guest_image "$kernel" > /dev/null
	fi
	say "booting the $kernel kernel for the selftests"
	mapfile -t guests < <(test_guests "$kernel")
	for i in "${!guests[@]}"; do
		mapfile -t share < <(test_share "$kernel" "${#guests[@]}" "$i" \
			"${names[@]}")
		[ "${#share[@]}" -gt 0 ] || continue
		GUEST_CPUS=${guests[i]} SIM_CPU=${cpus[i]:-} \
			GUEST_PARALLEL=$([ "$i" -gt 0 ] || echo 1) \
			test_guest "$kernel" "$dir" "$kernel-$((i + 1))" \
			"${share[@]}" &
		pids+=("$!")
		# The guest that runs its CPUs in parallel leaves no CPU to the
		# others, and they make its CPUs wait for each other.
		sim_kernel "$kernel" || [ "$i" -gt 0 ] || wait "$!" || true
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

# Run the selftests of one guest; once more when the emulator was at fault.
test_guest() # KERNEL FOLDER TITLE NAME...
{
	local counts=$TEST_LOGS/counts-$3 fault

	: > "$counts"
	TEST_COUNTS=$counts test_guest_once "$@"
	if fault=$(test_emulator_fault "$1" "$TEST_LOGS/$3-console.log"); then
		say "the emulator is at fault ($fault); once more"
		: > "$counts"
		TEST_COUNTS=$counts test_guest_once "$@"
	fi
	cat "$counts" >> "$TEST_COUNTS"
}

# Run the selftests in one boot; the console must stay clean.
test_guest_once() # KERNEL FOLDER TITLE NAME...
{
	local kernel=$1 dir=$2 title=$3 names log timeout kunit='' promtool
	local complaints line ynl rc=() folder='' copy=''

	shift 3
	names=$(printf ' %q' "$@")
	log=$TEST_LOGS/$title-console.log
	timeout=$(($(test_timeout "$kernel" $#) + 2 * ${SOAK_SECONDS:-0} +
		${NLFUZZ_MESSAGES:-0} / 50))
	[ ! -e "$dir/kmod/pep_kunit.ko" ] || kunit=$dir/kmod/pep_kunit.ko
	promtool=$(packages_promtool)
	ynl=$(kernel_source)/tools/net/ynl
	if [ -n "$LAB_COVERAGE" ]; then
		folder=$COVERAGE_RESULTS/$title
		mkdir -p "$folder"
		copy=$(coverage_copy "$dir/kmod" "$folder")
	fi
	: > "$log"
	(
		cd "$dir"
		GUEST_FOLDER=$folder guest_run "$kernel" "$timeout" "$log" "
			export PEP_KO=$dir/kmod/pep.ko PEP_KERNEL=$kernel
			export PEPADM=$dir/tools/pepadm/pepadm
			export PEP_KUNIT=$kunit PEP_PROMTOOL=$promtool
			export PEP_YNL=$ynl
			export PEP_WITHOUT=${PEP_WITHOUT:-}
			export PEP_CASE=$(printf %q "${PEP_CASE:-}")
			export PEP_SOAK_SECONDS=${SOAK_SECONDS:-}
			export PEP_SOAK_SEED=${SOAK_SEED:-}
			export PEP_NLFUZZ_MESSAGES=${NLFUZZ_MESSAGES:-}
			export PEP_NLFUZZ_SEED=${NLFUZZ_SEED:-}
			/usr/bin/python3 selftests/run.py$names
			rc=\$?
			$copy
			exit \$rc"
	) | "$TOP/scripts/lib/ktap.py" "$title" "$TEST_LOGS/$title.ktap" \
		"$TEST_COUNTS" || rc=("${PIPESTATUS[@]}")
	if [ "${rc[1]:-0}" -gt 1 ]; then
		test_fail "$title" "exit code ${rc[1]} of ktap.py: results are lost"
	elif [ "${rc[0]:-0}" -gt 1 ] ||
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
	local kernels='' kernel

	if [ "$*" = packages ]; then
		lab_packages
		return
	fi
	while [ $# -gt 0 ]; do
		case $1 in
		-k)
			kernels=$(value_of "$@")
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
	if [ -n "$kernels" ]; then
		for kernel in $kernels; do
			test_kernel "$kernel" "$@"
		done
	elif [ $# -gt 0 ]; then
		test_named "$@"
	else
		test_everything
	fi
	"$TOP/scripts/lib/counts.py" sum "$TEST_COUNTS"
}

# Run all tests, each on the kernels where it shows something.
test_everything()
{
	local kernel list names

	packages_need style site fuzz next link
	rm -f "$TEST_LOGS/build.log"
	test_build_begin
	test_style "${STYLE_CHECKS[@]}"
	test_fuzz
	test_bench cost
	# shellcheck disable=SC2086 # a list
	for kernel in stock $TEST_BUILT; do
		test_build_now "$kernel"
		list=$(test_list --full "$kernel")
		mapfile -t names <<< "$list"
		test_kernel "$kernel" "${names[@]}"
		[ "$kernel" != sim ] || {
			test_bench link
			test_bench attack
		}
	done
}

# Run some selftests, on the kernels that have them in the full run.
test_named() # NAME...
{
	local kernel names

	# shellcheck disable=SC2086 # a list
	for kernel in stock $TEST_BUILT; do
		mapfile -t names < <(test_list --full "$kernel" |
			grep -xF -- "$(printf '%s\n' "$@")")
		[ "${#names[@]}" = 0 ] || test_kernel "$kernel" "${names[@]}"
	done
}

# Check the names of selftests before anything is built.
test_names() # NAME...
{
	local name known

	known=$(test_list)
	for name in "$@"; do
		grep -qxF -- "$name" <<< "$known" || bad "no such selftest: $name; selftests/run.py --list has them"
	done
}
