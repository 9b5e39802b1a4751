# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# coverage.sh - lab coverage: the lines of the module that selftests reach

# The kernel of the guests, here with gcov.config; it can have memory fail.
COVERAGE_KERNEL=simdebug

# Where the kernel has what gcov counts, by the folder of the object files.
COVERAGE_COUNTS=/sys/kernel/debug/gcov

# Print shell commands that copy the counts in a guest to a folder of this machine.
# Their files have no size, cp would copy nothing.
coverage_copy() # MODULE-FOLDER TO
{
	cat << END
for file in $COVERAGE_COUNTS$1/*.gcda; do
	cat "\$file" > "$2/\${file##*/}"
done
END
}

lab_coverage() # [-o FOLDER] [-m MINUTES] [NAME...]
{
	local out=$TOP/Documentation/reliability command='scripts/lab coverage'
	local lines=$PEP_LAB_CACHE/logs/coverage.txt minutes rc

	while [ $# -gt 0 ]; do
		case $1 in
		-o) out=$(value_of "$@") ;;
		-m)
			minutes=$(value_of "$@")
			minutes_known coverage "$minutes"
			export SOAK_SECONDS=$((minutes * 60))
			command+=" -m $minutes"
			;;
		-*) bad "no such option of coverage: $1" ;;
		*) break ;;
		esac
		shift 2
	done
	test_names "$@"
	# shellcheck disable=SC2034 # of build.sh and kernel.sh
	LAB_COVERAGE=1
	mkdir -p "$PEP_LAB_CACHE" "$out"
	COVERAGE_RESULTS=$(mktemp -d "$PEP_LAB_CACHE/coverage-XXXXXX")
	set +e
	(
		set -e
		lab_test -k "$COVERAGE_KERNEL" "$@"
	)
	rc=$?
	set -e
	"$TOP/scripts/lib/coverage.py" "$out/coverage.md" "$lines" \
		"$command${*:+ $*}" "$(build_folder "$COVERAGE_KERNEL")/kmod" \
		"$COVERAGE_RESULTS"
	rm -r "$COVERAGE_RESULTS"
	say "the table is $out/coverage.md, the lines that no test reaches: $lines"
	return "$rc"
}
