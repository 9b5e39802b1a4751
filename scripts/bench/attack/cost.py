#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: instructions that a packet of an attack takes, with all of
its consequences.

usage: cost.py CONTESTANT NAME...

CONTESTANT is forward or pep; the names are those of plan.py, of which those
that are floods count. Packets about a real connection are about an idle one.
The program prints instructions per packet, and writes them as JSON to
attack-cost-CONTESTANT.json in the folder that BENCH_RESULTS names; BENCH_TOOLS
names the folder tools/bench with its programs. The exit code is 2 when the
command line is wrong.
"""

import contextlib
import json
import os
import pathlib
import random
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "selftests"),
                str(HERE.parents[1] / "lib")]

# pylint: disable=wrong-import-position
from attacks import ATTACKS, Flood  # noqa: E402
from commandline import arguments, one_of, refuse  # noqa: E402
from field import field_up  # noqa: E402
from guest import attached  # noqa: E402
from honest import BULK  # noqa: E402
from peptest import pep  # noqa: E402
from peptest.netns import run, spaces_down  # noqa: E402
from peptest.raw import ETH, link_address  # noqa: E402
from peptest.tcp import close_all, exchange, listen, pair  # noqa: E402
from plan import CALM  # noqa: E402

LOAD = os.path.join(os.environ.get("BENCH_TOOLS", ""), "load")
RESULTS = os.environ.get("BENCH_RESULTS")
WARM = 512              # packets that do not count
COUNT = 4096            # packets that do
SIDES = {"atk": ("pep", "wl1"), "srv": ("pep", "sv0")}


def quiet():
    """Make idle connections, one of each family; return their tuples."""
    found = []
    for family in 4, 6:
        both = pair(family, port=BULK)
        exchange(both, 100)
        both = pair(family, port=BULK)
        found.append((*both[0].getsockname()[:2], *both[0].getpeername()[:2]))
    return found


def write(name, frames):
    """Write a file of frames; return its path."""
    path = os.path.join("/tmp", name)
    with open(path, "wb") as file:
        for frame in frames:
            file.write(struct.pack("<H", len(frame)) + frame)
    return path


def frames(make, tuples, first, count):
    """Frames of a flood by the namespace that they come from."""
    heads = {ns: link_address(*gate) + link_address(ns, "eth0")
             for ns, gate in SIDES.items()}
    rnd = random.Random(1)
    found = {"atk": [], "srv": []}
    for number in range(first, first + count):
        ns, packet = make(number, rnd, tuples)
        found[ns].append(heads[ns] + struct.pack(
            "!H", ETH[packet[0] >> 4]) + packet)
    return found


def send(found):
    """Send frames; return (instructions, packets)."""
    busy = packets = 0
    for ns, some in found.items():
        if some:
            out = run(LOAD, "frames", "eth0", write(ns, some), ns=ns).stdout
            took = json.loads(out)
            busy += took["busy_ns"]
            packets += took["packets"]
    return busy, packets


def measure(contestant, name):
    """Instructions per packet of one attack."""
    kind = ATTACKS[name]
    field_up(link=False)
    with attached(kind.settings) if contestant == "pep" else \
            contextlib.nullcontext():
        for family in 4, 6:
            for port in range(5000, 5005):
                listen("srv", family, port)
        tuples = quiet()
        send(frames(kind.make, tuples, 0, WARM))
        before = pep.stats()
        busy, packets = send(frames(kind.make, tuples, WARM, COUNT))
        after = pep.stats()
        close_all()
    spaces_down()
    return {"instructions": busy / packets,
            "grown": {key: after[key] - before[key] for key in after
                      if after[key] > before[key]}}


def main():
    """Measure all floods among the names."""
    contestant, *names = arguments(__doc__, 2)
    one_of(__doc__, "contestant", contestant, ("forward", "pep"))
    for name in names:
        one_of(__doc__, "attack", name, (*CALM, *ATTACKS))
    if not RESULTS or not os.path.exists(LOAD):
        refuse(__doc__, "BENCH_TOOLS or BENCH_RESULTS is not set")
    found = {}
    for name in names:
        if issubclass(ATTACKS.get(name, object), Flood):
            found[name] = measure(contestant, name)
            print(f"  {contestant}: {name}: "
                  f"{found[name]['instructions']:.0f} instructions per packet",
                  flush=True)
    with open(os.path.join(RESULTS, f"attack-cost-{contestant}.json"), "w",
              encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
