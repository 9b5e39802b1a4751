# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# common.sh - messages, progress and locks of the lab; needs TOP

: "${PEP_LAB_CACHE:=${XDG_CACHE_HOME:-$HOME/.cache}/pep-lab}"
export PEP_LAB_CACHE

# Print a message on standard error, so that results can be captured.
say() # TEXT...
{
	printf 'lab: %s\n' "$*" >&2
}

# The operation failed: one line on standard error, exit code 1.
die() # TEXT...
{
	printf 'lab: %s\n' "$*" >&2
	exit 1
}

# The command line is wrong: one line on standard error, exit code 2.
bad() # TEXT...
{
	printf 'lab: %s (see scripts/lab help)\n' "$*" >&2
	exit 2
}

# Print the value of an option, the word behind it.
value_of() # OPTION [VALUE...]
{
	[ -n "${2:-}" ] || bad "$1 needs a value"
	echo "$2"
}

# Like die(), with the end of a log that shows why.
die_log() # LOG TEXT...
{
	local log=$1

	shift
	tail -n 30 "$log" >&2
	die "$* failed; the whole log is $log"
}

# Run a long command into a log and show the number of its lines and the
# elapsed time, every few seconds; returns the command's exit code.
progress() # LOG CMD...
{
	local log=$1 pid start=$SECONDS last=$SECONDS

	shift
	"$@" >> "$log" 2>&1 < /dev/null &
	pid=$!
	while kill -0 "$pid" 2> /dev/null; do
		sleep 1
		if [ $((SECONDS - last)) -ge 15 ]; then
			last=$SECONDS
			say "  $((SECONDS - start)) s, $(wc -l < "$log") lines of log"
		fi
	done
	wait "$pid"
}

# Hold a lock of the cache until the calling (sub)shell ends: two runs of the
# lab share downloads, kernels and build folders.
lock() # NAME
{
	local fd

	mkdir -p "$PEP_LAB_CACHE/locks"
	exec {fd}> "$PEP_LAB_CACHE/locks/$1"
	if ! flock -n "$fd"; then
		say "waiting for another run of the lab ($1)"
		flock "$fd"
	fi
}
