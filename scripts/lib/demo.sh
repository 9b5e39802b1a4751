# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# demo.sh - lab demo: the gain of pep over a lossy wireless link

DEMO_TIMEOUT=600

lab_demo()
{
	local dir log=$PEP_LAB_CACHE/logs/demo-console.log complaints rc=0

	[ $# = 0 ] || bad "demo takes no argument"
	packages_need build guest
	lock test
	dir=$(build_tree stock tools)
	say "booting the stock kernel; the transfers take about 6 minutes"
	(
		cd "$dir"
		guest_run stock "$DEMO_TIMEOUT" "$log" "
			export PEP_KO=$dir/kmod/pep.ko
			export PEPADM=$dir/tools/pepadm/pepadm
			scripts/lib/demo-guest.py"
	) || rc=$?
	complaints=$(guest_complaints "$log")
	[ -z "$complaints" ] || die "the kernel complained: $complaints"
	say "the demo took $SECONDS s"
	return "$rc"
}
