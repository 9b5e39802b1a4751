#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: the memory of connections that are followed, and whether
the last ones are made as cheaply as the first.

usage: followed.py CONTESTANT full|short FAMILY

The ends have no sockets: load sends the packets of both, which drop them. The
connections are made by plain forwarding, by the contestant, and with a profile
that splits none: pep then keeps nothing of a connection but its entry in the
table. Prints bytes per connection and writes idle-CONTESTANT.json: bytes, and
instructions per connection, as ns of the clock that counts them.

CONTESTANT is a name of contestants.py, FAMILY is 4 or 6. BENCH_TOOLS names the
folder tools/bench with its programs, BENCH_RESULTS the folder for results. The
exit code is 1 when a work fails, and 2 when the command line is wrong.
"""

import json

import bed
from contestants import CONTESTANTS
from memory import Memory
from paths import set_path
from peptest import pep
from peptest.netns import addr, ip, run
from works import ANSWER_TRANSACT, FOLLOWED, SERVER_PORT

ENDS = {"sub": 1, "srv": 2}      # packets of a handshake that an end gets
OPENERS = {4: ("198.19.0.0/16", "198.19.0.1"),
           6: ("2001:db8:2::/64", "2001:db8:2::1")}
WARM = 1000             # connections made before those that count


def handshakes(port, connections, family):
    """Make connections to a port of the server; return load's output."""
    out = run(bed.LOAD, "handshakes", addr("srv", family), str(port),
              OPENERS[family][1], "srv", str(connections), ns="sub",
              seconds=bed.SECONDS)
    return json.loads(out.stdout)


def counts():
    """Packets that the ends have received; with pep also the connections in
    its table, and those whose handshake it has seen."""
    found = {}
    for end in ENDS:
        out = run("ip", "-n", end, "-s", "-j", "link", "show", "eth0").stdout
        found[end] = json.loads(out)[0]["stats64"]["rx"]["packets"]
    if pep.loaded():
        stats = pep.stats()
        found.update((name, stats[name])
                     for name in ("followed", "follow_established"))
    return found


def measure(connections, family):
    """Make connections; return load's output and the bytes of each."""
    handshakes(SERVER_PORT, WARM, family)
    memory, before = Memory(), counts()
    found = handshakes(SERVER_PORT + 1, connections, family)
    for name, count in counts().items():
        grown, least = count - before[name], connections * ENDS.get(name, 1)
        if grown < least:
            raise ValueError(f"{name}: {grown}, not {least}")
    return {**found, **memory.taken(connections)}


def main():
    """Measure all three; print the results."""
    contestant, size, family = bed.arguments(__doc__, CONTESTANTS)
    bed.up(family)
    set_path("tso")
    ip("pep", f"route add {OPENERS[family][0]} via {addr('sub', family)}")
    # Sockets repeat their SYN until all neighbours are known.
    run(*bed.command(("transact", 1, ANSWER_TRANSACT), family), ns="sub")
    bed.down()
    runs = {}
    # Forwarding keeps nothing: fewer connections show their cost.
    many = {"forward": FOLLOWED[size] // 10, contestant: FOLLOWED[size],
            "never": FOLLOWED[size]}
    with bed.dropping(*ENDS):
        for who, connections in many.items():
            with CONTESTANTS[who]():
                runs[who] = measure(connections, family)
            print(f"  {who}: {connections} connections: "
                  f"{runs[who]['bytes_each']:.0f} bytes each", flush=True)
    bed.result("idle", contestant, size=size, family=family,
               connections=FOLLOWED[size], runs=runs)


if __name__ == "__main__":
    main()
