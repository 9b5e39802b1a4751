# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# pkg-boot.sh - boot a machine from a root in which the packages are installed
#
# QEMU has a disk with all of that root, which boots with its own systemd, and
# four devices: two of a gateway, and one each of a subscriber and a server.
# pkg-session.sh runs the administrator's commands there.

PKG_BOOT_SECONDS=3600
# An emulated machine on a busy host may stall for a while.
PKG_BOOT_APPEND='systemd.show_status=0 watchdog_thresh=60'
PKG_BOOT_MAC=52:54:00:12:34

# Add to a root the settings that the lab's machine has and a fresh
# installation lacks.
pkg_boot_equip() # ROOT
{
	local mac=$PKG_BOOT_MAC net=$1/etc/systemd/network

	rm -f "$1/etc/pep/pep.conf" "$1/usr/sbin/policy-rc.d" \
		"$1/etc/machine-id" "$1/etc/hostname" "$1/etc/hosts"
	echo gateway > "$1/etc/hostname"
	echo 127.0.0.1 localhost gateway > "$1/etc/hosts"
	printf 'net.%s=1\n' ipv4.ip_forward ipv6.conf.all.forwarding \
		> "$1/etc/sysctl.d/lab.conf"
	printf '[Match]\nMACAddress=%s\n[Network]\nAddress=%s\nAddress=%s\n' \
		"$mac:0a" 198.18.0.1/24 2001:db8::1/64 > "$net/wireless.network"
	printf '[Match]\nMACAddress=%s\n[Network]\nAddress=%s\nAddress=%s\n' \
		"$mac:0b" 198.18.1.1/24 2001:db8:1::1/64 > "$net/server.network"
	printf '[Match]\nMACAddress=%s %s\n[Link]\nUnmanaged=yes\n' \
		"$mac:1a" "$mac:1b" > "$net/others.network"
	cp "$TOP/scripts/lib/pkg-session.sh" "$1/lab"
	printf '%s\n' '[Unit]' After=network-online.target \
		Wants=network-online.target '[Service]' \
		"ExecStart=/lab/pkg-session.sh $mac" '[Install]' \
		WantedBy=multi-user.target \
		> "$1/etc/systemd/system/lab-session.service"
	pkg_in "$1" sh -ec 'systemd-machine-id-setup
		systemctl enable systemd-networkd.service lab-session.service'
}

# Make the disk; the root itself stays as it is.
pkg_boot_disk() # ROOT DISK
{
	rm -rf "$1-disk" "$2"
	cp -al "$1" "$1-disk" && pkg_boot_equip "$1-disk" &&
		truncate -s 8G "$2" &&
		mkfs.ext4 -q -F -E lazy_itable_init=1 -d "$1-disk" "$2" ||
		return 1
	rm -rf "$1-disk"
}

# Print the arguments of QEMU for the devices, one a line.
pkg_boot_nics()
{
	local nic

	for nic in 0a:0 0b:1 1a:0 1b:1; do
		printf '%s\n' -netdev "hubport,id=n${nic%:*},hubid=${nic#*:}" \
			-device "virtio-net-pci,netdev=n${nic%:*},mac=$PKG_BOOT_MAC:${nic%:*}"
	done
}

# Run the session on a machine of a release, as KTAP; the machine reboots.
pkg_boot() # RELEASE
{
	local root=$PEP_LAB_CACHE/pkg/$1-clean disk=$PEP_LAB_CACHE/pkg/$1.img
	local log=$TEST_LOGS/packages-$1-boot-console.log kernel complaints
	# CPUs that run in threads of their own sometimes hit a breakpoint of a
	# kernel that patches its code.
	local accel=(-accel 'tcg,thread=single') nics rc=0

	pkg_boot_disk "$root" "$disk" || return 1
	if guest_kvm; then
		accel=(-accel kvm -cpu host)
	fi
	mapfile -t nics < <(pkg_boot_nics)
	kernel=$(echo "$root"/boot/vmlinuz-6.12.*)
	"$TOP/scripts/lib/guest.py" "$log" "$PKG_BOOT_SECONDS" \
		setpriv --pdeathsig KILL qemu-system-x86_64 "${accel[@]}" \
		-smp "$GUEST_CPUS" -m "$GUEST_MEMORY" -display none \
		-monitor none -parallel none -nodefaults \
		-serial file:/dev/stderr -serial file:/dev/stdout \
		-kernel "$kernel" -initrd "${kernel/vmlinuz/initrd.img}" \
		-append "root=/dev/vda rw console=ttyS0 $PKG_BOOT_APPEND" \
		-drive "file=$disk,format=raw,if=virtio,cache=unsafe" \
		"${nics[@]}" || rc=$?
	rm -f "$disk"
	complaints=$(guest_complaints "$log")
	[ -z "$complaints" ] || {
		echo "# ${complaints//$'\n'/$'\n# '}"
		return 1
	}
	return "$rc"
}
