#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: the memory of connections that nothing happens on.

usage: idle.py CONTESTANT full|short FAMILY

Makes connections and keeps them, by plain forwarding and by the contestant;
the sockets of both ends are in both. Prints what it does and writes what was
measured as JSON.
"""

import glob
import json
import subprocess
import time

import bed
from contestants import CONTESTANTS
from paths import set_path
from peptest import pep
from peptest.netns import Within, sysctl
from works import IDLE, IDLE_PORTS

TIME_WAIT = 200     # seconds after which none is left, more than twice


def shrink():
    """Have the kernel give back what it keeps but does not use."""
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")
    for path in glob.glob("/sys/kernel/slab/*/shrink"):
        with open(path, "w", encoding="ascii") as file:
            file.write("1")


def available():
    """Memory that could be used, bytes."""
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    raise ValueError("no MemAvailable")


def slabs():
    """Memory of the objects in use of each slab cache, bytes, with their part
    of what is left over in their pages."""
    found = {}
    with open("/proc/slabinfo", encoding="ascii") as file:
        for line in file.read().splitlines()[2:]:
            name, active, _, _, per_slab, pages = line.split()[:6]
            found[name] = int(active) * 4096 * int(pages) / int(per_slab)
    return found


def waiting(ns):
    """How many ends of connections are in TIME_WAIT in a namespace."""
    with Within(ns), open("/proc/thread-self/net/sockstat",
                          encoding="ascii") as file:
        words = file.read().split()
    return int(words[words.index("tw") + 1])


def settle():
    """Wait until no end of a connection is left: it would give its memory
    back while the next ones are looked at."""
    for _ in range(TIME_WAIT):
        if not waiting("sub") + waiting("srv"):
            return
        time.sleep(1)
    raise ValueError("ends of connections stay in TIME_WAIT")


def hold(connections, family):
    """Make connections, keep them while memory is looked at; return what load
    tells and what a connection takes, bytes."""
    shrink()
    memory, before = available(), slabs()
    with Within("sub"):
        load = subprocess.Popen(
            bed.command(("idle", connections, IDLE_PORTS), family),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    found = json.loads(load.stdout.readline())
    if pep.loaded() and pep.stat("flows") != connections:
        raise ValueError(f"{pep.stat('flows')} flows, not {connections}")
    shrink()
    found["bytes_each"] = (memory - available()) / connections
    found["slab_bytes_each"] = {
        name: (size - before.get(name, 0)) / connections
        for name, size in slabs().items()
        if abs(size - before.get(name, 0)) > connections}
    load.stdin.close()
    load.wait()
    settle()
    return found


def main():
    """Measure plain forwarding and the contestant; print the result."""
    contestant, size, family = bed.arguments(__doc__)
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
