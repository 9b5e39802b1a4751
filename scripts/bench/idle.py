#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: the memory of connections that nothing happens on.

usage: idle.py CONTESTANT full|short FAMILY

Makes connections and keeps them, by plain forwarding and by the contestant;
the sockets of both ends are in both. Prints bytes per connection and writes
idle-CONTESTANT.json: bytes, and instructions per connection, as ns of the
clock that counts them.

CONTESTANT is a name of contestants.py, FAMILY is 4 or 6. BENCH_TOOLS names the
folder tools/bench with its programs, BENCH_RESULTS the folder for results. The
exit code is 1 when a work fails, and 2 when the command line is wrong.
"""

import time

import bed
from contestants import CONTESTANTS
from memory import Memory
from paths import set_path
from peptest import pep
from peptest.netns import Within, sysctl
from works import IDLE

TIME_WAIT = 200     # seconds after which none is left, more than twice


def waiting(ns):
    """The number of sockets in TIME_WAIT in a namespace."""
    with Within(ns), open("/proc/thread-self/net/sockstat",
                          encoding="ascii") as file:
        words = file.read().split()
    return int(words[words.index("tw") + 1])


def settle():
    """Wait until no socket in TIME_WAIT is left: it would free its memory
    during the next measurement."""
    for _ in range(TIME_WAIT):
        if not waiting("sub") + waiting("srv"):
            return
        time.sleep(1)
    raise ValueError("ends of connections stay in TIME_WAIT")


def hold(connections, family):
    """Make connections and keep them while memory is measured; return the
    output of load and the bytes that a connection takes."""
    before = Memory()
    with bed.held(connections, family) as found:
        if pep.loaded() and pep.stat("flows") != connections:
            raise ValueError(f"{pep.stat('flows')} flows, not {connections}")
        found.update(before.taken(connections))
    settle()
    return found


def main():
    """Measure plain forwarding and the contestant; print the result."""
    contestant, size, family = bed.arguments(__doc__, CONTESTANTS)
    connections = IDLE[size]
    bed.up(family)
    set_path("tso")
    sysctl("sub", "net.ipv4.ip_local_port_range=1024 65535")
    runs = {}
    for who in dict.fromkeys(("forward", contestant)):
        with CONTESTANTS[who]():
            hold(connections // 100, family)
            runs[who] = hold(connections, family)
            print(f"  {who}: {connections} idle connections: "
                  f"{runs[who]['bytes_each']:.0f} bytes each", flush=True)
    bed.down()
    bed.result("idle", contestant, size=size, family=family,
               connections=connections, runs=runs)


if __name__ == "__main__":
    main()
