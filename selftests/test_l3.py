# SPDX-License-Identifier: GPL-2.0
"""Devices whose packets have no header of the link, as those of tunnels,
modems and PPP: GRE towards the subscriber, IP in IPv6 towards the server.

   sub g0 ------------------ g0 pep t0 ------------------ t0 srv
   198.18.5.2        198.18.5.1     198.18.6.1        198.18.6.2
"""

from peptest import pep
from peptest.ktap import expect, families
from peptest.netns import addr, ip, run, space_up
from peptest.pep import grows, pepadm
from peptest.tcp import (connect_errno, exchange, exchange_part, one_way,
                         pair)

TRAITS = {"once"}

ENDS = {("sub", 4): "198.18.5.2", ("sub", 6): "2001:db8:5::2",
        ("srv", 4): "198.18.6.2", ("srv", 6): "2001:db8:6::2"}
SPLIT = "20000"
BYTES = 300000


def tunnel(end, dev, net, kind, outer):
    """A tunnel between the gateway and an end, over their usual link."""
    gateway = "pep" if end == "sub" else "sv"
    for ns, near, far, host in (("pep", gateway, end, 1),
                                (end, end, gateway, 2)):
        ip(ns, f"link add {dev} type {kind} local {addr(near, outer)} "
               f"remote {addr(far, outer)}")
        space_up(ns, (dev, f"198.18.{net}.{host}", f"2001:db8:{net}::{host}"))
    other = 11 - net
    ip(end, f"route add 198.18.{other}.0/24 dev {dev}",
       f"route add 2001:db8:{other}::/64 dev {dev}")


def setup():
    pep.detached()
    run("modprobe", "-qa", "ip_gre", "ip6_tunnel", check=False)
    tunnel("sub", "g0", 5, "gre", 4)
    tunnel("srv", "t0", 6, "ip6tnl mode any", 6)
    pepadm("dev", "add", "g0", "side", "wireless")
    pepadm("dev", "add", "t0", "side", "server")
    usual()


def usual():
    """Connections are split by bytes."""
    pepadm("profile", "set", "default", "connect", "follow", "split", SPLIT)


def opened(family, opener="sub", other="srv"):
    """Both ends of a connection by the tunnels."""
    return pair(family, opener, other, to=ENDS[other, family])


def split(family, *ends):
    """The same, split in mid-stream."""
    both = opened(family, *ends)
    exchange_part(both, BYTES)
    pep.wait_flows(1)
    return both


@families("a connection that is only followed")
def followed(family):
    pepadm("profile", "set", "default", "split", "never")
    try:
        with grows(follow_established=1, follow_closed=1, flow_established=0):
            exchange(opened(family), BYTES)
    finally:
        usual()


@families("split, the subscriber opens", "sub", "srv")
@families("split, the server opens", "srv", "sub")
def whole(family, *ends):
    with grows(split_bytes=1, flow_closed=1):
        exchange(split(family, *ends), BYTES)


@families("split and handed back")
def back(family):
    with grows(split_bytes=1, flow_released=1, follow_closed=1):
        both = split(family)
        pep.hand_back()
        one_way(both[0], both[1], BYTES)
        exchange(both, 1000)


@families("refused")
def refused(family):
    with grows(follow_reset=1):
        expect("the client's error",
               connect_errno("sub", family, ENDS["srv", family], 5001),
               "ECONNREFUSED")


@families("answered early")
def early(family):
    pep.early()
    try:
        with grows(flow_established=1, flow_closed=1):
            exchange(opened(family), BYTES)
    finally:
        usual()
