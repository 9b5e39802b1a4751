#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The shell that lab shell gives in a guest: the demo's topology with pep
# attached, started in a build folder.

dir=$(cd "$(dirname "$0")/../.." && pwd)
export HOME=/root PATH=$dir/tools/pepadm:/usr/sbin:/usr/bin:/sbin:/bin

export PEP_KO=$dir/kmod/pep.ko PEPADM=$dir/tools/pepadm/pepadm
"$dir/scripts/lib/topology.py" up && "$dir/scripts/lib/topology.py" attach

cat << 'END'

Namespaces sub (subscriber), pep (gateway) and srv (server); the wireless link
has 20 Mbit/s, 60 ms and 1 % loss each way. For example:
  ip netns exec srv iperf3 -s -D
  ip netns exec sub iperf3 -c 198.18.1.2 -R
  ip netns exec pep pepadm flow show
END
cd /tmp || exit
exec bash --norc -i
