# SPDX-License-Identifier: GPL-2.0
"""UDP between the addresses of split flows, among their packets: every
datagram gets through, none ends in the gateway's own stack. With GRO on,
packets reach IP in lists, where the route of one can be reused for the
next."""

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, expect_least, families
from peptest.netns import addr, nstat, offloads
from peptest.pep import grows, least, split_start
from peptest.tcp import (End, PORT, exchange, exchange_part, expect_same,
                         pair, pump)
from peptest.udp import Datagrams

DATAGRAMS = amount(6000)
PAYLOAD = amount(2000000)


def setup():
    """The usual topology, with GRO on the gateway's devices."""
    pep.attached()
    for dev in "wl0", "sv0":
        offloads("pep", dev, "gro", "on")


def swallowed(family):
    """Number of datagrams that the gateway's stack received as its own."""
    six = "6" if family == 6 else ""
    return nstat("pep", *(f"Udp{six}{name}" for name in
                          ("InDatagrams", "NoPorts", "InErrors")))


@families("datagrams amidst split flows")
def beside(family):
    """Datagrams both ways during payload both ways, a few of each in turn, up
    to the last datagram."""
    before = swallowed(family)
    with grows(flow_established=4, pass_other=least(2 * DATAGRAMS)):
        ends = [(End(near, PAYLOAD), End(far, PAYLOAD))
                for near, far in split_start(family, 4)]
        flat = [end for both in ends for end in both]
        up = Datagrams(family, "sub", "srv", addr("srv", family), PORT)
        down = Datagrams(family, "srv", "sub", addr("sub", family), PORT)

        def burst():
            for way in up, down:
                way.send(min(8, DATAGRAMS - way.sent))
                way.receive()
            return up.sent == DATAGRAMS

        pump(flat, until=burst)
        expect_least("payload meanwhile", sum(e.received for e in flat),
                     PAYLOAD // 10)
        while up.sent < DATAGRAMS:
            burst()
        pump([end for end in flat if not end.done])
        for way in up, down:
            way.expect_all()
        for near, far in ends:
            expect_same(near, far)
            expect_same(far, near)
            near.sock.close()
            far.sock.close()
    expect("datagrams the gateway swallowed", swallowed(family), before)


@families("datagrams with a split flow's ports")
def same_ports(family):
    """The same ports of UDP and TCP."""
    bind = addr("sub", family), 34569
    both = pair(family, bind=bind)
    exchange_part(both, 20000)
    way = Datagrams(family, "sub", "srv", addr("srv", family), PORT, bind)
    for _ in range(50):
        way.send(10)
        way.receive()
    way.expect_all()
    exchange(both, 20000)
    pep.flows_end()
