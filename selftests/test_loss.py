# SPDX-License-Identifier: GPL-2.0
"""A wireless side that drops, delays, reorders and duplicates packets: all
bytes arrive, and half-closes work as on a clean one."""

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect_least, families
from peptest.netns import netem, single_packets
from peptest.pep import grows
from peptest.tcp import exchange_all, exchange_part, one_way, pair, start

BYTES = amount(1500000)
RADIO = ("delay 10ms 3ms loss random 2% reorder 20% 50% duplicate 1% "
         "limit 5000").split()


def setup():
    """The links lose single packets, not bursts."""
    pep.attached()
    for ns, dev in ("pep", "wl0"), ("sub", "eth0"):
        single_packets(ns, dev)
        netem(ns, dev, *RADIO)


def both(family, opener, opened, count, size):
    with grows(flow_established=count, flow_closed=count):
        exchange_all(start(family, count, opener, opened), size)


families("both ways", "sub", "srv", 2, BYTES)(both)
families("both ways, the server opens", "srv", "sub", 2, BYTES)(both)


@families("40 small ones")
def small(family):
    with grows(flow_established=40, flow_closed=40):
        exchange_all(pep.split_start(family, 40), 20000)


@families("half-close")
def half(family):
    with grows(flow_established=1, flow_closed=1):
        near, far = pair(family)
        one_way(near, far, BYTES // 3, fin=True)
        one_way(far, near, BYTES // 3, fin=True)
        near.close()
        far.close()


@families("the wireless leg repeats what is lost")
def repeats(family):
    both_ends = pair(family)
    exchange_part(both_ends, 1000000)
    flow, = pep.flows()
    expect_least("segments sent again",
                 flow["legs"]["wireless"]["retrans"], 1)
