# SPDX-License-Identifier: GPL-2.0
"""Fragments of a split flow reach its leg as one packet, in any order, those
of unsplit connections reach the end reassembled and are followed, and those of
other protocols pass unchanged."""

import struct

from peptest import pep, raw
from peptest.env import amount
from peptest.ktap import expect, families, wait_for
from peptest.netns import addr, nstat
from peptest.pep import grows, least, split_pair
from peptest.raw import (TCP, UDP, Segment, Wire, fragments, inet, ipx,
                         remade as setup, remade_teardown as teardown,
                         remaking, tcp_header)
from peptest.tcp import PORT, exchange, exchange_part, pair
from peptest.udp import Datagrams

BYTES = amount(200000)
MANY = least(10)
assert setup and teardown


def cut(order):
    """Fragments of long packets, in a given order."""
    def remake(seen):
        if len(seen.tcp) < 600:
            return None
        return order(fragments(seen, TCP, seen.tcp))
    return remake


def reach(family, ns, order, gathered):
    """A whole transfer in fragments."""
    with grows(flow_established=1, flow_closed=1, pass_fragment=0,
               fragment_gathered=gathered, dropped=0):
        both = split_pair(family)
        with remaking(ns, cut(order)):
            exchange(both, BYTES, seconds=60)


for _ns in "sub", "srv":
    families(f"fragments of the {_ns}'s packets", _ns, list, MANY)(reach)
    families(f"fragments in reverse from {_ns}", _ns,
             lambda parts: parts[::-1], MANY)(reach)


def padded(parts):
    """Frames with a trailer that belongs to no packet."""
    return [part + b"\xaa" * 17 for part in parts]


families("fragments with padding", "sub", padded, MANY)(reach)


@families("a fragment alone")
def atomic(family):
    """Complete IPv6 packets with a fragment header (RFC 6946); IPv4 has no
    equivalent, there a first fragment is sent twice."""
    def remake(seen):
        if family == 6:
            return fragments(seen, TCP, seen.tcp, 2000)
        if len(seen.tcp) < 600:
            return None
        parts = fragments(seen, TCP, seen.tcp)
        return parts[:1] + parts
    both = split_pair(family)
    with grows(pass_fragment=0, flow_closed=1):
        with remaking("sub", remake):
            exchange(both, BYTES // 2)


def followed(family, ns, order):
    """Each packet counts once: for the decision, and for the state that the
    legs take over."""
    pep.follow("12000")
    try:
        with grows(flow_established=1, flow_closed=1, split_bytes=1,
                   pass_fragment=0, fragment_gathered=MANY, dropped=0):
            both = pair(family)
            with remaking(ns, cut(order)):
                exchange_part(both, 2000)
                expect("flows", pep.stat("flows"), 0)
                exchange(both, BYTES, seconds=60)
    finally:
        pep.follow("handshake")


for _ns in "sub", "srv":
    families(f"fragments from {_ns} before the split", _ns, list)(followed)
    families(f"fragments in reverse from {_ns} before the split", _ns,
             lambda parts: parts[::-1])(followed)


@families("fragments of a connection that is not split")
def unsplit(family):
    """The packet is forwarded as one and fragmented again where necessary."""
    src, dst = inet(addr("sub", family)), inet(addr("srv", family))
    data = bytes(range(256)) * 4
    whole = ipx(src, dst, TCP, tcp_header(src, dst, 4242, 4243, payload=data))
    seen = Segment(whole)
    wire = Wire("srv")
    with grows(fragment_gathered=2, pass_no_flow=least(1), pass_fragment=0):
        for part in fragments(seen, TCP, seen.tcp):
            raw.remakers["sub"].wire.send(part)
        got = wire.find(lambda s: s.sport == 4242, outgoing=False)
    expect("payload", got.data, data)


@families("fragments that lack one")
def missing(family):
    """The flow's retransmission repeats them."""
    skipped = []

    def remake(seen):
        if len(seen.tcp) < 600:
            return None
        parts = fragments(seen, TCP, seen.tcp)
        if len(skipped) < 3 and len(parts) > 1:
            skipped.append(parts.pop())
        return parts
    with grows(flow_established=1, flow_closed=1, fragment_gathered=MANY):
        both = split_pair(family)
        with remaking("sub", remake):
            exchange(both, BYTES // 2)
    expect("fragments left out", len(skipped), 3)


@families("fragments of UDP are not touched")
def udp(family):
    """Not even a first fragment without the rest."""
    wire = Wire("srv")
    src, dst = inet(addr("sub", family)), inet(addr("srv", family))
    data = struct.pack("!HHHH", 4242, 4243, 1032, 0) + bytes(1024)
    seen = Segment(ipx(src, dst, UDP, data))
    with grows(fragment_gathered=0, pass_other=least(1)):
        raw.remakers["sub"].wire.send(fragments(seen, UDP, data)[0])
        packets = []

        def arrived():
            packets.extend(wire.take(outgoing=False))
            return any(Segment(p).src == src for p in packets)
        wait_for("the fragment", arrived)


@families("fragments of ICMP pass")
def icmp(family):
    """They are counted as fragments."""
    src, dst = inet(addr("sub", family)), inet(addr("srv", family))
    proto = raw.ICMP[family]
    seen = Segment(ipx(src, dst, proto, bytes(1024)))
    reassembled = "Ip6ReasmReqds" if family == 6 else "IpReasmReqds"
    before = nstat("pep", reassembled)
    with grows(fragment_gathered=0, pass_fragment=2):
        for part in fragments(seen, proto, bytes([8]) + bytes(1023)):
            raw.remakers["sub"].wire.send(part)
    expect("packets the gateway put together", nstat("pep", reassembled),
           before)


@families("datagrams beside fragments")
def beside(family):
    """UDP with a flow's ports, while the flow's packets are fragments."""
    bind = addr("sub", family), 34571
    both = split_pair(family, bind=bind)
    way = Datagrams(family, "sub", "srv", addr("srv", family), PORT, bind)
    with grows(ended=False, fragment_gathered=MANY):
        with remaking("sub", cut(list)):
            for _ in range(10):
                way.send(4)
                exchange_part(both, 5000)
            way.expect_all()
    exchange(both, 1000)
