# SPDX-License-Identifier: GPL-2.0
"""Network namespaces are deleted while pep is active in them, several at once,
with and without the ends of their connections. Each is really gone afterwards,
including its devices, which the kernel deletes last."""

import os

from peptest import pep
from peptest.env import SLOW, amount
from peptest.ktap import expect, families, note, wait_for
from peptest.netns import addr, ip, spaces_down, topology_up
from peptest.tcp import Load, close_all, exchange, outcome, pair, start

SETS = "AB" if SLOW else "ABC"
RATE = amount(100000)   # bytes per second and flow
setup = pep.load


def gone(x):
    """Wait until a gateway is gone: the far end of a veth pair disappears with
    it."""
    wait_for(f"the end of pep{x}",
             lambda: not os.path.exists(f"/sys/class/net/probe{x}"))


def loaded(family):
    """Topologies with the same addresses, each with 12 flows, half of them
    busy both ways: (Load, idle pairs) by suffix."""
    found = {}
    for x in SETS:
        topology_up(x)
        ip(None, f"link add probe{x} type veth peer name probe0 netns pep{x}")
        pep.pepadm("profile", "set", "default", "split", "handshake",
                   ns=f"pep{x}")
        pep.attach(f"pep{x}")
        ends = "sub" + x, "srv" + x
        busy = start(family, 6, *ends, to=addr("srv", family))
        found[x] = Load(busy, RATE), start(family, 6, *ends,
                                           to=addr("srv", family))
    for x in SETS:
        wait_for("payload", lambda: found[x][0].moved > RATE // 10)
        pep.wait_flows(12, ns=f"pep{x}")
    return found


def sets_down(found):
    """Delete everything that is left."""
    for load, _ in found.values():
        load.stop()
    close_all()
    spaces_down()
    for x in SETS:
        gone(x)


@families("gateways deleted beneath live flows")
def gateways_first(family):
    """Connections are handed back: their ends receive no reset, because
    another gateway may continue them. Busy ones may need longer than a gateway
    waits."""
    found = loaded(family)
    spaces_down(*("pep" + x for x in SETS))
    for x in SETS:
        gone(x)
    for load, idle in found.values():
        note(load.expect_open(len(load.ends) // 3), "busy ends were reset")
        for both in idle:
            for sock in both:
                expect("an idle end", outcome(sock, 0.1), "late")
    sets_down(found)


@families("all namespaces deleted under load")
def all_at_once(family):
    """The ends of connections are closed just before."""
    found = loaded(family)
    sets_down(found)


@families("one of the gateways deleted")
def one_of_them(family):
    """The others' connections do not notice."""
    found = loaded(family)
    spaces_down("pepA")
    gone("A")
    note(found["A"][0].expect_open(4), "busy ends were reset")
    for x in SETS[1:]:
        exchange(pair(family, "sub" + x, "srv" + x), 200000)
        wait_for("the last one's end",
                 lambda: pep.stat("flows", f"pep{x}") == 12)
    sets_down(found)
