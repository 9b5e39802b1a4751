# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# attack.sh - lab bench attack: honest traffic beside attackers

# Seconds that an attack lasts.
ATTACK_SECONDS=20
ATTACK_SECONDS_SHORT=4

# The contestants on the gateway.
ATTACK_CONTESTANTS='forward pep'

# Measure and report.
bench_attack() # [--short] [-o FOLDER] [ATTACK...]
{
	local size=full seconds=$ATTACK_SECONDS out='' command
	local program=scripts/bench/attack known names

	command=$(bench_command attack "$@")
	while [ $# -gt 0 ]; do
		case $1 in
		--short)
			size=short seconds=$ATTACK_SECONDS_SHORT
			;;
		-o)
			out=$(value_of "$@")
			shift
			;;
		-*) bad "no such option of bench attack: $1" ;;
		*) break ;;
		esac
		shift
	done
	bench_begin
	packages_need build
	known=$(/usr/bin/python3 "$TOP/$program/plan.py" full)
	names=$(/usr/bin/python3 "$TOP/$program/plan.py" "$size")
	[ $# = 0 ] || names=$*
	# shellcheck disable=SC2086 # a list of names
	bench_known attack "$known" $names
	if [ -z "$out" ]; then
		out=$PEP_LAB_CACHE/bench-attack
		[ "$size$#" != full0 ] || out=$TOP/Documentation/reliability
	fi
	packages_need source guest
	bench_build pep
	attack_cost "$names"
	BENCH_DIR=$(build_tree sim tools)
	attack_guests "$seconds" "$names"
	mkdir -p "$out"
	"$TOP/$program/report.py" "$out" "$command" "$BENCH_RESULTS"
	rm -r "$BENCH_RESULTS"
	say "the bench took $SECONDS s; results are in $out"
}

# Measure honest traffic beside attacks, with a guest in simulated time for each
# contestant; one guest on each CPU.
attack_guests() # SECONDS NAMES
{
	local cpus name pid pids=() failed='' number=0

	read -ra cpus <<< "$(sim_cpus)"
	for name in $ATTACK_CONTESTANTS; do
		SIM_CPU=${cpus[number % ${#cpus[@]}]} \
			attack_guest "$name" "$@" &
		pids+=("$!")
		number=$((number + 1))
		[ "${#cpus[@]}" -gt 1 ] || wait "$!" || failed=1
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	[ -z "$failed" ] || die "an attack could not be measured"
}

attack_guest() # CONTESTANT SECONDS NAMES
{
	local log=$PEP_LAB_CACHE/logs/attack-$1.log dir=$BENCH_DIR complaints

	say "attacking $1"
	(
		cd "$dir" || exit
		GUEST_MEMORY=2G GUEST_FOLDER=$BENCH_RESULTS \
			guest_run sim "$BENCH_SECONDS" "$log" "
			export PEP_KO=$dir/kmod/pep.ko PEP_KERNEL=sim
			export PEPADM=$dir/tools/pepadm/pepadm
			/usr/bin/python3 scripts/bench/attack/guest.py \
				$BENCH_RESULTS/attack-$1.jsonl $1 $2 $3"
	) >&2 || return 1
	complaints=$(guest_complaints "$log")
	[ -z "$complaints" ] || {
		say "the kernel complained: $complaints"
		return 1
	}
}

# Measure the instructions that a packet of an attack takes.
attack_cost() # NAMES
{
	local name

	for name in $ATTACK_CONTESTANTS; do
		say "measuring what packets of attacks cost $name"
		bench_guest "attack-cost-$name" "attack/cost.py $name $1"
	done
}
