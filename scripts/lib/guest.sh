# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# guest.sh - boot a kernel with virtme-ng and run a command in it
#
# The guest's root is this machine's, read-only under an overlay; it has no
# network device, and no service of this machine runs in it. Everything the
# lab does to its files stays in a mount namespace of its own.

: "${GUEST_CPUS:=2}"
: "${GUEST_MEMORY:=2G}"

# Not empty: the guest's clock counts instructions, one of them a nanosecond,
# so that other load of the host does not affect measurements. The clock goes
# on by itself only while the guest is idle.
: "${GUEST_ICOUNT:=}"

# Not empty: each of the guest's emulated CPUs runs in a thread of its own, so
# that they really contend. One thread for all costs less where several guests
# share a machine.
: "${GUEST_PARALLEL=1}"

# A folder of this machine that a guest may write to.
: "${GUEST_FOLDER:=}"

# A folder that is the guest's root in place of this machine's; the lab puts the
# programs that it runs in the guest into the folder /lab of that root.
: "${GUEST_ROOT:=}"

# Print the lines of a console log that report an error of the kernel. virtme-ng's
# first program warns, too.
guest_complaints() # LOG
{
	local pattern

	pattern=$(/usr/bin/python3 -B "$TOP/selftests/run.py" --complaints)
	tr -d '\r' < "$1" | grep -aE "$pattern" |
		grep -av 'virtme-ng-init: ' ||
		true
}

# Print the image or the build folder that vng boots for a kernel. vng shows a
# guest the modules in the same root as the image as its own.
guest_image() # KERNEL|IMAGE
{
	case $1 in
	/*) echo "$1" ;;
	stock) echo "/boot/vmlinuz-$(packages_kernel)" ;;
	next) next_image ;;
	*) kernel_build "$1" ;;
	esac
}

# Put the command that runs vng with arguments into $exec_guest: in a mount
# namespace in which udev is replaced by guest-udevd, and systemd-tmpfiles by
# nothing. The PID namespace makes sure that QEMU ends when the lab does. vng
# finds its other half, virtme-run, by PATH.
guest_vng() # VNG-ARG...
{
	local vng

	vng=$(packages_vng)
	# shellcheck disable=SC2016 # expanded by the inner shell
	exec_guest=(setpriv --pdeathsig KILL
		unshare --mount --pid --fork --kill-child --mount-proc
		bash -c '
			set -e
			mount --bind "$1" "$(readlink -f /usr/bin/udevadm)"
			if [ -e /usr/bin/systemd-tmpfiles ]; then
				mount --bind /bin/true /usr/bin/systemd-tmpfiles
			fi
			shift
			PATH=$(dirname "$1"):$PATH exec "$@"
		' bash "$TOP/scripts/lib/guest-udevd" "$vng" "$@")
}

# Check whether KVM works here, by booting a guest with it once since this
# machine's boot: many machines have a device node, but their KVM does not run
# an ordinary guest.
guest_kvm()
{
	local mark verdict

	[ -w /dev/kvm ] && [ -z "$GUEST_ICOUNT" ] || return 1
	mark=$PEP_LAB_CACHE/kvm-$(cat /proc/sys/kernel/random/boot_id)
	if [ ! -e "$mark" ]; then
		say "trying KVM by booting a guest with it (40 s at most)"
		verdict=no
		guest_vng --run "$(guest_image stock)" --force-9p --verbose \
			--cpus "$GUEST_CPUS" --memory 1G -- \
			"bash $TOP/scripts/lib/guest-init.sh /dev/null"
		if "$TOP/scripts/lib/guest.py" "$PEP_LAB_CACHE/kvm.log" 40 \
			"${exec_guest[@]}" > /dev/null 2>&1; then
			verdict=yes
		fi
		say "KVM works: $verdict"
		rm -f "$PEP_LAB_CACHE"/kvm-*
		echo "$verdict" > "$mark"
	fi
	[ "$(cat "$mark")" = yes ]
}

# Boot a kernel and run a program on this terminal in it, as the shell of root.
guest_shell() # KERNEL PROGRAM
{
	local image kvm=(--disable-kvm)

	if sim_kernel "$1"; then
		sim_shell "$1" "$PEP_LAB_CACHE/logs/shell-console.log" "$2"
		return
	fi
	image=$(guest_image "$1")
	if guest_kvm; then
		kvm=()
	fi
	guest_vng --run "$image" "${kvm[@]}" --force-9p --quiet \
		--cpus "$GUEST_CPUS" --memory "$GUEST_MEMORY" --shell "$2"
	"${exec_guest[@]}"
}

# Boot a kernel, run a shell command in it with the current folder as working
# directory, pass its output on, and return its exit code; 124 when the time
# was over, 125 when the guest died. LOG gets the console.
guest_run() # KERNEL|IMAGE SECONDS LOG COMMAND
{
	local kernel=$1 seconds=$2 log=$3 image file rc=0 kvm=(--disable-kvm)
	local init=$TOP/scripts/lib/guest-init.sh folder=$PEP_LAB_CACHE/run

	if sim_kernel "$kernel"; then
		sim_run "$@"
		return
	fi
	image=$(guest_image "$kernel")
	if guest_kvm; then
		kvm=()
	fi
	[ -z "$GUEST_ICOUNT" ] ||
		kvm+=('--qemu-opts=-icount shift=0,sleep=on'
			--append init_on_alloc=0)
	[ -n "$GUEST_PARALLEL" ] || [ "${#kvm[@]}" = 0 ] ||
		kvm+=('--qemu-opts=-accel tcg,thread=single')
	[ -z "$GUEST_FOLDER" ] || kvm+=("--rwdir=$GUEST_FOLDER")
	if [ -n "$GUEST_ROOT" ]; then
		folder=$GUEST_ROOT/lab
		cp "$init" "$folder"
		init=/lab/guest-init.sh
		kvm+=(--root "$GUEST_ROOT" --cwd "$folder")
	fi
	mkdir -p "$folder" "$(dirname "$log")"
	file=$(mktemp "$folder/command-XXXXXX")
	printf '%s\n' "$4" > "$file"
	guest_vng --run "$image" "${kvm[@]}" --force-9p --verbose \
		--cpus "$GUEST_CPUS" --memory "$GUEST_MEMORY" -- \
		"bash $init ${file#"$GUEST_ROOT"}"
	"$TOP/scripts/lib/guest.py" "$log" "$seconds" "${exec_guest[@]}" || rc=$?
	rm -f "$file"
	guest_ended "$kernel" "$rc" "$log"
}

# Return the exit code of a guest; when it died, show the end of its console.
guest_ended() # KERNEL CODE LOG
{
	case $2 in
	124 | 125)
		tr -d '\r' < "$3" | tail -n 40 >&2
		say "the $1 guest died; its whole console is $3"
		;;
	esac
	return "$2"
}
