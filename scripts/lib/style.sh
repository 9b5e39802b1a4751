# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# style.sh - the checks of the sources that need no guest
#
# Every check is a function style_NAME that prints errors and fails; the checks
# run in $STYLE_DIR, a copy of the sources. $STYLE_KDIR has the headers
# of the stock kernel, $STYLE_SRC the source of Debian's 6.12.

# In the order in which they run: calls reads the objects of sparse, usage calls a
# program that tools builds.
STYLE_CHECKS=(netlink checkpatch sparse kernel_doc includes calls uapi
	counters language tools usage shellcheck python yamllint man
	site units checklists next)

# Print the names of all checks for the usage text.
style_names()
{
	fold -s -w 50 <<< "${STYLE_CHECKS[*]}" |
		sed 's/^/                            /; s/ $//'
}

# C sources and headers written by hand.
style_c_files()
{
	grep -E '\.[ch]$' .files | grep -vE -- '-gen\.[ch]$|^uapi/linux/pep\.h$'
}

# Generated code matches the present output of the generator for the spec.
style_netlink()
{
	scripts/gen-netlink.sh --check "$STYLE_SRC"
}

# The kernel's own rules, except the one that MAINTAINERS lists a new file: that
# is for patches to the kernel's tree. compat.h is for a module outside that
# tree: the one place that may check the kernel's version. Events in trace.h
# have a form of their own.
style_checkpatch()
{
	local rc=0

	style_dictionary > .dictionary
	style_c_files | grep -vxE 'kmod/(compat|trace)\.h' |
		style_checkpatch_run FILE_PATH_CHANGES || rc=1
	style_c_files | grep -x kmod/compat.h |
		style_checkpatch_run \
			FILE_PATH_CHANGES,LINUX_VERSION_CODE,CONSTANT_COMPARISON ||
		rc=1
	style_c_files | grep -x kmod/trace.h |
		style_checkpatch_run \
			FILE_PATH_CHANGES,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT ||
		rc=1
	return "$rc"
}

style_checkpatch_run() # IGNORED-TYPES < FILES
{
	xargs -r -d '\n' -n 8 -P "$(nproc)" "$STYLE_SRC/scripts/checkpatch.pl" \
		--no-tree --strict --terse --show-types --no-summary \
		--codespell --codespellfile .dictionary --ignore "$1" -f
}

# Print codespell's dictionary without the words that are names in the kernel:
# tc's PARMS attributes and the input interface of a route.
style_dictionary()
{
	local dictionary

	dictionary=$(dpkg -L codespell | grep -m1 '/dictionary\.txt$')
	grep -vE '^(parms?|iif)->' "$dictionary"
}

# No warning of gcc at W=1, none of sparse about our files.
style_sparse()
{
	local log=$STYLE_DIR/sparse.log rc=0

	make -C "$STYLE_KDIR" M="$STYLE_DIR" clean > /dev/null
	make -C "$STYLE_KDIR" M="$STYLE_DIR" W=1 C=2 CF=-D__CHECK_ENDIAN__ \
		KCFLAGS=-Werror -j"$(nproc)" modules > "$log" 2>&1 || rc=$?
	[ "$rc" = 0 ] || tail -n 40 "$log"
	! grep -E 'warning:|WARNING:|error:' "$log" && [ "$rc" = 0 ]
}

style_kernel_doc()
{
	style_c_files | grep -E '^(kmod|tools)/' |
		xargs -d '\n' "$STYLE_SRC/scripts/kernel-doc" -none -Wall -Werror
}

style_includes()
{
	scripts/check-includes.py \
		Documentation/networking/pep-design.rst kmod
}

# Checks the objects that style_sparse() has made.
style_calls()
{
	scripts/check-calls.py Documentation/networking/pep-design.rst kmod
}

# Each counter of the netlink spec is wherever it belongs.
style_counters()
{
	scripts/check-counters.py
}

# Comments and documents are plain English; generated files and reports are not
# written by hand.
style_language()
{
	grep -E '(\.(c|h|py|sh|rst|md|[458])|^scripts/lab|Makefile|Kbuild)$' .files |
		grep -vE -- '-gen\.[ch]$|^uapi/|/[a-z]+\.md$' |
		xargs -d '\n' scripts/check-language.py
}

# A program may include any UAPI header first, in C99 and in C++.
style_uapi()
{
	local header rc=0

	while read -r header; do
		gcc -std=c99 -Wall -Wextra -pedantic -Werror -fsyntax-only \
			-Iuapi -x c "$header" || rc=1
		g++ -Wall -Wextra -pedantic -Werror -fsyntax-only \
			-Iuapi -x c++ "$header" || rc=1
	done < <(grep -E '^uapi/.*\.h$' .files)
	return "$rc"
}

# Tools compile without a warning.
style_tools()
{
	make clean > /dev/null
	make -s tools CFLAGS='-O2 -g -Wall -Wextra -Werror'
}

# Programs print their usage and refuse wrong arguments; style_tools() has built
# one of them.
style_usage()
{
	scripts/check-usage.py .files
}

style_shellcheck()
{
	local files

	files=$(xargs -d '\n' grep -lE '^#!.*\b(ba)?sh\b|^# shellcheck shell=' \
		2> /dev/null < .files | grep -v '\.bt$' || true)
	# shellcheck disable=SC2086 # a list of files without blanks
	shellcheck -x $files
}

style_python()
{
	local rc=0

	grep -E '\.py$' .files | xargs -d '\n' pyflakes3 || rc=1
	grep -E '\.py$' .files | xargs -d '\n' pycodestyle || rc=1
	return "$rc"
}

style_yamllint()
{
	yamllint -s Documentation/netlink tools/prometheus -d \
		'{extends: default, rules: {line-length: disable, document-start: disable}}'
}

# Manual pages; a page of another package that mandoc lacks is no error.
style_man()
{
	local out

	out=$(grep -E '^Documentation/man/' .files |
		xargs -d '\n' mandoc -T lint 2>&1 |
		grep -v -e 'STYLE: referenced manual not found' \
			-e 'outdated mandoc.db')
	[ -z "$out" ] || {
		echo "$out"
		return 1
	}
}

# The documents refer to what exists, and Sphinx makes the site of them without
# a warning or a dead link.
style_site()
{
	local rc=0

	scripts/check-links.py .files || rc=1
	site_build Documentation "$STYLE_DIR/.site" || rc=1
	return "$rc"
}

# Units of systemd, with a pepadm that exists.
style_units()
{
	local out

	make -s -C tools/systemd SBINDIR="$STYLE_DIR/tools/pepadm" || return 1
	if ! out=$(systemd-analyze verify --man=no tools/systemd/pep.service \
		tools/systemd/pep@.service tools/systemd/pep-metrics.service \
		tools/systemd/pep-metrics@.service \
		tools/systemd/pep-metrics.timer 2>&1) || [ -n "$out" ]; then
		echo "$out"
		return 1
	fi
}

# The checklists of CONTRIBUTING.rst are true and complete; only faults are shown.
style_checklists()
{
	scripts/checklists/follow.py .files "$STYLE_KDIR" "$STYLE_SRC" > /dev/null
}

# The module also compiles for the newest kernel that it supports.
style_next()
{
	local log=$STYLE_DIR/next.log

	next_compile "$STYLE_DIR" "$log" || {
		tail -n 40 "$log"
		return 1
	}
}

# Run checks as one KTAP stream.
style_run() # CHECK...
{
	local check n=0 output

	lock style
	STYLE_DIR=$PEP_LAB_CACHE/build/style
	# Here errexit is off: a check of old sources would pass.
	STYLE_KDIR=$(build_kdir stock) || return 1
	STYLE_SRC=$(kernel_source) || return 1
	build_copy "$STYLE_DIR" || return 1
	cd "$STYLE_DIR" || return 1
	echo "TAP version 13"
	echo "1..$#"
	for check in "$@"; do
		n=$((n + 1))
		if output=$("style_$check" 2>&1); then
			echo "ok $n $check"
		else
			printf '# failed: %s\n' "${output//$'\n'/$'\n# '}"
			echo "not ok $n $check"
		fi
	done
}

lab_style() # [CHECK...]
{
	local check chosen=()

	for check in "$@"; do
		[[ " ${STYLE_CHECKS[*]} " = *" $check "* ]] ||
			bad "no such check: $check (${STYLE_CHECKS[*]})"
	done
	for check in "${STYLE_CHECKS[@]}"; do
		if [ $# = 0 ] || [[ " $* " = *" $check "* ]]; then
			chosen+=("$check")
		fi
	done
	packages_need build source style site fuzz next
	TEST_LOGS=$PEP_LAB_CACHE/logs
	TEST_COUNTS=$TEST_LOGS/counts-style
	mkdir -p "$TEST_LOGS"
	: > "$TEST_COUNTS"
	test_style "${chosen[@]}"
	[ $# != 0 ] || test_fuzz
	"$TOP/scripts/lib/counts.py" sum "$TEST_COUNTS"
}
