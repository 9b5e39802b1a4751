# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shell.sh - lab shell, lab run: the demo's topology with pep attached

RUN_TIMEOUT=3600

lab_run() # [-k KERNEL] -- CMD...
{
	local kernel=stock dir log complaints rc=0

	while [ $# -gt 0 ]; do
		case $1 in
		-k)
			[ $# -ge 2 ] || bad "-k needs a kernel"
			kernel=$2
			shift 2
			;;
		--)
			shift
			break
			;;
		*) bad "run: a command goes after --" ;;
		esac
	done
	kernel_known "$kernel"
	[ $# -gt 0 ] || bad "run: no command"
	shell_prepare "$kernel"
	dir=$(build_tree "$kernel" tools)
	log=$PEP_LAB_CACHE/logs/run-console.log
	(
		cd "$dir"
		guest_run "$kernel" "$RUN_TIMEOUT" "$log" "
			export PATH=$dir/tools/pepadm:\$PATH
			export PEP_KO=$dir/kmod/pep.ko
			export PEPADM=$dir/tools/pepadm/pepadm
			scripts/lib/topology.py up && scripts/lib/topology.py attach || exit 1
			$(printf '%q ' "$@")"
	) || rc=$?
	complaints=$(guest_complaints "$log")
	[ -z "$complaints" ] || die "the kernel complained: $complaints"
	return "$rc"
}

lab_shell() # [-k KERNEL]
{
	local kernel=stock dir

	if [ "${1:-}" = -k ] && [ $# -ge 2 ]; then
		kernel=$2
		shift 2
	fi
	[ $# = 0 ] || bad "shell takes only -k KERNEL"
	kernel_known "$kernel"
	[ -t 0 ] || bad "shell needs a terminal; use run"
	shell_prepare "$kernel"
	dir=$(build_tree "$kernel" tools)
	say "booting the $kernel kernel; leave the shell to end it"
	cd "$dir" || exit 1
	guest_shell "$kernel" "$dir/scripts/lib/guest-shell.sh"
}

# Install the packages of both, the source only for kernels that are built.
shell_prepare() # KERNEL
{
	packages_need build guest
	case $1 in
	stock | next) ;;
	*) packages_need source ;;
	esac
	lock test
}
