# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# soak.sh - lab soak, faults and nlfuzz: selftests at random, for as long as wanted

# Fail unless the argument is a seed.
seed_known() # SEED
{
	[[ $1 =~ ^[1-9][0-9]{0,8}$ ]] ||
		bad "a seed is a number from 1 to 999999999"
}

# Run a selftest, which reads its seed from a variable.
soak_run() # TEST VARIABLE [-k KERNEL] [-s SEED] [-c CPUS]
{
	local name=$1 variable=$2 kernel=simdebug cpus=''
	local seed=$((SRANDOM % 1000000 + 1))

	shift 2
	while [ $# -gt 0 ]; do
		case $1 in
		-k) kernel=$(value_of "$@") ;;
		-s)
			seed=$(value_of "$@")
			seed_known "$seed"
			;;
		-c)
			cpus=$(value_of "$@")
			[[ $cpus =~ ^[1-8]$ ]] || bad "-c takes 1 to 8 CPUs"
			;;
		*) bad "no such option of $name: $1" ;;
		esac
		shift 2
	done
	if [ -n "$cpus" ]; then
		! sim_kernel "$kernel" || bad "$kernel has one CPU: no -c"
		# shellcheck disable=SC2034 # read by test.sh
		TEST_GUESTS=("$cpus")
	fi
	say "the seed is $seed"
	export "$variable=$seed"
	lab_test -k "$kernel" "$name"
}

# Fail unless the argument of a command is a number of minutes.
minutes_known() # COMMAND MINUTES
{
	[[ $2 =~ ^[1-9][0-9]{0,4}$ ]] ||
		bad "$1 takes a number of minutes from 1 to 99999"
}

# The same for a number of minutes.
soak_minutes() # TEST MINUTES [-k KERNEL] [-s SEED] [-c CPUS]
{
	local name=$1 minutes=${2:-}

	minutes_known "$name" "$minutes"
	shift 2
	export SOAK_SECONDS=$((minutes * 60))
	soak_run "$name" SOAK_SEED "$@"
}

lab_soak() # MINUTES [-k KERNEL] [-s SEED] [-c CPUS]
{
	soak_minutes soak "$@"
}

lab_faults() # MINUTES [-k KERNEL] [-s SEED] [-c CPUS]
{
	soak_minutes faults "$@"
}

lab_nlfuzz() # MESSAGES [-k KERNEL] [-s SEED] [-c CPUS]
{
	local messages=${1:-}

	[[ $messages =~ ^[1-9][0-9]{0,8}$ ]] ||
		bad "nlfuzz takes a number of messages from 1 to 999999999"
	shift
	export NLFUZZ_MESSAGES=$messages
	soak_run nlfuzz NLFUZZ_SEED "$@"
}
