# SPDX-License-Identifier: GPL-2.0
"""The test bed inside a guest: topology, server, doing a work once.

The variable BENCH_TOOLS names the folder tools/bench, built, and BENCH_RESULTS
the folder for results.
"""

import contextlib
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "selftests"))
sys.path.append(str(TOP / "scripts/lib"))

# pylint: disable=wrong-import-position
from commandline import arguments as words_of  # noqa: E402
from commandline import one_of, refuse  # noqa: E402
from peptest import pep, service  # noqa: E402
from peptest.netns import Within, addr, run, tc, topology_up  # noqa: E402
from paths import set_path  # noqa: E402
from works import IDLE_PORTS, SERVER_PORT  # noqa: E402

LOAD = os.path.join(os.environ.get("BENCH_TOOLS", ""), "load")
FILES = 1 << 20         # descriptors that a process may have
AGREE = 0.02            # share by which two rounds may differ
ROUNDS = {"full": 6, "short": 2}        # at most, until two of them agree
SECONDS = 3000          # that a run of load may take


def family_of(usage, word):
    """The family that a word of the command line names, as a number, in a
    guest whose variables are set."""
    one_of(usage, "family", word, ("4", "6"))
    if not {"BENCH_TOOLS", "BENCH_RESULTS"} <= os.environ.keys():
        refuse(usage, "BENCH_TOOLS or BENCH_RESULTS is not set")
    return int(word)


def arguments(usage, contestants):
    """The contestant, the size and the family of the command line."""
    contestant, size, family = words_of(usage, 3, 3)
    one_of(usage, "contestant", contestant, contestants)
    one_of(usage, "size", size, ("full", "short"))
    return contestant, size, family_of(usage, family)


def topology():
    """Make the topology; programs may have many descriptors."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    topology_up()


def up(family):
    """Make the topology and start the server."""
    topology()
    service.serve("srv", LOAD, "server", addr("srv", family),
                  str(SERVER_PORT), str(IDLE_PORTS))


def down():
    """End the server."""
    service.services_down()


def command(arguments, family):
    """The command that runs load, a list."""
    kind, *rest = arguments
    return [LOAD, kind, addr("srv", family), str(SERVER_PORT),
            *map(str, rest)]


@contextlib.contextmanager
def held(connections, family):
    """Keep idle connections; yields the output of load about making
    them."""
    with Within("sub"):
        load = subprocess.Popen(
            command(("idle", connections, IDLE_PORTS), family),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(load.stdout.readline())
    finally:
        load.stdin.close()
        load.wait()


@contextlib.contextmanager
def dropping(*ends):
    """Make ends drop received packets, so that they answer nothing."""
    packets = ("ip", "udp"), ("ip", "tcp"), ("ipv6", "udp"), ("ipv6", "tcp")
    for end in ends:
        tc(end, "qdisc add dev eth0 clsact",
           *(f"filter add dev eth0 ingress pref {pref} protocol {protocol} "
             f"flower ip_proto {transport} action drop"
             for pref, (protocol, transport) in enumerate(packets, 1)))
    try:
        yield
    finally:
        for end in ends:
            tc(end, "qdisc del dev eth0 clsact")


def once(work, arguments, family, wrap=()):
    """Do a work once, within a program that runs others if there is one;
    return the output of load and, if pep is loaded, the growth of its
    counters."""
    loaded = pep.loaded()
    before = pep.stats() if loaded else {}
    out = run(*wrap, *command(arguments, family), ns="sub", seconds=SECONDS)
    found = json.loads(out.stdout.splitlines()[0])
    found["cost"] = work.cost(found)
    if loaded:
        found["pep"] = {name: value - before[name]
                        for name, value in pep.stats().items()
                        if value != before[name]}
    return found


def agreed(runs):
    """Do the last two rounds agree?"""
    if len(runs) < 2:
        return False
    one, two = (found["cost"] for found in runs[-2:])
    return abs(one - two) <= AGREE * min(one, two)


def rounds(work, who, size, family):
    """Do a work until two rounds agree, after a first time to warm up that
    does not count; return all rounds."""
    set_path(work.path)
    once(work, work.short, family)
    runs = []
    while len(runs) < ROUNDS[size] and not agreed(runs):
        runs.append(once(work, getattr(work, size), family))
        print(f"  {who}: {work.title}: {runs[-1]['cost']:.3f} {work.unit}",
              flush=True)
    return runs


def path(name):
    """A file in the folder for results, which is on the host."""
    return os.path.join(os.environ["BENCH_RESULTS"], name)


def result(bench, contestant, **found):
    """Write the measurements to BENCH-CONTESTANT.json."""
    with open(path(f"{bench}-{contestant}.json"), "w",
              encoding="utf-8") as file:
        json.dump({"kernel": platform.release(), "cpus": os.cpu_count(),
                   "contestant": contestant, **found}, file)
