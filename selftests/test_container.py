# SPDX-License-Identifier: GPL-2.0
"""pep in the container of an operator, see peptest/container.py."""

from peptest import pep
from peptest.container import VLANS, container_up
from peptest.env import amount
from peptest.ktap import case, expect, expect_least, families
from peptest.netns import addr, link_packets, netem, nstat
from peptest.pep import grows, least
from peptest.tcp import (PORT, connect_errno, exchange, exchange_all,
                         expect_reset, pair, reset, start)
from peptest.udp import Datagrams

BYTES = amount(5000000)


def setup():
    """The whole container, with pep attached."""
    pep.load()
    container_up()
    pep.attach()
    pep.follow("handshake")


def tagged():
    """Numbers of packets of the router's VLAN devices, from pep and to it."""
    packets = link_packets("rt")
    return [packets[f"{name}{tag}"] for name, _, _, tag in VLANS]


def both(family, opener, opened):
    """Each leg's packets use its own VLAN, both ways."""
    before = tagged()
    with grows(split_handshake=1, flow_established=1, flow_closed=1):
        exchange(pair(family, opener, opened), BYTES)
    for was, now in zip(before, tagged()):
        for a, b in zip(was, now):
            expect_least("packets of a VLAN and direction", b - a,
                         BYTES // 65536 // 2)


families("both ways, the subscriber opens", "sub", "srv")(both)
families("both ways, the server opens", "srv", "sub")(both)


@families("40 flows at once")
def many(family):
    with grows(flow_established=40, flow_closed=40):
        exchange_all(pep.split_start(family, 40), 30000)


@families("a reset of each end")
def resets(family):
    with grows(flow_established=2, flow_reset=2):
        for end in 0, 1:
            both_ends = pep.split_pair(family)
            reset(both_ends[end])
            expect_reset(both_ends[1 - end])


@families("a refusal")
def refused(family):
    with grows(follow_new=1, follow_reset=1, flow_established=0):
        expect("the client's error", connect_errno(
            "sub", family, addr("srv", family), 5001), "ECONNREFUSED")


@families("datagrams beside it are forwarded")
def datagrams(family):
    with grows(pass_other=least(400)):
        up = Datagrams(family, "sub", "srv", addr("srv", family), PORT)
        down = Datagrams(family, "srv", "sub", addr("sub", family), PORT)
        for _ in range(25):
            for way in up, down:
                way.send(8)
                way.receive()
        up.expect_all()
        down.expect_all()


@families("the wireless VLAN loses packets")
def lossy(family):
    netem("rt", "c10", "loss", "random", "10%")
    before = nstat("sub", "TcpRetransSegs")
    try:
        with grows(flow_established=4, flow_closed=4):
            exchange_all(start(family, 4), BYTES // 10, BYTES // 10)
    finally:
        netem("rt", "c10", "off")
    expect_least("segments the subscriber sent again",
                 nstat("sub", "TcpRetransSegs") - before, 1)


@case("no address and no route of the machine has a part in it")
def bare():
    expect("packets that the machine forwarded",
           nstat("box", "IpForwDatagrams", "Ip6OutForwDatagrams"), 0)
