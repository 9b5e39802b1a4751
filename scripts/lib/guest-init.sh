#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# First program in a guest: runs one command there and prints its exit code.
#
# usage: guest-init.sh COMMAND-FILE
#
# Output of the command goes to standard output, both streams; the exit code
# follows as a line of its own that guest.py on the host takes out again.

set -uo pipefail

export HOME=/root LC_ALL=C.UTF-8
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

exec 2>&1 < /dev/null
ip link set lo up
bash "$1"
printf '\nguest-exit-code: %d\n' "$?"
