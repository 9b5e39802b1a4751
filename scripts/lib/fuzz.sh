# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# fuzz.sh - lab fuzz: the parsers of packets and options under libFuzzer
#
# selftests/fuzz has the fuzzers, seeds.py with hand-made inputs, and under
# corpus the inputs that fuzzers have found and that are kept because they reach
# code that no other input reaches. A run begins with all of them. It adds to
# the cache: inputs that reach new code, with which the next run begins, and
# findings.

FUZZ_TARGETS='packet option header rewrite'
FUZZ_CACHE=$PEP_LAB_CACHE/fuzz

# Print the folder of the fuzzers, built from a copy of the sources.
fuzz_build()
{
	local dir=$PEP_LAB_CACHE/build/fuzz log=$PEP_LAB_CACHE/build/fuzz.log

	build_copy "$dir"
	make -C "$dir/selftests/fuzz" -j"$(nproc)" > "$log" 2>&1 ||
		die_log "$log" "building the fuzzers"
	echo "$dir/selftests/fuzz"
}

# Print the length of the longest input of a target, bytes.
fuzz_longest() # TARGET
{
	case $1 in
	option) echo 40 ;;
	header) echo 256 ;;
	*) echo 512 ;;
	esac
}

# Print the dictionary of a target.
fuzz_dictionary() # TARGET
{
	case $1 in
	rewrite) echo packet.dict ;;
	*) echo "$1.dict" ;;
	esac
}

# Run a fuzzer. It adds new inputs to the first folder of inputs.
fuzz_target() # FOLDER TARGET ARGUMENT...
{
	local folder=$1 target=$2

	shift 2
	mkdir -p "$FUZZ_CACHE/findings"
	"$folder/fuzz_$target" -timeout=10 -print_final_stats=1 \
		-max_len="$(fuzz_longest "$target")" \
		-dict="$folder/$(fuzz_dictionary "$target")" \
		-artifact_prefix="$FUZZ_CACHE/findings/$target-" "$@" 2>&1
}

# Print runs and edges of a log, and the edges that the first inputs reach.
fuzz_figures() # LOG
{
	awk '$2 == "INITED" { first = $4 }
		$2 == "DONE" { edges = $4 }
		/^stat::number_of_executed_units/ { runs = $2 }
		/^stat::average_exec_per_sec/ { rate = $2 }
		END {
			printf "%d runs, %d a second, %d edges, %d at first\n",
				runs, rate, edges, first
		}' "$1"
}

# Print the finding of a fuzzer from its log, and the command to repeat it.
fuzz_finding() # FOLDER TARGET LOG
{
	local input

	grep -aE -m 1 ': not so: |runtime error: |ERROR: ' "$3" ||
		tail -n 1 "$3"
	input=$(sed -n 's/.*Test unit written to //p' "$3")
	if [ -n "$input" ]; then
		echo "again: $1/fuzz_$2 $input"
	fi
	echo "the whole log is $3"
}

# Fuzz one target for some seconds. Return: 0 without a finding.
fuzz_search() # FOLDER TARGET SECONDS SEED
{
	local folder=$1 target=$2 found=$FUZZ_CACHE/corpus/$2
	local log=$PEP_LAB_CACHE/logs/fuzz-$2.log

	mkdir -p "$found"
	: > "$log"
	say "fuzzing $target for $3 s"
	if progress "$log" fuzz_target "$folder" "$target" -seed="$4" \
		-max_total_time="$3" "$found" "$folder/seeds/$target" \
		"$folder/corpus/$target"; then
		echo "$target: $(fuzz_figures "$log"), seed $4"
	else
		echo "FAIL $target, seed $4: $(fuzz_finding "$folder" "$target" "$log")"
		return 1
	fi
}

# The short form: the kept inputs, and then a number of further inputs, the same
# in each run.
fuzz_short() # FOLDER TARGET
{
	local log=$PEP_LAB_CACHE/logs/fuzz-$2.log found=$FUZZ_CACHE/short
	local runs=250000 rc=0

	case $2 in
	packet | rewrite) runs=60000 ;;
	esac
	rm -rf "$found"
	mkdir -p "$found"
	fuzz_target "$1" "$2" -seed=1 -runs="$runs" "$found" \
		"$1/seeds/$2" "$1/corpus/$2" > "$log" || rc=$?
	if [ "$rc" = 0 ]; then
		fuzz_figures "$log"
	else
		printf 'failed: '
		fuzz_finding "$1" "$2" "$log"
	fi
	return "$rc"
}

# Run the short form of all targets as one KTAP stream.
fuzz_run()
{
	local folder target n=0 output word
	# shellcheck disable=SC2206 # a list of names
	local targets=($FUZZ_TARGETS)

	lock fuzz
	mkdir -p "$PEP_LAB_CACHE/logs"
	folder=$(fuzz_build) || return
	echo "TAP version 13"
	echo "1..${#targets[@]}"
	for target in "${targets[@]}"; do
		n=$((n + 1))
		word=ok
		output=$(fuzz_short "$folder" "$target") || word='not ok'
		printf '# %s\n' "${output//$'\n'/$'\n# '}"
		echo "$word $n $target"
	done
}

# Write the kept inputs anew: as few as reach, with the hand-made ones, all code
# that the former ones and those of the cache reach.
fuzz_keep()
{
	local folder target kept new=$FUZZ_CACHE/new file

	folder=$(fuzz_build)
	for target in $FUZZ_TARGETS; do
		kept=$TOP/selftests/fuzz/corpus/$target
		mkdir -p "$kept" "$FUZZ_CACHE/corpus/$target"
		rm -rf "$new"
		cp -r "$folder/seeds/$target" "$new"
		fuzz_target "$folder" "$target" -merge=1 -use_counters=0 \
			"$new" "$kept" "$FUZZ_CACHE/corpus/$target" \
			> "$PEP_LAB_CACHE/logs/fuzz-$target.log"
		for file in "$folder/seeds/$target"/*; do
			rm "$new/${file##*/}"
		done
		rm -rf "$kept"
		cp -r "$new" "$kept"
		say "$target: $(find "$kept" -type f | wc -l) inputs are kept"
	done
}

lab_fuzz() # [keep | [-s SEED] [SECONDS] [TARGET...]]
{
	local seconds=60 seed=$((SRANDOM % 1000000 + 1)) folder target rc=0

	if [ "${1:-}" = -s ]; then
		seed=${2:-}
		seed_known "$seed"
		shift 2
	fi
	if [[ ${1:-} =~ ^[1-9][0-9]{0,5}$ ]]; then
		seconds=$1
		shift
	fi
	if [ "$*" != keep ]; then
		for target in "$@"; do
			grep -qwF -- "$target" <<< "$FUZZ_TARGETS" ||
				bad "no such target: $target ($FUZZ_TARGETS)"
		done
	fi
	packages_need fuzz
	mkdir -p "$PEP_LAB_CACHE/logs"
	lock fuzz
	if [ "$*" = keep ]; then
		fuzz_keep
		return
	fi
	folder=$(fuzz_build)
	# shellcheck disable=SC2086 # a list of names
	[ $# -gt 0 ] || set -- $FUZZ_TARGETS
	for target in "$@"; do
		fuzz_search "$folder" "$target" "$seconds" "$seed" || rc=1
	done
	return "$rc"
}
