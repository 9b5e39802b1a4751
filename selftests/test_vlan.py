# SPDX-License-Identifier: GPL-2.0
"""VLAN tags: a tagged packet passes the device on which it arrives, even if
its tuple is that of a split flow, and is split at the VLAN device on top, if
pep is attached there. The tag is in the payload or in metadata (offloaded).

   sub eth0.5, eth0.5.7 ------- pep wl0.5, wl0.5.7
   198.18.5.2, 198.18.7.2           198.18.5.1, 198.18.7.1
"""

import socket
import struct

from peptest import genl, pep
from peptest.env import amount
from peptest.ktap import expect, families, wait_for
from peptest.netns import (ADDRESSES, Within, ip, offloads, run, space_up,
                           spaces, sysctls, tc)
from peptest.pep import grows, least
from peptest.raw import QINQ, VLAN, Wire
from peptest.tcp import exchange, exchange_part, pair

BYTES = amount(1000000)
ETH_P_ALL = 3


def filter_all(ns, dev, side):
    """Add a filter for every protocol before those of pepadm, which match only
    untagged IPv4 and IPv6."""
    with Within(ns):
        index = socket.if_nametoindex(dev)
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    action = (genl.attr(1, b"pepsplit\0") + genl.attr(0x8002,
              genl.attr(2, struct.pack("Iiiii", 0, -1, 0, 0, 0)) +
              genl.attr(5, struct.pack("I", side))))
    body = struct.pack("BxxxiIII", 0, index, 0, 0xfffffff2,
                       1 << 16 | socket.htons(ETH_P_ALL))
    body += genl.attr(1, b"matchall\0") + genl.attr(
        0x8002, genl.attr(0x8002, genl.attr(0x8001, action)))
    with sock:
        sock.send(struct.pack("IHHII", 16 + len(body), 44, 0x605, 1, 0) +
                  body)
        answer = sock.recv(4096)
        expect("error of the filter", struct.unpack_from("i", answer, 16)[0],
               0)


def setup():
    """VLAN 5, and 7 in it, besides the untagged network. veth has room for one
    tag beyond its MTU."""
    pep.warmed()
    run("modprobe", "-q", "8021q", check=False)
    for ns, dev in ("sub", "eth0"), ("pep", "wl0"):
        host = 2 if ns == "sub" else 1
        ip(ns, f"link add link {dev} name {dev}.5 type vlan id 5",
           f"link add link {dev}.5 name {dev}.5.7 mtu 1496 type vlan id 7")
        space_up(ns, *((f"{dev}.{tag}", f"198.18.{net}.{host}",
                        f"2001:db8:{net}::{host}")
                       for tag, net in (("5", 5), ("5.7", 7))))
        if ns == "sub":
            for net in 5, 7:
                ADDRESSES[f"sub{net}", 4] = f"198.18.{net}.2"
                ADDRESSES[f"sub{net}", 6] = f"2001:db8:{net}::2"
                for family, gateway in ((4, f"198.18.{net}.1"),
                                        (6, f"2001:db8:{net}::1")):
                    own = ADDRESSES[f"sub{net}", family]
                    ip(ns, f"rule add from {own} lookup {net}",
                       f"route add default via {gateway} table {net}",
                       family=family)
    filter_all("pep", "wl0", 0)


def teardown():
    """Delete the filter, which is not pepadm's, and take everything down."""
    if "pep" in spaces():
        tc("pep", "qdisc del dev wl0 clsact")
    pep.teardown()


def source(family, net):
    """The bind address of a connection from a VLAN."""
    return {"bind": (ADDRESSES[f"sub{net}", family], 0)}


@families("priority tag at the device itself")
def passes(family):
    """A flow's own packets with a tag of VLAN 0 are for the device itself;
    the action lets them pass, with the tag in the payload or in metadata."""
    both = pep.split_pair(family)
    exchange_part(both, 1000)
    wire = Wire("sub")
    exchange_part(both, 1000)
    seen = [s for s in wire.segments(outgoing=True) if s.data][-1]
    packet = bytearray(seen.packet)
    packet[-1] ^= 0xff
    pep.quiet()
    with grows(ended=False, delivered=0, pass_other=4):
        for tags in ([(VLAN, 5)], [(VLAN, 0)], [(QINQ, 5), (VLAN, 7)],
                     [(QINQ, 99)]):
            wire.send_tagged(bytes(packet), *tags)
    exchange(both, 1000)


def tagged(family, net, dev, offload):
    """A connection from a VLAN: unsplit by the base device, split when pep
    is attached to the VLAN's device."""
    for ns, base in ("sub", "eth0"), ("pep", "wl0"):
        offloads(ns, base, "txvlan", offload, "rxvlan", offload)
    with grows(follow_new=0, flow_established=0, delivered=0,
               pass_other=least(5), pass_no_flow=least(5)):
        exchange(pair(family, **source(family, net)), BYTES // 10)
    pep.pepadm("dev", "add", dev, "side", "wireless")
    try:
        with grows(split_handshake=1, flow_closed=1):
            exchange(pair(family, **source(family, net)), BYTES)
        with grows(split_handshake=1, flow_closed=1):
            exchange(pair(family), BYTES // 10)
    finally:
        pep.pepadm("dev", "del", dev)


for _offload in "on", "off":
    families(f"VLAN, offload {_offload}", 5, "wl0.5", _offload)(tagged)
    families(f"VLAN in a VLAN, offload {_offload}", 7, "wl0.5.7",
             _offload)(tagged)


@families("packets to the subscriber are routed into a VLAN of the device")
def routed(family):
    """That is another link: the connection is not split."""
    way = f"{ADDRESSES['sub', family]} via {ADDRESSES['sub5', family]}"
    ip("pep", f"route add {way} dev wl0.5", family=family)
    try:
        with grows(flow_established=0):
            exchange(pep.kept_pair(family, "split_pass_route"), 10000)
    finally:
        ip("pep", f"route del {way}", family=family)


@families("same tuple in two VLANs")
def apart(family):
    """A packet with a flow's tuple that arrives on a VLAN without pep passes
    the action, and belongs to the flow unless rp_filter refuses its source,
    which there is for IPv4 alone."""
    both = pep.split_pair(family)
    exchange_part(both, 1000)
    wire = Wire("sub")
    exchange_part(both, 1000)
    seen = [s for s in wire.segments(outgoing=True) if s.data][-1]

    def send():
        wire.send_tagged(seen.packet, (VLAN, 5))
        pep.quiet()
        return pep.stat("stray")

    pep.quiet()
    before = pep.stat("stray")
    wait_for("the hook", lambda: send() > before)
    with sysctls("pep", "net.ipv4.conf.all.rp_filter=1"), \
            grows(ended=False, pass_other=1, stray=int(family == 6),
                  delivered=int(family == 6)):
        send()
    exchange(both, 1000)
