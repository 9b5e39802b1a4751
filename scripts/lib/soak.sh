# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# soak.sh - lab soak: the selftest of random life, for as long as wanted

lab_soak() # MINUTES [-k KERNEL] [-s SEED]
{
	local minutes=${1:-} kernel=simdebug

	[[ $minutes =~ ^[1-9][0-9]{0,4}$ ]] ||
		bad "soak takes a number of minutes from 1 to 99999"
	shift
	export SOAK_SECONDS=$((minutes * 60))
	export SOAK_SEED=$((SRANDOM % 1000000 + 1))
	while [ $# -gt 0 ]; do
		case $1 in
		-k) kernel=${2:?} ;;
		-s)
			SOAK_SEED=${2:?}
			[[ $SOAK_SEED =~ ^[1-9][0-9]{0,8}$ ]] ||
				bad "a seed is a number from 1 to 999999999"
			;;
		*) bad "no such option of soak: $1" ;;
		esac
		shift 2
	done
	say "the seed is $SOAK_SEED"
	lab_test -k "$kernel" soak
}
