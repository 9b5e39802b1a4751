# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# link.sh - lab bench link: a subscriber's view of many links, simulated

# The sets of cells.
LINK_SETS='quick standard full'

# The sources that affect the figures: all but those of the report.
LINK_SOURCES='^(kmod|uapi|tools/(pepadm|bench)|selftests/peptest)/'
LINK_SOURCES+='|^scripts/bench/((contestants|works)\.py$|link/)'
LINK_SOURCES+='|^scripts/lib/(sim|guest-init|sim-init|link)\.sh$'
LINK_REPORT='^scripts/bench/link/(blocks|canvas|check|compare|figures|page|plots'
LINK_REPORT+='|report|sections|story|targets|words)\.py$'

# Measure and report.
bench_link() # [OPTION...]
{
	local set=quick seed=1 fresh='' out='' against='' json='' folder
	local command program=scripts/bench/link
	local only=()

	command=$(bench_command link "$@")
	while [ $# -gt 0 ]; do
		case $1 in
		--json) json=1 ;;
		--fresh) fresh=1 ;;
		--set | --seed | --link | --work | --by | -o | --against)
			[ $# -ge 2 ] || bad "bench link: $1 needs a value"
			case $1 in
			--set) set=$2 ;;
			--seed) seed=$2 ;;
			-o) out=$2 ;;
			--against) against=$2 ;;
			*) only+=("${1#--}=$2") ;;
			esac
			shift
			;;
		*) bad "no such argument of bench link: $1" ;;
		esac
		shift
	done
	bench_known set "$LINK_SETS" "$set"
	[[ $seed =~ ^[1-9][0-9]{0,8}$ ]] ||
		bad "bench link: a seed is a number from 1 to 999999999: $seed"
	if [ -n "$against" ]; then
		[ -r "$against" ] || bad "bench link: cannot read $against"
		against=$(realpath "$against")
	fi
	if [ -z "$out" ] && [ "$set" = standard ] && [ "${#only[@]}" = 0 ]; then
		out=$TOP/Documentation/benchmarks
	fi
	: "${out:=$PEP_LAB_CACHE/bench-link}"
	bench_begin
	packages_need build
	/usr/bin/python3 "$TOP/$program/sets.py" "$set" "${only[@]}" ||
		exit 2

	packages_need source guest link
	BENCH_DIR=$(build_tree sim tools)
	/usr/bin/python3 -m compileall -q "$BENCH_DIR/selftests/peptest" \
		"$BENCH_DIR/scripts/bench"
	folder=$(link_folder "$set" "$seed" "${only[@]}")
	[ -z "$fresh" ] || find "$folder" -type f -delete
	link_runs "$folder" "$set" "$seed" "${only[@]}" >&2
	mkdir -p "$out"
	out=$(realpath "$out")
	cd "$BENCH_DIR" || exit
	"$program/plan.py" gather "$folder" "$command" "$(cat \
		"$(kernel_build sim)/include/config/kernel.release")" \
		"$set" "$seed" "${only[@]}"
	[ -z "$against" ] ||
		"$program/compare.py" "$folder/link.jsonl" "$against" >&2
	cp "$folder/link.jsonl" "$out"
	"$program/report.py" "$out" "$out/link.jsonl" >&2
	[ -z "$json" ] || "$program/report.py" --json "$out/link.jsonl"
	say "the bench took $SECONDS s; results are in $out"
}

# Print the folder that keeps runs: one for each choice of cells, seed, kernel
# and state of the sources. Interrupted runs are done anew.
link_folder() # SET SEED [FILTER...]
{
	local folder key

	key=$(cd "$BENCH_DIR" && {
		kernel_key sim
		echo "$*"
		grep -E "$LINK_SOURCES" .files | grep -vE "$LINK_REPORT" |
			xargs -d '\n' sha256sum
		dpkg-query -W -f '${Version}' haproxy
	} | sha256sum | cut -c1-12)
	folder=$PEP_LAB_CACHE/link/$1-$2-$key
	mkdir -p "$folder"
	rm -f "$folder/failed"
	find "$folder" -name '*.claim' | while read -r file; do
		[ -e "${file%.claim}.jsonl" ] || rm -f "$file"
	done
	echo "$folder"
}

# Do all runs, one at a time on each CPU.
link_runs() # FOLDER SET SEED [FILTER...]
{
	local cpu pids=() pid failed=''

	say "runs are kept in $1: an interrupted bench goes on there"
	for cpu in $(sim_cpus); do
		SIM_CPU=$cpu SIM_SEED=$3 link_worker "$@" &
		pids+=("$!")
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	[ -z "$failed" ] || die "a run of the link laboratory failed"
}

# Do runs as long as there are any; after a failure the other workers stop.
link_worker() # FOLDER SET SEED [FILTER...]
{
	local job

	cd "$BENCH_DIR" || exit
	while :; do
		job=$(scripts/bench/link/plan.py next "$@") || exit 1
		case $job in
		'') return ;;
		wait) sleep 1 ;;
		*)
			link_run "$job" "$1" || {
				touch "$1/failed"
				exit 1
			}
			;;
		esac
	done
}

# Do one run; a kernel that complains makes it a failure.
link_run() # JOB FOLDER
{
	local result=${1%.claim}.jsonl log complaints

	log=$PEP_LAB_CACHE/logs/link-$(basename "$1" .claim).log
	GUEST_MEMORY=700M GUEST_FOLDER=$2 guest_run sim "$BENCH_SECONDS" "$log" "
		export PEP_KO=$BENCH_DIR/kmod/pep.ko PEP_KERNEL=sim
		export PEPADM=$BENCH_DIR/tools/pepadm/pepadm
		/usr/bin/python3 scripts/bench/link/guest.py $1 $result" ||
		return 1
	complaints=$(guest_complaints "$log")
	[ -z "$complaints" ] || {
		rm -f "$result"
		say "the kernel complained: $complaints"
		return 1
	}
}
