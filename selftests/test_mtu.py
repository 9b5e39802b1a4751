# SPDX-License-Identifier: GPL-2.0
"""A link behind a router whose MTU shrinks in the middle of a transfer, on
either side: the router's errors make the leg send smaller segments. Nothing is
probed. And one whose router sends no errors, for which a rule lowers the MSS.

   near ------- sub (router) ------- pep ------- srv (router) ------- far
   198.18.2.2   198.18.2.1                       198.18.3.1    198.18.3.2
"""

import fcntl
import socket
import struct

from peptest import pep
from peptest.env import amount
from peptest.firewall import ruled
from peptest.ktap import expect, families, wait_for
from peptest.netns import (ADDRESSES, Within, ip, offloads, run, space_up,
                           sysctl)
from peptest.pep import grows, least
from peptest.tcp import exchange, exchange_part, one_way, pair

BYTES = amount(1000000)
SMALL = 1280
LOWERED = 1200          # MSS
SIOCSIFMTU = 0x8922
SIDE = {"near": "wireless", "far": "server"}
ROUTER = {"near": "sub", "far": "srv"}
NETWORK = {"near": 2, "far": 3}


def setup():
    """The usual topology with a network behind each of its ends, whose
    routers can solicit neighbours."""
    pep.warmed()
    for ns, router in ROUTER.items():
        net = NETWORK[ns]
        ip(None, f"netns add {ns}", f"link add eth1 netns {router} type veth "
           f"peer name eth0 netns {ns}")
        space_up(router, ("eth1", f"198.18.{net}.1", f"2001:db8:{net}::1"))
        space_up(ns, ("eth0", f"198.18.{net}.2", f"2001:db8:{net}::2"))
        for family, address, prefix in (
                (4, f"198.18.{net}.2", f"198.18.{net}.0/24"),
                (6, f"2001:db8:{net}::2", f"2001:db8:{net}::/64")):
            ADDRESSES[ns, family] = address
            ip("pep", f"route add {prefix} via {ADDRESSES[router, family]}")
        ip(ns, f"route add default via 198.18.{net}.1",
           f"route add default via 2001:db8:{net}::1")
    for ns in "near", "sub", "pep", "srv", "far":
        sysctl(ns, "net.ipv4.tcp_mtu_probing=0", "net.ipv4.ip_forward=1",
               "net.ipv6.conf.all.forwarding=1")
    for ns in (*ROUTER, *ROUTER.values()):
        wait_for(f"addresses of {ns}", lambda ns=ns: not run(
            "ip", "-6", "address", "show", "tentative", ns=ns).stdout)


def link_mtu(ns, mtu):
    """Set the MTU of the link to an end; ip would take too long."""
    for where, dev in (ROUTER[ns], b"eth1"), (ns, b"eth0"):
        with Within(where), socket.socket() as sock:
            fcntl.ioctl(sock, SIOCSIFMTU, struct.pack("16si20x", dev, mtu))


@families("the subscriber's network, TSO", "near", "on")
@families("the server's network, TSO", "far", "on")
@families("the subscriber's network, no TSO", "near", "off")
@families("the server's network, no TSO", "far", "off")
def shrinks(family, ns, tso):
    """Payload both ways; the link shrinks after a third."""
    for dev in "wl0", "sv0":
        offloads("pep", dev, "tso", tso, "gso", tso)
    both = pair(family, "near", "far")
    overhead = 52 if family == 4 else 72
    with grows(flow_closed=1, icmp_delivered=least(1)):
        exchange_part(both, BYTES)
        link_mtu(ns, SMALL)
        exchange_part(both, BYTES)
        flow, = pep.flows()
        exchange(both, BYTES)
    expect("the leg's segments", flow["legs"][SIDE[ns]]["mss"],
           SMALL - overhead)
    link_mtu(ns, 1500)
    for which in 4, 6:
        ip("pep", "route flush cache", family=which)


@families("a rule of FORWARD lowers the MSS for the subscriber's network",
          "near")
@families("a rule of FORWARD lowers the MSS for the server's network", "far")
def lowered(family, ns):
    """Larger packets get lost there, without an error. The legs go by the
    segments of the connection before it was split."""
    other = {"near": "far", "far": "near"}[ns]
    for where in "pep", "sub", "srv":
        for dev in {"pep": ("wl0", "sv0")}.get(where, ("eth0", "eth1")):
            offloads(where, dev, "tso", "off", "gso", "off", "gro", "off")
    pep.follow("12000")
    with ruled("pep", "forward", "tcp flags syn tcp option maxseg size set "
               f"{LOWERED}"), \
            ruled(ROUTER[ns], "forward",
                  f"meta length > {LOWERED + 100} drop"), \
            grows(split_bytes=1, flow_closed=1):
        ends = dict(zip(("near", "far"), pair(family, "near", "far")))
        one_way(ends[other], ends[ns], BYTES)
        flow, = pep.flows()
        exchange(tuple(ends.values()), BYTES)
    expect("the leg's segments, with timestamps",
           flow["legs"][SIDE[ns]]["mss"], LOWERED - 12)
    pep.follow("handshake")
