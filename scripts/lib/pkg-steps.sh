#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One step of an administrator's work with the packages, in a clean root.
#
# usage: pkg-steps.sh STEP
#
# /lab/old and /lab/new hold the packages of two versions, /lab/kernels the
# series of the kernels that are installed, one a line. The steps come in the
# order in which pkg.sh has them.

set -euo pipefail

ALIAS=net-pf-16-proto-16-family-pep
METRICS=/var/lib/prometheus/node-exporter/pep.prom
SHARE=/usr/share/pep
POLICY=/var/log/policy-rc.log
WANTS=/etc/systemd/system
# The units of a namespace, enabled.
TENANT=("$WANTS/multi-user.target.wants/pep@tenant.service"
	"$WANTS/timers.target.wants/pep-metrics@tenant.timer")

# Report an error and exit.
wrong() # TEXT...
{
	echo "failed: $*"
	exit 1
}

# Print the packages of a version to install, without the one of debugging
# symbols.
debs() # old|new
{
	ls /lab/"$1"/pep-dkms_*.deb /lab/"$1"/pep-tools_*.deb
}

version() # old|new
{
	dpkg-deb -f "/lab/$1"/pep-dkms_*.deb Version
}

# Print the releases of the installed kernels.
releases()
{
	local series folder

	while read -r series; do
		for folder in /lib/modules/"$series".*; do
			[ -e "$folder/build/Makefile" ] ||
				wrong "no headers in $folder"
			basename "$folder"
		done
	done < /lab/kernels
}

# Print all files except those that come and go with other packages and except
# the signing key of DKMS, which DKMS makes at its first use.
files()
{
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run \
		-o -path /tmp -o -path /lab -o -path /var/cache -o -path /var/log \
		-o -path /var/lib/apt -o -path /var/lib/dpkg \) -prune \
		-o ! -path '/var/lib/dkms/mok.*' -print | LC_ALL=C sort
}

apt()
{
	apt-get -qy -o Dpkg::Use-Pty=0 --no-install-recommends "$@"
}

# DKMS has built and installed a version for every kernel, and no other one.
built() # VERSION
{
	local release file

	for release in $(releases); do
		[ "$(dkms status -m pep -k "$release")" = \
			"pep/$1, $release, $(uname -m): installed" ] ||
			wrong "dkms status: $(dkms status)"
		file=$(modinfo -k "$release" -n pep)
		[[ $file == /lib/modules/$release/updates/dkms/pep.ko* ]] ||
			wrong "the module of $release is $file"
		[ "$(modinfo -F version "$file")" = "$1" ] ||
			wrong "$file is $(modinfo -F version "$file")"
		[[ $(modinfo -F vermagic "$file") == "$release "* ]] ||
			wrong "$file is for $(modinfo -F vermagic "$file")"
		[ "$(modinfo -F signer "$file")" = "DKMS module signing key" ] ||
			wrong "$file is signed by '$(modinfo -F signer "$file")'"
		echo "$file, version $1, signed by" \
			"$(modinfo -F signer "$file")"
	done
}

# No service runs in the root; requests for services are logged.
step_dependencies()
{
	local deb

	cat > /usr/sbin/policy-rc.d << END
#!/bin/sh
echo "\$@" >> $POLICY
exit 101
END
	chmod 755 /usr/sbin/policy-rc.d
	apt-get -q update
	for deb in $(debs old); do
		apt satisfy "$(dpkg-deb -f "$deb" Depends)"
	done
	files > /lab/files
}

step_install()
{
	# shellcheck disable=SC2046 # paths without blanks
	apt install $(debs old)
	[ -z "$(dpkg --audit)" ] || wrong "$(dpkg --audit)"
	[ -z "$(dpkg --verify pep-dkms pep-tools)" ] ||
		wrong "$(dpkg --verify pep-dkms pep-tools)"
}

# A kernel that is too old is no error of the module (DKMS exits with 77).
step_module()
{
	local version release rc=0

	version=$(version old)
	read -r release < <(releases)
	built "$version"
	dkms build -m pep -v "$version" -k 6.1.0-1-amd64 \
		--kernelsourcedir "/lib/modules/$release/build" || rc=$?
	[ "$rc" = 77 ] || wrong "for 6.1 DKMS exits with $rc"
}

# Examples are in the documented folder, and can be read.
examples()
{
	local file out

	for file in connect-latency residence relay-batch syn-reasons legs \
		stalls lock-wait; do
		head -n 1 "$SHARE/trace/$file.bt" | grep '^#!.*bpftrace'
		"$SHARE/trace/$file.bt" --help | grep -x "usage: $file.bt" ||
			wrong "$file.bt does not run"
	done
	for file in record add-btf; do
		sh -n "$SHARE/trace/$file.sh"
	done
	python3 -m json.tool "$SHARE/pep.json" > /dev/null
	grep -x 'groups:' "$SHARE/pep.rules.yml"
	grep -x 'name: pep' "$SHARE/netlink/pep.yaml"
	out=$("$SHARE/netlink/flows.py" 2>&1 || true)
	grep '^usage: flows.py' <<< "$out" || wrong "flows.py printed: $out"
}

# The release's own tc finds the plugin by itself; help needs no kernel.
plugin()
{
	local out

	out=$(env -u TC_LIB_DIR tc action add action pepsplit help 2>&1 || true)
	grep -F 'Usage: ... pepsplit side SIDE' <<< "$out" ||
		wrong "tc printed: $out"
}

step_tools()
{
	[[ $(pepadm -V) == "pepadm $(version old),"* ]] || wrong "$(pepadm -V)"
	pepadm help | grep '^pepadm dev '
	echo 'dev lo side wireless' > /etc/pep/pep.conf
	pepadm conf check
	examples
	plugin
}

step_manuals()
{
	man 8 pepadm | grep PEPADM
	man 5 pep.conf | grep PEP.CONF
	man 4 pep | grep 'PEP(4)'
	man 8 tc-pepsplit | grep TC-PEPSPLIT
}

step_completion()
{
	bash -c '
		. /usr/share/bash-completion/completions/pepadm
		complete -p pepadm
		COMP_WORDS=(pepadm dra) COMP_CWORD=1
		_pepadm_complete
		echo "${COMPREPLY[@]}"
		[ "${COMPREPLY[0]% }" = drain ]'
}

# Units are valid, their manual pages exist, and none is enabled.
step_units()
{
	local folder out

	folder=$(dirname "$(dpkg -L pep-tools | grep '/pep\.service$')")
	out=$(systemd-analyze verify "$folder"/pep* 2>&1)
	[ -z "$out" ] || wrong "$out"
	for out in pep.service pep-metrics.timer; do
		[ "$(systemctl --root=/ is-enabled "$out" || true)" = disabled ] ||
			wrong "$out is enabled"
	done
	[ ! -s "$POLICY" ] || wrong "services were asked for: $(cat "$POLICY")"
}

# The first use finds the module, and the modules that it works with.
step_loading()
{
	local release out

	for release in $(releases); do
		out=$(modprobe -S "$release" --show-depends "$ALIAS")
		grep -E '/updates/dkms/pep\.ko' <<< "$out"
		grep -E '/updates/dkms/pep_bbr\.ko' <<< "$out"
		grep -E '/tcp_bbr\.ko' <<< "$out"
	done
}

# The administrator's changes stay, and running services are left alone.
step_upgrade()
{
	local release

	sed -i 's/^#alias/alias/' /etc/modprobe.d/pep.conf
	sed -i 's/^#pep$/pep/' /etc/modules-load.d/pep.conf
	systemctl enable pep.service pep@tenant.service pep-metrics@tenant.timer
	mkdir -p /run/systemd/system
	: > "$POLICY"
	# shellcheck disable=SC2046 # paths without blanks
	apt install $(debs new)
	[ ! -s "$POLICY" ] || wrong "services were asked for: $(cat "$POLICY")"
	for release in $(releases); do
		[ -z "$(modprobe -S "$release" --show-depends "$ALIAS")" ] ||
			wrong "modprobe.d/pep.conf is not as it was"
	done
	grep -x pep /etc/modules-load.d/pep.conf
	grep -x 'dev lo side wireless' /etc/pep/pep.conf
	[ "$(systemctl --root=/ is-enabled pep.service)" = enabled ] ||
		wrong "pep.service is not enabled any more"
	[[ $(pepadm -V) == "pepadm $(version new),"* ]] || wrong "$(pepadm -V)"
	built "$(version new)"
	[ "$(dkms status -m pep | grep -c .)" = "$(releases | grep -c .)" ] ||
		wrong "dkms status: $(dkms status)"
	[ "$(echo /usr/src/pep-*)" = "/usr/src/pep-$(version new)" ] ||
		wrong "sources are in" /usr/src/pep-*
}

# The service is stopped; the module, the tools and the counters, which nothing
# updates any more, are removed; the configuration stays.
step_remove()
{
	local left

	: > "$POLICY"
	touch "$METRICS" "$METRICS.new"
	apt remove pep-dkms pep-tools
	grep -x 'pep.service stop' "$POLICY" || wrong "no stop: $(cat "$POLICY")"
	left=$(dkms status -m pep; find /lib/modules /usr -name 'pep*.ko*' \
		-o -name pepadm -o -name 'pep.service')
	[ -z "$left" ] || wrong "left: $left"
	for left in "$METRICS" "$METRICS.new"; do
		[ ! -e "$left" ] || wrong "$left is left"
	done
	for left in /etc/modprobe.d /etc/modules-load.d /etc/pep; do
		[ -e "$left/pep.conf" ] || wrong "$left/pep.conf has gone"
	done
}

# Nothing is left, not even the files of a namespace.
step_purge()
{
	local link

	touch "$METRICS"
	mkdir /etc/pep/netns
	touch /etc/pep/netns/tenant.conf
	for link in "${TENANT[@]}"; do
		[ -L "$link" ] || wrong "there is no link $link"
	done
	apt purge pep-dkms pep-tools
	rm -r /run/systemd/system
	[ -z "$(dpkg-query -W 'pep-*' 2> /dev/null)" ] ||
		wrong "$(dpkg-query -W 'pep-*')"
	files | diff /lab/files - || wrong "files are not those there were"
}

step_again()
{
	step_install
	step_module
	[ "$(systemctl --root=/ is-enabled pep.service || true)" = disabled ] ||
		wrong "pep.service is enabled"
}

# The same from the sources, without packages.
step_source()
{
	local version release file

	version=$(version old)
	read -r release < <(releases)
	cd /lab/old/pep
	apt purge pep-dkms pep-tools
	apt install gcc libc6-dev libmnl-dev make pkgconf

	dkms add .
	dkms install -m pep -v "$version" -k "$release"
	file=$(modinfo -k "$release" -n pep)
	[[ $file == */updates/dkms/pep.ko* ]] || wrong "DKMS made $file"
	dkms remove -m pep -v "$version" --all

	make install KDIR="/lib/modules/$release/build"
	file=$(modinfo -k "$release" -n pep)
	[[ $file == */updates/kmod/pep.ko* ]] || wrong "make installed $file"
	[[ $(/usr/local/sbin/pepadm -V) == "pepadm $version,"* ]] ||
		wrong "$(/usr/local/sbin/pepadm -V)"
	systemd-analyze verify pep.service pep@.service
	man -w 8 pepadm | grep /usr/local/
	echo '# mine' > /etc/modprobe.d/pep.conf
	make install-tools
	grep -x '# mine' /etc/modprobe.d/pep.conf
}

"step_${1:?usage: pkg-steps.sh STEP}"
