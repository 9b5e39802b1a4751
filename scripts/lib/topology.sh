#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The demo's network, made inside a guest.
#
# usage: topology.sh up                    namespaces, addresses, links
#        topology.sh attach MODULE PEPADM  load the module, attach pep
#        topology.sh detach PEPADM         the other way round
#
#   namespace sub          namespace pep               namespace srv
#   (subscriber)           (gateway)                   (server)
#   198.18.0.2             198.18.0.1  198.18.1.1      198.18.1.2
#   2001:db8:0::2          ..0::1          ..1::1      2001:db8:1::2
#     eth0 ------------------ wl0            sv0 ------------ eth0
#           wireless link:                      server path:
#           20 Mbit/s, 30 ms and                10 ms each way
#           1 % loss each way

set -euo pipefail

# Packets a direction of the wireless link can hold: 30 ms of 20 Mbit/s are
# 50 of them, the rest is a queue deep enough that nothing but the random loss
# drops packets.
readonly QUEUE=1000

in_pep()
{
	ip netns exec pep "$@"
}

# A pair of devices between two namespaces.
link_up() # NETNS DEV ADDRESS4 ADDRESS6 NETNS DEV ADDRESS4 ADDRESS6
{
	ip link add "$2" netns "$1" type veth peer name "$6" netns "$5"
	device_up "$1" "$2" "$3" "$4"
	device_up "$5" "$6" "$7" "$8"
}

# netem takes a segmented burst for one packet, also one that is forwarded: "1 %
# loss" would be 1 % of bursts of up to 64 KiB. With the offloads off everywhere
# it is 1 % of the packets that a radio would carry; TCP makes bursts even so
# (sk_setup_caps() does not ask the device), unless they are one segment long.
device_up() # NETNS DEV ADDRESS4 ADDRESS6
{
	ip netns exec "$1" ethtool -K "$2" tso off gso off gro off > /dev/null
	ip -n "$1" address add "$3/24" dev "$2"
	ip -n "$1" address add "$4/64" dev "$2" nodad
	ip -n "$1" link set "$2" gso_max_segs 1 up
}

wireless() # NETNS DEV
{
	tc -n "$1" qdisc add dev "$2" root netem rate 20mbit delay 30ms \
		loss random 1% limit "$QUEUE"
}

server_path() # NETNS DEV
{
	tc -n "$1" qdisc add dev "$2" root netem delay 10ms limit 20000
}

up()
{
	local ns

	for ns in sub pep srv; do
		ip netns add "$ns"
		ip -n "$ns" link set lo up
	done
	link_up sub eth0 198.18.0.2 2001:db8:0::2 pep wl0 198.18.0.1 2001:db8:0::1
	link_up pep sv0 198.18.1.1 2001:db8:1::1 srv eth0 198.18.1.2 2001:db8:1::2
	in_pep sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	ip -n sub route add default via 198.18.0.1
	ip -n sub route add default via 2001:db8:0::1
	ip -n srv route add default via 198.18.1.1
	ip -n srv route add default via 2001:db8:1::1
	wireless sub eth0
	wireless pep wl0
	server_path pep sv0
	server_path srv eth0
}

# insmod resolves no dependencies: those of modprobe pep come first. The small
# kernels have them built in.
attach() # MODULE PEPADM
{
	modprobe -qa tcp_bbr tcp_cubic sch_ingress cls_matchall \
		nf_defrag_ipv6 || true
	[ -d /sys/module/pep_bbr ] || insmod "${1/%pep.ko*/pep_bbr.ko${1##*pep.ko}}"
	[ -d /sys/module/pep ] || insmod "$1"
	in_pep "$2" dev add wl0 side wireless
	in_pep "$2" dev add sv0 side server
}

detach() # PEPADM
{
	in_pep "$1" dev del wl0
	in_pep "$1" dev del sv0
}

case ${1:-} in
up) up ;;
attach) attach "${2:?}" "${3:?}" ;;
detach) detach "${2:?}" ;;
*)
	echo "usage: topology.sh up | attach MODULE PEPADM | detach PEPADM" >&2
	exit 2
	;;
esac
