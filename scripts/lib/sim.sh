# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# sim.sh - boot User Mode Linux in simulated time and run a command in it
#
# The guest is a process of this machine. Its clock stands still while it
# computes and jumps to the next timer when it has nothing to do: an hour in it
# takes as long as the instructions of that hour. It has one CPU and no
# hardware. Its random numbers come from a seed, its date and its memory are
# always the same, so that two runs of a command do not differ.

# The kernels of User Mode Linux: sim, in which computing takes no time, and
# simdebug, which checks for errors and in which computing takes real time, so
# that programs may poll; both skip waits.
sim_kernel() # KERNEL
{
	[[ $1 = sim || $1 = simdebug ]]
}

# The seed of a guest, a number.
: "${SIM_SEED:=1}"

# The CPU of this machine that a guest runs on, by default the first one. The
# kernel and its programs are processes that take turns; on two CPUs each turn
# costs ten times as much.
: "${SIM_CPU:=}"

# The date of every guest's boot, ns since 1970.
SIM_DATE=1800000000000000000

# Print the CPUs that this process may use.
sim_cpus()
{
	/usr/bin/python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))'
}

# Like guest_run, after build_tree: the guest starts from the folder of that and
# has its own /tmp. SECONDS are those of this machine, because a program that
# reads the time without sleeping stops the guest's clock.
sim_run() # KERNEL SECONDS LOG COMMAND
{
	local kernel=$1 seconds=$2 log=$3 file rc=0 folder=$PEP_LAB_CACHE/run
	local lib

	lib=$(build_folder "$kernel")/scripts/lib
	mkdir -p "$folder" "$(dirname "$log")"
	file=$(mktemp "$folder/command-XXXXXX")
	printf '%s\n' "$4" > "$file"
	sim_guest "$kernel" con0=null,fd:1 "lab_program=$lib/guest-init.sh" \
		"lab_command=$file"
	"$lib/guest.py" "$log" "$seconds" "${exec_guest[@]}" || rc=$?
	rm -f "$file" "$sim_parameters"
	guest_ended "$kernel" "$rc" "$log"
}

# Boot and run a program on this terminal; LOG gets the console. The guest's
# clock runs ahead whenever the program waits for input.
sim_shell() # KERNEL LOG PROGRAM
{
	local terminal rc=0

	terminal=$(stty -g)
	sim_guest "$1" con0=fd:0,fd:1 "lab_program=$3" lab_terminal=1
	"${exec_guest[@]}" 2> "$2" || rc=$?
	stty "$terminal"
	rm -f "$sim_parameters"
	return "$rc"
}

# Put the command that boots a guest into $exec_guest, and parameters for
# sim-init.sh into the file $sim_parameters. The guest finds the file under a
# fixed name, because the kernel's command line goes into its random numbers.
sim_guest() # KERNEL TERMINAL PARAMETER...
{
	local kernel=$1 build linux time=inf-cpu

	shift
	build=$(build_folder "$kernel")
	[ "$kernel" = sim ] || time=
	linux=$(kernel_build "$kernel")/linux
	: "${SIM_CPU:=$(sim_cpus | cut -d' ' -f1)}"
	mkdir -p "$PEP_LAB_CACHE/run"
	sim_parameters=$(mktemp "$PEP_LAB_CACHE/run/parameters-XXXXXX")
	printf '%q\n' "lab_cwd=$PWD" "lab_folder=$GUEST_FOLDER" "${@:2}" \
		> "$sim_parameters"
	touch "$build/.parameters"
	# shellcheck disable=SC2016 # expanded by the inner shell
	exec_guest=(setpriv --pdeathsig KILL
		unshare --mount --pid --fork --kill-child --mount-proc
		bash -ec 'mount --bind "$1" "$2"; shift 2; exec "$@"' bash
		"$sim_parameters" "$build/.parameters"
		taskset -c "$SIM_CPU" setarch -R
		env "SIM_SEED=$SIM_SEED"
		"LD_PRELOAD=$build/tools/bench/seeded.so:$build/tools/bench/xstate.so"
		"$linux" "mem=$GUEST_MEMORY" rootfstype=hostfs rootflags=/ ro
		"init=$build/scripts/lib/sim-init.sh" "time-travel${time:+=$time}"
		"time-travel-start=$SIM_DATE"
		con=null "$1" "con1=null,fd:2" console=tty1
		"lab_parameters=$build/.parameters")
}
