# SPDX-License-Identifier: GPL-2.0
"""A wireless link with ten and with a hundred times the uplink rate as its
downlink rate, with payload both ways at once: ACKs of one direction queue
behind payload of the other. All payload arrives, the flows are split, and the
download gets a fair part of its rate."""

import time

from peptest import pep
from peptest.env import SLOW, amount
from peptest.ktap import expect_least, families, note
from peptest.netns import netem, single_packets
from peptest.pep import grows, split_pair, split_start
from peptest.tcp import End, exchange_all, expect_same, pump

TRAITS = {"waits", "simulated"}

DOWN = 10000            # kbit/s
BYTES = amount(1500000)


def setup():
    """The link's queues hold single packets, not bursts."""
    pep.attached()
    for ns, dev in ("pep", "wl0"), ("sub", "eth0"):
        single_packets(ns, dev)


def link(ratio):
    """The rates, and a delay of 20 ms each way."""
    netem("pep", "wl0", "rate", f"{DOWN}kbit", "delay", "20ms", "limit",
          "200")
    netem("sub", "eth0", "rate", f"{DOWN // ratio}kbit", "delay", "20ms",
          "limit", "100")


def two_ways(family, opener, opened, ratio):
    """A download during an upload that takes as long."""
    link(ratio)
    with grows(flow_established=1, flow_closed=1, flow_reset=0):
        socks = split_pair(family, opener, opened)
        if opener == "srv":
            socks = socks[::-1]
        up = End(socks[0], BYTES // ratio)
        down = End(socks[1], BYTES)
        begun = time.monotonic()
        pump([up, down])
        rate = BYTES * 8 / 1000 / (time.monotonic() - begun)
        expect_same(up, down)
        expect_same(down, up)
        for sock in socks:
            sock.close()
    note(f"{rate:.0f} kbit/s down of {DOWN}")
    if not SLOW:
        expect_least("rate down, kbit/s", rate, DOWN // 8)


def many(family, ratio):
    """Eight connections each way at once."""
    link(ratio)
    with grows(flow_established=16, flow_closed=16, flow_reset=0):
        pairs = (split_start(family, 8) +
                 [both[::-1] for both in split_start(family, 8, "srv",
                                                     "sub")])
        exchange_all(pairs, BYTES // 16 // ratio, BYTES // 16)


for _ratio in 10, 100:
    families(f"{_ratio}:1, both ways", "sub", "srv", _ratio)(two_ways)
    families(f"{_ratio}:1, 16 flows", _ratio)(many)
families("10:1, both ways, the server opens", "srv", "sub", 10)(two_ways)
