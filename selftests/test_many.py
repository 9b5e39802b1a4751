# SPDX-License-Identifier: GPL-2.0
"""Two hundred connections at once: every byte is correct, all of them are
split, and nothing is left of them."""

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, families, wait_for
from peptest.pep import grows
from peptest.tcp import (End, Load, exchange_all, exchange_part, expect_same,
                         pump, start)

FLOWS = 200
BYTES = amount(100000)
RATE = amount(2000000)  # bytes per second, of all flows together


@families(f"{FLOWS} flows both ways", "sub", "srv", BYTES, BYTES)
@families(f"{FLOWS} small answers", "sub", "srv", 100, 8000)
@families(f"{FLOWS} flows both ways, the server opens", "srv", "sub",
          BYTES, BYTES)
def many(family, opener, opened, up, down):
    with grows(split_handshake=FLOWS, flow_established=FLOWS,
               flow_closed=FLOWS, flow_reset=0):
        exchange_all(pep.split_start(family, FLOWS, opener, opened), up, down)


@families(f"{FLOWS} flows that begin at once")
def at_once(family):
    """Payload moves while pep creates sockets for most of them: each is split
    when its turn comes."""
    with grows(follow_established=FLOWS, split_handshake=FLOWS,
               flow_established=FLOWS, flow_closed=FLOWS, flow_reset=0,
               follow_reset=0) as before:
        load = Load(start(family, FLOWS), RATE // FLOWS)
        wait_for("all to be split",
                 lambda: pep.stat("split_handshake") ==
                 before["split_handshake"] + FLOWS)
        load.more(1000)
        load.finish()
        load.expect_whole()
        for end in load.ends:
            end.sock.close()


@families(f"{FLOWS} flows half-closed")
def half(family):
    with grows(flow_established=FLOWS, flow_closed=FLOWS, flow_reset=0):
        pairs = pep.split_start(family, FLOWS)
        for first in 0, 1:
            ends = [(End(both[first], BYTES // 2, wanted=0),
                     End(both[1 - first], 0, fin=False)) for both in pairs]
            pump([end for two in ends for end in two])
            for sender, receiver in ends:
                expect_same(sender, receiver)
        for both in pairs:
            for sock in both:
                sock.close()


@families(f"{FLOWS} flows held open")
def held(family):
    """flow show lists each once, and all disappear when closed."""
    with grows(flow_established=FLOWS, flow_closed=FLOWS):
        pairs = pep.split_start(family, FLOWS)
        expect("flows", pep.stat("flows"), FLOWS)
        flows = pep.flows()
        expect("flows that flow show lists",
               len({flow["id"] for flow in flows}), FLOWS)
        expect("ports of them",
               {flow["subscriber"]["port"] for flow in flows},
               {near.getsockname()[1] for near, _ in pairs})
        for both in pairs[::10]:
            exchange_part(both, 2000)
        for both in pairs:
            for sock in both:
                sock.close()
