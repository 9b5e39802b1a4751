#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: what pep's action takes for a packet that is forwarded.

usage: steer.py CONTESTANT full|short FAMILY

Packets go through devices with the filters that pepadm makes, first with an
action that does nothing, then with pep's: those of a connection that is
followed, and those of no connection, with and without others in the table,
and beside a split one while a device is up to which nothing is attached.
Prints instructions per packet and writes steer-CONTESTANT.json.

CONTESTANT is a name of contestants.py, FAMILY is 4 or 6. BENCH_TOOLS names the
folder tools/bench with its programs, BENCH_RESULTS the folder for results. The
exit code is 1 when a work fails, and 2 when the command line is wrong.
"""

import contextlib
import socket

import bed
from contestants import CONTESTANTS
from peptest import pep
from peptest.ktap import wait_for
from peptest.netns import Within, addr, ip, run, tc
from works import BUSY, OPENING, SERVER_PORT, STEERING

DEVICES = "wl0", "sv0"
# The counter of pep for the packets of each work.
COUNTERS = {"steer-followed": "pass_followed", "steer-udp": "pass_other",
            "steer-tcp": "pass_no_flow", "steer-udp-busy": "pass_other",
            "steer-tcp-busy": "pass_no_flow", "steer-udp-stray": "pass_other"}


@contextlib.contextmanager
def passing():
    """Attach filters whose action does nothing."""
    for device in DEVICES:
        tc("pep", f"qdisc add dev {device} clsact",
           *(f"filter add dev {device} ingress pref {pref} "
             f"protocol {protocol} matchall skip_hw action pass"
             for pref, protocol in ((49153, "ip"), (49154, "ipv6"))))
    try:
        yield
    finally:
        for device in DEVICES:
            tc("pep", f"qdisc del dev {device} clsact")


def unanswered(family):
    """Send SYNs that the server drops, each once: a closed socket repeats
    none."""
    kind = socket.AF_INET if family == 4 else socket.AF_INET6
    for _ in range(OPENING):
        with Within("sub"), socket.socket(kind, socket.SOCK_STREAM) as client:
            client.setblocking(False)
            client.connect_ex((addr("srv", family), SERVER_PORT))


@contextlib.contextmanager
def busy(family):
    """Keep idle connections, and some that the server does not answer because
    it drops packets."""
    with bed.held(BUSY, family), bed.dropping("srv"):
        before = pep.stat("followed") if pep.loaded() else 0
        unanswered(family)
        if pep.loaded() and (before < BUSY or
                             pep.stat("followed") < before + OPENING):
            raise ValueError(f"{pep.stat('followed')} connections in the "
                             f"table, {before} before those unanswered")
        yield


@contextlib.contextmanager
def split(family):
    """Keep a connection that is split where pep is."""
    if pep.loaded():
        pep.pepadm("profile", "set", "default", "split", "handshake")
    with bed.held(1, family):
        if pep.loaded() and len(pep.flows()) != 1:
            raise ValueError(f"not one flow: {pep.flows()}")
        yield


@contextlib.contextmanager
def unattached():
    """Have a device that is up without filters."""
    ip("pep", "link add un0 type dummy", "link set un0 up")
    try:
        if pep.loaded():
            wait_for("pep's hook",
                     lambda: "pep_stray_in" in run("nft", "list", "hooks",
                                                   ns="pep").stdout, 30)
        yield
    finally:
        ip("pep", "link del un0")


def measure(runs, who, size, family):
    """Do all works with one action."""
    def work(name):
        todo, counter = STEERING[name], COUNTERS[name]
        found = bed.rounds(todo, who, size, family)
        for one in found:
            if "pep" in one and one["pep"].get(counter, 0) < todo.amount(one):
                raise ValueError(f"{name}: {counter} is too few: {one}")
        runs.setdefault(name, {})[who] = found

    work("steer-followed")
    with bed.dropping("srv"):
        work("steer-udp")
        work("steer-tcp")
    with busy(family):
        work("steer-udp-busy")
        work("steer-tcp-busy")
    with split(family), unattached(), bed.dropping("srv"):
        work("steer-udp-stray")


def main():
    """Measure both actions."""
    contestant, size, family = bed.arguments(__doc__, CONTESTANTS)
    bed.up(family)
    runs = {}
    with passing():
        measure(runs, "pass", size, family)
    with CONTESTANTS[contestant]():
        measure(runs, contestant, size, family)
    bed.down()
    bed.result("steer", contestant, size=size, family=family, runs=runs)


if __name__ == "__main__":
    main()
