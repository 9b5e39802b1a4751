# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bench.sh - lab bench: the cost of pep and other proxies, in instructions

# The kernel of the guests.
BENCH_KERNEL=stock

# Seconds that a guest may take.
BENCH_SECONDS=3600

BENCH_CONTESTANTS='haproxy nginx sockmap pep follow'
BENCH_PROFILED='haproxy pep'
BENCH_PROFILE_WORKS='bulk-40 mtu-gro short transact'
BENCH_SHORT='haproxy pep'

# Fail when one of some names is not in a list.
bench_known() # WHAT LIST NAME...
{
	local what=$1 list=$2 name

	shift 2
	for name in "$@"; do
		grep -qwF -- "$name" <<< "$list" ||
			bad "no such $what: $name ($list)"
	done
}

# Once its command line is right, a bench waits for other runs of the lab, but not
# for the test that it is a part of.
bench_begin()
{
	[ -n "${BENCH_IN_TEST:-}" ] || lock test
}

# Print the command of a bench for its report: with the options that affect
# figures, without those that name a folder or a file to compare with.
bench_command() # attack|cost|profile|residence|link [ARGUMENT...]
{
	local words="scripts/lab bench $1"

	shift
	while [ $# -gt 0 ]; do
		case $1 in
		-o | --against) shift ;;
		--fresh | --json) ;;
		*) words+=" $1" ;;
		esac
		shift || true
	done
	echo "$words"
}

# Run a program of scripts/bench in a guest, by default of one CPU that counts
# instructions; the program writes its results to a folder.
bench_guest() # TITLE PROGRAM CONTESTANT [ARGUMENT...]
{
	local log=$PEP_LAB_CACHE/logs/bench-$1.log dir=$BENCH_DIR complaints

	shift
	mkdir -p "$(dirname "$log")"
	(
		cd "$dir" || exit
		GUEST_CPUS=${BENCH_CPUS:-1} GUEST_MEMORY=4G \
			GUEST_ICOUNT=${BENCH_ICOUNT-1} \
			GUEST_FOLDER=$BENCH_RESULTS \
			guest_run "$BENCH_KERNEL" "$BENCH_SECONDS" "$log" "
			export PEP_KO=$dir/kmod/pep.ko PEP_KERNEL=$BENCH_KERNEL
			export PEPADM=$dir/tools/pepadm/pepadm
			export BENCH_TOOLS=$dir/tools/bench
			export BENCH_RESULTS=$BENCH_RESULTS
			/usr/bin/python3 scripts/bench/$*"
	) >&2 || die "the guest of $* failed: $log"
	complaints=$(guest_complaints "$log")
	[ -z "$complaints" ] || die "the kernel complained: $complaints"
}

# Build the files that the guests need; sets BENCH_DIR.
bench_build() # CONTESTANT...
{
	packages_need build guest
	[ "$*" = pep ] || packages_need bench
	BENCH_DIR=$(build_tree "$BENCH_KERNEL" tools)
	! grep -qw sockmap <<< "$*" ||
		make -C "$BENCH_DIR/tools/bench" sockmap \
			>> "$BENCH_DIR/build.log" 2>&1 ||
		die_log "$BENCH_DIR/build.log" "building the sockmap proxy"
	BENCH_RESULTS=$(mktemp -d "$PEP_LAB_CACHE/bench-XXXXXX")
}

# The parts of bench cost.
BENCH_PARTS='works steer record idle scale'

# Measure contestants and report.
bench_cost() # [--short] [-6] [-k KERNEL] [-o FOLDER] [-p PART]... [CONTESTANT...]
{
	local size=full family=4 out='' command
	local contestants=$BENCH_CONTESTANTS parts=''

	command=$(bench_command cost "$@")
	while [ $# -gt 0 ]; do
		case $1 in
		--short)
			size=short contestants=$BENCH_SHORT
			;;
		-6) family=6 ;;
		-k)
			BENCH_KERNEL=$(value_of "$@")
			kernel_known "$BENCH_KERNEL"
			shift
			;;
		-o)
			out=$(value_of "$@")
			shift
			;;
		-p)
			parts+=" $(value_of "$@")"
			shift
			;;
		-*) bad "no such option of bench cost: $1" ;;
		*) break ;;
		esac
		shift
	done
	[ $# = 0 ] || contestants=$*
	: "${parts:=$([ "$size" = short ] && echo works || echo "$BENCH_PARTS")}"
	# shellcheck disable=SC2086 # lists of names
	{
		bench_known contestant "$BENCH_CONTESTANTS" $contestants
		bench_known part "$BENCH_PARTS" $parts
	}
	bench_begin

	# shellcheck disable=SC2086 # a list of names
	bench_build $contestants
	bench_cost_parts "$size" "$family" "$contestants" "$parts"
	bench_report cost "${out:-$(bench_folder "$size")}" "$command"
}

# Measure each part of the contestants that have it.
bench_cost_parts() # full|short FAMILY CONTESTANTS PARTS
{
	local name part

	for part in $4; do
		for name in $3; do
			case $part-$name in
			works-*)
				say "measuring what $name costs"
				bench_guest "cost-$name" cost.py "$name" "$1" "$2"
				;;
			steer-follow)
				say "measuring packets that are only forwarded"
				bench_guest "steer-$name" steer.py "$name" "$1" "$2"
				;;
			record-pep)
				say "measuring records of ended flows"
				bench_guest "record-$name" record.py "$name" "$1" "$2"
				;;
			idle-pep)
				say "measuring idle connections"
				bench_guest "idle-$name" idle.py "$name" "$1" "$2"
				;;
			idle-follow)
				say "measuring connections that are followed"
				bench_guest "idle-$name" followed.py "$name" "$1" "$2"
				;;
			scale-pep)
				say "measuring two CPUs"
				BENCH_CPUS=2 BENCH_ICOUNT='' bench_guest \
					"scale-$name" scale.py "$name" "$1" "$2"
				;;
			esac
		done
	done
}

# Write the report of the measurements.
bench_report() # cost|profile|residence FOLDER COMMAND
{
	mkdir -p "$2"
	"$TOP/scripts/bench/report_$1.py" "$2" "$3" "$BENCH_RESULTS"
	rm -r "$BENCH_RESULTS"
	say "the bench took $SECONDS s; results are in $2"
}

# Sample the works of contestants and report.
bench_profile() # [-6] [-o FOLDER] [-w WORK]... [CONTESTANT...]
{
	local family=4 out='' name works='' command
	local contestants=$BENCH_PROFILED

	command=$(bench_command profile "$@")
	while [ $# -gt 0 ]; do
		case $1 in
		-6) family=6 ;;
		-o | -w)
			if [ "$1" = -o ]; then
				out=$(value_of "$@")
			else
				works+=" $(value_of "$@")"
			fi
			shift
			;;
		-*) bad "no such option of bench profile: $1" ;;
		*) break ;;
		esac
		shift
	done
	[ $# = 0 ] || contestants=$*
	: "${works:=$BENCH_PROFILE_WORKS}"
	# shellcheck disable=SC2086 # a list of names
	bench_known contestant "$BENCH_CONTESTANTS" $contestants
	bench_begin

	packages_need bench
	# shellcheck disable=SC2086 # a list of names
	bench_build $contestants
	for name in $contestants; do
		say "looking at where $name spends instructions"
		bench_guest "profile-$name" sample.py "$name" "$family" "$works"
	done
	bench_report profile "${out:-$(bench_folder full)}" "$command"
}

# Sample a slow download by contestants and report.
bench_residence() # [--short] [-6] [-o FOLDER] [CONTESTANT...]
{
	local size=full family=4 out='' name
	local contestants=$BENCH_PROFILED command

	command=$(bench_command residence "$@")
	while [ $# -gt 0 ]; do
		case $1 in
		--short) size=short ;;
		-6) family=6 ;;
		-o)
			out=$(value_of "$@")
			shift
			;;
		-*) bad "no such option of bench residence: $1" ;;
		*) break ;;
		esac
		shift
	done
	[ $# = 0 ] || contestants=$*
	# shellcheck disable=SC2086 # a list of names
	bench_known contestant "$BENCH_CONTESTANTS" $contestants
	bench_begin

	# shellcheck disable=SC2086 # a list of names
	bench_build $contestants
	for name in $contestants; do
		say "looking at how long payload stays in $name"
		bench_guest "residence-$name" residence.py "$name" "$size" \
			"$family"
	done
	bench_report residence "${out:-$(bench_folder "$size")}" \
		"$command"
}

# A benchmark in its short form, as a KTAP stream of one case: it runs, and its
# report is complete.
bench_check() # attack|cost|link FOLDER
{
	local dir=$2 bench check

	case $1 in
	attack) bench='bench_attack --short' check=attack/check.py ;;
	cost) bench='bench_cost --short' check=check.py ;;
	link) bench='bench_link --set quick --fresh' check=link/check.py ;;
	esac
	rm -rf "$dir"
	mkdir -p "$dir"
	echo "TAP version 13"
	echo "1..1"
	# shellcheck disable=SC2086 # a command with options
	if (BENCH_IN_TEST=1 && $bench -o "$dir") > "$dir.log" 2>&1 &&
		"$TOP/scripts/bench/$check" "$dir" >> "$dir.log" 2>&1; then
		echo "ok 1 $1"
	else
		sed 's/^/# /' "$dir.log"
		echo "not ok 1 $1"
	fi
}

# Print the folder of results: those of a full run go to the documentation.
bench_folder() # full|short
{
	case $1-$BENCH_KERNEL in
	full-stock) echo "$TOP/Documentation/benchmarks" ;;
	full-*) echo "$TOP/Documentation/benchmarks/$BENCH_KERNEL" ;;
	*) echo "$PEP_LAB_CACHE/bench" ;;
	esac
}

lab_bench()
{
	local what=${1:-}

	[ $# = 0 ] || shift
	case $what in
	attack | cost | profile | residence | link) "bench_$what" "$@" ;;
	*) bad "bench needs a word: attack, cost, link, profile or residence" ;;
	esac
}
