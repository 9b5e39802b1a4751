#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run an administrator's commands on a machine with the packages installed: a
# first session, and checks of its effects after each reboot.
#
# usage: pkg-session.sh MAC     MAC: first five bytes of the devices' addresses
#
# Started at boot; /lab/boot holds the number of boots. KTAP, with all commands
# and their output, goes to the second serial line.

set -euo pipefail

MAC=${1:?usage: pkg-session.sh MAC}
CONF=/etc/pep/pep.conf
METRICS=/var/lib/prometheus/node-exporter/pep.prom
BYTES=3000000
CASES=(
	'fresh attach split closed keep'
	'configured again reload change metrics security units'
	'missing late anew udev netns plugin dropin stop'
)

# Report an error and exit.
wrong() # TEXT...
{
	echo "failed: $*"
	exit 1
}

# Show a command as it is typed, and run it.
typed() # CMD...
{
	echo "\$ $*"
	"$@"
}

# Print the name that udev has given to a device.
nic() # LAST-BYTE
{
	ip -br link | awk -v mac="$MAC:$1" '$3 == mac { print $1 }'
}

# Move two devices into namespaces of their own, a subscriber and a server with
# the gateway as next hop, and have the server serve.
peers()
{
	local name last net nic

	for name in subscriber:1a:0 server:1b:1; do
		IFS=: read -r name last net <<< "$name"
		nic=$(nic "$last")
		ip netns add "$name"
		ip link set "$nic" netns "$name"
		ip -n "$name" link set lo up
		ip -n "$name" link set "$nic" up
		ip -n "$name" addr add "198.18.$net.2/24" dev "$nic"
		ip -n "$name" addr add "2001:db8:$net::2/64" dev "$nic" nodad
		ip -n "$name" route add default via "198.18.$net.1"
		ip -n "$name" -6 route add default via "2001:db8:$net::1"
	done
	mkdir -p /run/web
	head -c "$BYTES" /dev/urandom > /run/web/file
	cd /run/web
	ip netns exec server /usr/bin/python3 -m http.server --bind :: 80 \
		> /dev/null 2>&1 &
	cd /
	until ip netns exec server ss -Hltn 'sport = 80' | grep -q .; do
		sleep 0.2
	done
}

# As the subscriber, get the file, and compare it with the server's copy.
download() # ADDRESS
{
	ip netns exec subscriber curl -sS --max-time 300 "http://$1/file" |
		cmp - /run/web/file
}

# Slow down the link to the subscriber, so that the file takes half a minute, or
# restore it.
slow() # add|del
{
	tc qdisc "$1" dev "$WIRELESS" root tbf rate 1mbit burst 20k latency 2s
}

# As the server, send the file to a client, a little at a time, and the rest at
# once when /run/enough exists.
trickle()
{
	ip netns exec server /usr/bin/python3 -c '
import os, socket, time
with socket.create_server(("198.18.1.2", 81)) as listener:
    conn = listener.accept()[0]
with open("/run/web/file", "rb") as file:
    while piece := file.read(2000):
        conn.sendall(piece)
        if not os.path.exists("/run/enough"):
            time.sleep(0.2)'
}

# Start such a transfer to the subscriber, and wait until it is split; GETTER
# writes it to /run/got.
hold()
{
	local before

	before=$(counter flow_established)
	rm -f /run/enough
	trickle &
	until ip netns exec server ss -Hltn 'sport = 81' | grep -q .; do
		sleep 0.2
	done
	ip netns exec subscriber \
		bash -c 'cat < /dev/tcp/198.18.1.2/81' > /run/got &
	GETTER=$!
	until [ "$(counter flow_established)" -gt "$before" ]; do
		sleep 0.2
	done
}

# Print a counter.
counter() # NAME
{
	pepadm -j stat show | python3 -c '
import json, sys
print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

# Follow all events from now on, which file descriptor $EVENTS reads.
follow() # PEPADM-ARGUMENT...
{
	exec {EVENTS}< <(exec pepadm "$@")
	FOLLOWER=$!
	trap 'kill "$FOLLOWER"' EXIT
	until awk -v pid="$FOLLOWER" '$3 == pid && $4 != "00000000" { found = 1 }
			END { exit !found }' /proc/net/netlink; do
		sleep 0.1
	done
}

# Print the next event.
event()
{
	local line

	IFS= read -r -t 300 -u "$EVENTS" line || wrong "no event has come"
	echo "$line"
}

# Connections of both families are split, and counted as split.
splits()
{
	local before

	before=$(counter flow_established)
	download 198.18.1.2
	download '[2001:db8:1::2]'
	[ "$(counter flow_established)" = $((before + 2)) ] ||
		wrong "not two flows more than $before: $(pepadm stat show)"
}

# Wait until the journal of this boot has a line of a unit; print it.
journal() # UNIT PATTERN [NUMBER-OF-LINES]
{
	timeout 600 grep -m "${3:-1}" -e "$2" \
		< <(exec journalctl -b -f -n all -o cat -u "$1") ||
		wrong "the journal of $1 has no '$2': $(journalctl -b -u "$1")"
}

# Run a command, and wait until a unit's journal has one more matching line.
another() # UNIT PATTERN COMMAND...
{
	local unit=$1 pattern=$2 before

	before=$(journalctl -b -o cat -u "$unit" | grep -c -e "$pattern" || true)
	"${@:3}"
	journal "$unit" "$pattern" $((before + 1))
}

# Wait until the boot is over; print the state of the system.
booted()
{
	timeout 900 systemctl is-system-running --wait || true
}

# No unit has failed, and the journal has no complaint about ours.
healthy()
{
	[ "$(booted)" = running ] || wrong "$(systemctl --failed --plain)"
	[ -z "$(systemctl --failed --quiet --plain)" ] ||
		wrong "$(systemctl --failed --plain)"
	! journalctl -q -b -p warning -u pep.service -u pep-metrics.service |
		grep . ||
		wrong "warnings of pep"
}

# Packages alone load, enable and change nothing.
case_fresh()
{
	local unit

	healthy
	[ ! -d /sys/module/pep ] || wrong "pep is loaded"
	for unit in pep.service pep-metrics.timer; do
		[ "$(systemctl is-enabled "$unit" || true)" = disabled ] ||
			wrong "$unit is enabled"
	done
	typed uname -r
	typed ip -br addr show "$WIRELESS"
	typed ip -br addr show "$SERVER"
	download 198.18.1.2
	download '[2001:db8:1::2]'
	[ ! -d /sys/module/pep ] || wrong "pep is loaded"
}

# The first command loads the module.
case_attach()
{
	typed pepadm dev add "$WIRELESS" side wireless
	typed pepadm dev add "$SERVER" side server
	typed pepadm -V
	typed pepadm dev show
	[ "$(pepadm dev show | grep -c .)" = 2 ] || wrong "not two devices"
}

case_split()
{
	local flows

	splits
	slow add
	follow -j monitor new
	download 198.18.1.2 &
	event
	typed pepadm -s flow show
	typed pepadm flow top delay 2 count 3
	flows=$(pepadm -j flow show)
	[[ $flows == *'"198.18.0.2"'*'"198.18.1.2"'* ]] || wrong "$flows"
	wait "$!"
	slow del
}

# The end of a flow is reported, with the bytes that went through it: all but those that
# the server had sent when the connection was taken over, at least the 12000 of the trigger
# and at most its initial window.
case_closed()
{
	local line='' bytes

	follow -j monitor closed
	download '[2001:db8:1::2]'
	line=$(event)
	echo "\$ pepadm -j monitor closed"
	echo "$line"
	bytes=$(python3 -c 'import json, sys
print(json.loads(sys.argv[1])["bytes_to_wireless"])' "$line")
	[ "$bytes" -gt $((BYTES - 16384)) ] || wrong "only $bytes bytes"
	[ "$bytes" -le $((BYTES + 1024 - 12000)) ] || wrong "$bytes bytes"
	kill "$FOLLOWER"
	follow -s -d monitor closed
	download 198.18.1.2
	echo "\$ pepadm -s -d monitor closed"
	until [[ $line == *' syn '*' closed '* ]]; do
		line=$(event)
		echo "$line"
	done
}

# Configure, save, and enable the units and the module for the next boot.
case_keep()
{
	typed pepadm profile add sat residence 100
	typed pepadm dev set "$WIRELESS" profile sat
	typed pepadm conf save "$CONF"
	typed cat "$CONF"
	typed systemctl enable --now pep.service pep-metrics.timer
	sed -i 's/^#pep$/pep/' /etc/modules-load.d/pep.conf
	pepadm conf save | diff "$CONF" - || wrong "enabling has changed it"
	sync
}

# The configuration is as it was, without a command.
case_configured()
{
	healthy
	[ "$(cat /proc/sys/kernel/random/boot_id)" != "$(cat /lab/boot-id)" ] ||
		wrong "this is the same boot"
	typed systemctl --no-pager --lines=5 status pep.service
	typed pepadm dev show
	pepadm conf save | diff "$CONF" - || wrong "it is not what was saved"
	grep -q "dev $WIRELESS side wireless profile sat" "$CONF" ||
		wrong "$WIRELESS is not in $CONF"
	# It and modprobe@pep.service load the module in any order.
	systemctl is-active systemd-modules-load.service
}

case_again()
{
	splits
}

# A reload sets new values, and a flow goes on.
case_reload()
{
	local first

	slow add
	follow -j monitor new
	download 198.18.1.2 &
	event
	first=$(pepadm -j flow show)
	typed sed -i 's/ residence 100 / residence 80 /' "$CONF"
	typed pepadm conf check
	typed systemctl reload pep.service
	typed pepadm profile show sat
	pepadm conf save | diff "$CONF" - || wrong "it is not what the file says"
	[ "$(pepadm -j flow show | grep -o '"id":[0-9]*')" = \
		"$(grep -o '"id":[0-9]*' <<< "$first")" ] ||
		wrong "the flow was $first, now $(pepadm -j flow show)"
	wait "$!" || wrong "the download has failed"
	slow del
	[ "$(counter flow_reset)" = 0 ] || wrong "flows were reset"
}

# A mistake changes nothing and is reported.
case_change()
{
	local before

	before=$(pepadm conf save)
	cp "$CONF" /run/pep.conf
	echo 'dev lo side upwards' >> "$CONF"
	! systemctl reload pep.service || wrong "a mistake is no failure"
	journal pep.service 'conf sync: side: "upwards" is not one of'
	[ "$(pepadm conf save)" = "$before" ] || wrong "$(pepadm conf save)"
	cp /run/pep.conf "$CONF"
	systemctl reload pep.service
	systemctl is-active pep.service
}

# The timer writes the metrics twice, and the node exporter serves them.
case_metrics()
{
	local first

	journal pep-metrics.service Finished
	first=$(stat -c '%i %y' "$METRICS")
	another pep-metrics.service Finished true
	[ "$(stat -c '%i %y' "$METRICS")" != "$first" ] || wrong "it is not new"
	grep '^pep_flows_established_total' "$METRICS" ||
		wrong "$(cat "$METRICS")"
	stat -c '%n %a %U' "$METRICS"
	curl -sS http://localhost:9100/metrics > /run/metrics
	grep '^pep_flows_established_total' /run/metrics ||
		wrong "the node exporter has no such metric"
}

# The service has few privileges, which suffice for a restart.
case_security()
{
	typed systemctl restart pep.service
	pepadm conf save | diff "$CONF" - || wrong "not configured any more"
	splits
	systemd-analyze --no-pager security pep.service | tail -n 1
	systemd-analyze --no-pager security --threshold=30 pep.service \
		> /dev/null || wrong "it may do too much"
}

case_units()
{
	typed systemctl list-timers --no-pager pep-metrics.timer
	[ "$(booted)" = running ] || wrong "$(systemctl --failed --plain)"
	typed systemctl --no-pager --failed
	echo "dev late0 side wireless profile sat" >> "$CONF"
	sync
}

# A missing device is reported, and the rest of the boot goes on.
case_missing()
{
	journal pep.service 'waiting for device "late0"'
	[ -z "$(pepadm dev show)" ] || wrong "$(pepadm dev show)"
	typed systemctl --no-pager --lines=5 status pep.service || true
	journal pep.service 'Cannot find device "late0"'
	[ "$(booted)" = running ] || wrong "$(systemctl --failed --plain)"
	systemctl is-active multi-user.target
}

# The missing device appears.
case_late()
{
	typed ip link add late0 type dummy
	journal pep.service Finished
	systemctl is-active pep.service
	typed pepadm dev show
	pepadm conf save | grep -x 'dev late0 side wireless profile sat' ||
		wrong "it is not attached"
	splits
	[ -z "$(systemctl --failed --quiet --plain)" ] ||
		wrong "$(systemctl --failed --plain)"
}

# A reload attaches a device that was deleted and created again.
case_anew()
{
	ip link del late0
	ip link add late0 type dummy
	! pepadm dev show | grep late0 || wrong "late0 is still attached"
	typed systemctl reload pep.service
	pepadm dev show | grep late0 || wrong "late0 is not attached"
}

# The same without a manual reload, by the guide's rule.
case_udev()
{
	local rule=/etc/udev/rules.d/90-pep.rules

	cat > "$rule" << 'END'
ACTION=="add", SUBSYSTEM=="net", KERNEL=="late0", \
    RUN+="/usr/bin/systemctl reload-or-restart --no-block pep.service"
END
	udevadm control --reload
	ip link del late0
	another pep.service Reloaded ip link add late0 type dummy
	typed pepadm dev show
	pepadm dev show | grep late0 || wrong "late0 is not attached"
	rm "$rule"
	udevadm control --reload
}

# A namespace has units of its own.
case_netns()
{
	local conf=/etc/pep/netns/tenant.conf prom=${METRICS/%.prom/-tenant.prom}

	ip netns add tenant
	ip -n tenant link add t0 type dummy
	pepadm -N tenant dev add t0 side wireless
	mkdir -p /etc/pep/netns
	typed pepadm -N tenant conf save "$conf"
	pepadm -N tenant dev del t0
	typed systemctl enable --now pep@tenant.service pep-metrics@tenant.timer
	typed pepadm -N tenant dev show
	pepadm -N tenant conf save | diff "$conf" - || wrong "not configured"
	sed -i 's/ side wireless / side server /' "$conf"
	systemctl reload pep@tenant.service
	pepadm -N tenant conf save | diff "$conf" - || wrong "not reloaded"
	pepadm conf save | diff "$CONF" - || wrong "the machine's own changed"
	journal pep-metrics@tenant.service Finished
	grep '^pep_flows{.*netns="tenant"' "$prom" || wrong "$(cat "$prom")"
	typed systemctl disable --now pep@tenant.service \
		pep-metrics@tenant.timer
	[ -z "$(pepadm -N tenant dev show)" ] || wrong "it is still attached"
	pepadm dev show | grep late0 || wrong "so is nothing else"
	! systemctl --failed --quiet --plain | grep . || wrong "units failed"
}

# Print each filter of tc at a device's ingress with its actions, from JSON.
filters() # DEV
{
	tc -j filter show dev "$1" ingress | python3 -c '
import json, sys
for part in json.load(sys.stdin):
    for act in part.get("options", {}).get("actions", []):
        print(part["kind"], part["pref"], act["kind"], act.get("side"),
              act.get("profile"))'
}

# tc supports the action without a setting for the plugin's folder.
case_plugin()
{
	local dev=tc0 words='pepsplit side wireless profile default continue'

	! pepadm dev del "$dev" || wrong "there was something to detach"
	ip link add "$dev" type dummy
	typed tc qdisc add dev "$dev" clsact
	typed tc filter add dev "$dev" ingress protocol ip flower ip_proto tcp \
		action pepsplit side wireless
	typed tc filter show dev "$dev" ingress
	tc filter show dev "$dev" ingress | grep -F "$words" ||
		wrong "tc does not print '$words'"
	[[ $(filters "$dev") == 'flower '*' pepsplit wireless default' ]] ||
		wrong "in JSON: $(filters "$dev")"
	typed tc filter del dev "$dev" ingress
	[ -z "$(filters "$dev")" ] || wrong "left: $(filters "$dev")"
	ip link del "$dev"
}

# Filters of tc come and go with the service, as in the guide, and no device is
# attached otherwise. A transfer survives their end.
case_dropin()
{
	local folder=/etc/systemd/system/pep.service.d wanted

	wanted=$'flower 10 pepsplit wireless sat\nmatchall 11 pepsplit wireless sat'
	cp "$CONF" /run/pep.conf
	sed -i '/^dev /d' "$CONF"
	printf '%s\n' "qdisc replace dev $WIRELESS clsact" \
		"qdisc replace dev $SERVER clsact" \
		"filter add dev $WIRELESS ingress pref 10 protocol ip flower src_ip 198.18.0.0/24 ip_proto tcp action pepsplit side wireless profile sat" \
		"filter add dev $WIRELESS ingress pref 11 protocol ipv6 matchall action pepsplit side wireless profile sat" \
		"filter add dev $SERVER ingress pref 10 protocol all matchall action pepsplit side server profile sat" \
		> /etc/pep/filters.add
	printf '%s\n' "filter del dev $WIRELESS ingress pref 10" \
		"filter del dev $WIRELESS ingress pref 11" \
		"filter del dev $SERVER ingress pref 10" > /etc/pep/filters.del
	mkdir "$folder"
	cat > "$folder/override.conf" << 'END'
[Service]
ExecStartPost=
ExecStartPost=-/usr/sbin/tc -force -batch /etc/pep/filters.add
ExecStartPost=-/bin/sh -c '[ ! -e /run/pep/flows ] || /usr/sbin/pepadm flow restore /run/pep/flows && rm -f /run/pep/flows'
ExecStop=
ExecStop=-/bin/sh -c '[ ! -d /sys/module/pep ] || exec /usr/sbin/pepadm drain release'
ExecStop=-/bin/sh -c '[ ! -d /sys/module/pep ] || exec /usr/sbin/pepadm flow kill all'
ExecStop=-/usr/sbin/tc -force -batch /etc/pep/filters.del
ExecStop=-/bin/sh -c '[ ! -d /sys/module/pep ] || exec /usr/sbin/pepadm drain off'
ExecStop=/bin/sh -c '[ ! -d /sys/module/pep ] || exec /usr/sbin/pepadm conf load /dev/null'
ExecStop=-/bin/sh -c '[ ! -d /sys/module/pep ] || exec /usr/sbin/pepadm flow save /run/pep/flows'
END
	systemctl daemon-reload
	for _ in 1 2; do
		typed systemctl restart pep.service
		[ "$(filters "$WIRELESS")" = "$wanted" ] ||
			wrong "the filters are: $(filters "$WIRELESS")"
	done
	splits
	hold
	typed systemctl stop pep.service
	[ -z "$(filters "$WIRELESS")$(filters "$SERVER")" ] ||
		wrong "left: $(filters "$WIRELESS") $(filters "$SERVER")"
	[ -z "$(pepadm dev show)" ] || wrong "$(pepadm dev show)"
	! pepadm profile show sat || wrong "the profile is still there"
	pepadm drain show | grep -w 'drain off' || wrong "it drains still"
	touch /run/enough
	wait "$GETTER"
	cmp /run/got /run/web/file || wrong "the transfer is not what was sent"
	rm -r "$folder" /etc/pep/filters.add /etc/pep/filters.del
	cp /run/pep.conf "$CONF"
	systemctl daemon-reload
	systemctl start pep.service
	! systemctl --failed --quiet --plain | grep . || wrong "units failed"
}

# The service removes all that it has made, and releases the module. A transfer
# goes on meanwhile, and the next module splits it again.
case_stop()
{
	local saved

	hold
	typed systemctl stop pep.service
	[ -z "$(pepadm dev show)" ] || wrong "$(pepadm dev show)"
	saved=$(sed -n 's/^end \([1-9][0-9]*\)$/\1/p' /run/pep/flows)
	[ -n "$saved" ] || wrong "no connections are saved"
	typed modprobe -r pep
	download 198.18.1.2
	[ ! -d /sys/module/pep ] || wrong "pep is loaded"
	typed systemctl restart systemd-modules-load.service
	[ -d /sys/module/pep ] || wrong "modules-load.d has not loaded it"
	typed systemctl start pep.service
	[ ! -e /run/pep/flows ] || wrong "the saved connections are there yet"
	journal pep.service "restored $saved known 0 expired 0 refused 0"
	touch /run/enough
	wait "$GETTER"
	cmp /run/got /run/web/file || wrong "the transfer is not what was sent"
	[ "$(counter flow_established)" -gt 0 ] || wrong "it is not split again"
	splits
}

# Run a case, and print its output and result as KTAP.
run_case() # NUMBER NAME
{
	local rc=0

	set +e
	(set -e; "case_$2") > /run/said 2>&1 < /dev/null
	rc=$?
	set -e
	sed 's/^/# /' /run/said
	[ "$rc" = 0 ] || echo 1 > /lab/failed
	echo "$([ "$rc" = 0 ] || echo 'not ')ok $1 $2"
}

boot=$(cat /lab/boot 2> /dev/null || echo 0)
echo $((boot + 1)) > /lab/boot
stty -F /dev/ttyS1 raw
exec > /dev/ttyS1 2>&1
export HOME=/root LC_ALL=C.UTF-8 COLUMNS=200

udevadm settle
peers
WIRELESS=$(nic 0a) SERVER=$(nic 0b)
n=$(wc -w <<< "${CASES[*]:0:boot}")
[ "$boot" != 0 ] || echo "1..$(wc -w <<< "${CASES[*]}")"
for name in ${CASES[boot]}; do
	n=$((n + 1))
	run_case "$n" "$name"
done
cat /proc/sys/kernel/random/boot_id > /lab/boot-id
if [ $((boot + 1)) -lt ${#CASES[@]} ]; then
	systemctl reboot
else
	printf '\nguest-exit-code: %d\n' "$(cat /lab/failed 2> /dev/null || echo 0)"
	systemctl poweroff
fi
