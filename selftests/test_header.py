# SPDX-License-Identifier: GPL-2.0
"""Unusual headers: IP options, extension headers, padding, wrong checksums and
lengths. Packets of a split flow reach its leg, broken ones do it no harm,
packets that pep does not understand pass."""

import struct

from peptest import pep, raw
from peptest.env import amount
from peptest.ktap import case, expect, expect_least, families
from peptest.netns import addr, impaired, ip, nstat, sysctls
from peptest.pep import grows, least
from peptest.raw import (ACK, SYN, TCP, Segment, inet, ip4, ip6, remade as
                         setup, remade_teardown as teardown, remaking,
                         renumbered, segment)
from peptest.tcp import exchange, exchange_part, pair

BYTES = amount(100000)
NOPS = b"\x01\x01\x01\x01"
RECORD_ROUTE = b"\x07\x07\x04\x00\x00\x00\x00\x00"
ALERT4 = b"\x94\x04\x00\x00"
PAD6 = b"\x01\x04\x00\x00\x00\x00"
SKIP6 = b"\x1e\x04\x00\x00\x00\x00"     # unknown, to be skipped
DROP6 = b"\x5e\x04\x00\x00\x00\x00"     # unknown, the packet to be dropped
HOP, ROUTING, DEST, AUTH = 0, 43, 60, 51
BESIDE = 40
assert setup and teardown


def again(seen, **kwargs):
    """A packet with another header around the same TCP."""
    if seen.family == 4:
        return ip4(seen.src, seen.dst, TCP, seen.tcp, **kwargs)
    return ip6(seen.src, seen.dst, TCP, seen.tcp, **kwargs)


def behind(seen, *headers):
    """An IPv6 packet with extension headers: (number, rest) each."""
    data, proto = seen.tcp, TCP
    for number, rest in reversed(headers):
        data = struct.pack("!BB", proto, (len(rest) + 2) // 8 - 1
                           if number != AUTH else 1) + rest + data
        proto = number
    return ip6(seen.src, seen.dst, proto, data)


def broken(seen):
    """The same packet with other payload and the old checksum."""
    data = bytearray(seen.packet)
    data[-1] ^= 0xff
    return bytes(data)


def later(family, function):
    """Apply a function only to a family's packets after the SYN: an ACK of the
    connection before may be late."""
    def remake(seen):
        if seen.family != family or seen.flags & SYN:
            return None
        return function(seen)
    return remake


def reaches(family, ns, function):
    """A whole transfer with every packet except the SYNs rewritten."""
    with grows(flow_established=1, flow_closed=1, pass_exthdr=0,
               pass_malformed=0, dropped=0):
        with remaking(ns, later(family, function)):
            exchange(pair(family), BYTES)


def both_sides(text, family, function):
    """A case for each end."""
    for ns in "sub", "srv":
        case(f"{text} from {ns}, IPv{family}", family, ns,
             function)(reaches)


for _name, _options in (("no-operation options", NOPS),
                        ("a recorded route", RECORD_ROUTE),
                        ("a router alert", ALERT4)):
    both_sides(_name, 4, lambda seen, o=_options: [again(seen, options=o)])
for _name, _headers in (
        ("hop-by-hop options", [(HOP, PAD6)]),
        ("destination options", [(DEST, SKIP6)]),
        ("a used up routing header", [(ROUTING, b"\xfd\x00" + bytes(4))]),
        ("three extension headers",
         [(HOP, SKIP6), (ROUTING, b"\x03\x00" + bytes(12)),
          (DEST, PAD6 + PAD6[:2] + bytes([4]) + bytes(5))])):
    both_sides(_name, 6, lambda seen, h=_headers: [behind(seen, *h)])


@families("padding behind the packet")
def padding(family):
    with grows(flow_established=1, flow_closed=1, pass_malformed=0,
               dropped=0):
        with remaking("sub", lambda seen: [seen.packet + b"\xaa" * 6]):
            with remaking("srv", lambda seen: [seen.packet + b"\xaa" * 6]):
                exchange(pair(family), BYTES)


@families("wrong TCP checksums")
def checksums(family):
    """A broken copy precedes each packet with payload; the leg's stack detects
    it."""
    before = nstat("pep", "TcpInCsumErrors")

    def remake(seen):
        return [broken(seen), seen.packet] if seen.data else None
    with grows(flow_established=1, flow_closed=1):
        with remaking("sub", remake):
            with remaking("srv", remake):
                exchange(pair(family), BYTES)
    expect_least("checksum errors of the legs",
                 nstat("pep", "TcpInCsumErrors") - before, 5)


def handshake(family, ns, flags):
    """SYNs or SYN-ACKs with a wrong checksum have no effect: they pass."""
    def remake(seen):
        if seen.flags & (SYN | ACK) != flags:
            return None
        data = bytearray(seen.packet)
        data[seen.hlen + 16] ^= 0x55
        return [bytes(data), seen.packet]
    with grows(follow_new=1, follow_established=1, split_handshake=1,
               pass_malformed=1, flow_closed=1):
        with remaking(ns, remake):
            exchange(pair(family), 2000)


families("a SYN with a wrong checksum", "sub", SYN)(handshake)
families("a SYN-ACK with a wrong checksum", "srv", SYN | ACK)(handshake)


@families("wrong lengths")
def lengths(family):
    """Copies with a too large length, in the IP header and in the TCP header,
    precede each packet with payload."""
    count = 0

    def remake(seen):
        nonlocal count
        if not seen.data:
            return None
        count += 2
        long = again(seen, length=len(seen.packet) + 8 -
                     (40 if family == 6 else 0))
        offset = bytearray(seen.packet[:seen.hlen + 24])
        offset[seen.hlen + 12] = 0xf0
        return [long, bytes(offset), seen.packet]
    with grows(flow_established=1, flow_closed=1) as before:
        with remaking("sub", remake):
            exchange(pair(family), BYTES)
    expect("malformed packets counted",
           pep.stat("pass_malformed") - before["pass_malformed"], count)


@case("wrong header checksums")
def header_checksums():
    """Only IPv4 has them; the host drops the packets that pass."""
    before = nstat("pep", "IpInHdrErrors")

    def remake(seen):
        return [again(seen, csum=0x1234), seen.packet] if seen.data else None
    with grows(flow_established=1, flow_closed=1, pass_malformed=least(5)):
        with remaking("sub", remake):
            exchange(pair(4), BYTES)
    expect_least("header errors", nstat("pep", "IpInHdrErrors") - before, 5)


def not_for_a_leg(family, reason, function):
    """Copies of a flow's packets that are not deliverable to a leg pass to the
    other end, which drops them: out of window, or not for it."""
    both = pair(family)
    pep.wait_flows(1)
    with grows(ended=False, **{reason: least(5)}):
        with remaking("sub", later(family, lambda seen: [function(seen),
                                                         seen.packet]
                                   if seen.data else None)):
            exchange_part(both, BYTES)
    with grows():
        exchange(both, 1000)


SOURCE_ROUTE = b"\x83\x07\x04\xc6\x12\x02\x09\x00"
for _name, _family, _reason, _make in (
        ("a source route", 4, "pass_exthdr",
         lambda s: again(s, options=SOURCE_ROUTE)),
        ("broken IPv4 options", 4, "pass_malformed",
         lambda s: again(s, options=b"\x44\x20\x05\x00")),
        ("an option to be dropped for", 6, "pass_exthdr",
         lambda s: behind(s, (DEST, DROP6))),
        ("an authentication header", 6, "pass_exthdr",
         lambda s: behind(s, (AUTH, bytes(10)))),
        ("a routing header to be used", 6, "pass_exthdr",
         lambda s: behind(s, (ROUTING, b"\xfd\x01" + bytes(4)))),
        ("a routing header of type 0", 6, "pass_exthdr",
         lambda s: behind(s, (ROUTING, bytes(6)))),
        ("hop-by-hop options that are not first", 6, "pass_exthdr",
         lambda s: behind(s, (DEST, PAD6), (HOP, PAD6)))):
    case(f"{_name} passes, IPv{_family}", _family, _reason,
         _make)(not_for_a_leg)


def syn_passes(family, function):
    """A connection with such a SYN is not split, and works."""
    def remake(seen):
        return [function(seen)] if seen.flags & SYN else None
    with grows(syn_pass_ip_option=1, pass_syn=least(1),
               split_pass_option=1, pass_followed=least(5),
               flow_established=0):
        with remaking("sub", remake):
            exchange(pair(family), 5000)


case("a SYN with IPv4 options passes", 4,
     lambda s: again(s, options=NOPS))(syn_passes)
case("a SYN with destination options passes", 6,
     lambda s: behind(s, (DEST, PAD6)))(syn_passes)


@families("a SYN of nobody passes with its options")
def untouched(family):
    """The packet passes unchanged except for its hop limit."""
    src, dst = addr("sub", family), addr("srv", family)
    wire = raw.Wire("srv")
    packet = segment(src, dst, 4311, 4312, flags=SYN, seq=7,
                     options=b"\xfd\x04\x12\x34")
    with grows(follow_new=1, syn_pass_option=1, flow_established=0):
        raw.remakers["sub"].wire.send(packet)
        got = wire.find(lambda s: s.sport == 4311, outgoing=False)
    expect("time to live", got.ttl, 63)
    expect("segment", got.tcp, Segment(packet).tcp)
    expect("source", got.src, inet(src))


def beside(ns, window=None):
    """The first flight of an end bypasses its leg and still reaches the other
    end. That acknowledges more than the leg there has sent, and more than the
    leg may send at once. The connection goes on: the flight is retransmitted,
    and then passes the legs. There are no timestamps by which the other end
    could drop the flight. That end has payload under way, so that a window
    which the flight offers takes back a part of what the leg has offered."""
    left = BESIDE

    def remake(seen):
        nonlocal left
        if not seen.data or not left:
            return None
        left -= 1
        return [behind(Segment(renumbered(seen, window=window)),
                       (ROUTING, bytes(6)))]
    gateway, far = {"sub": ("pep", "srv"), "srv": ("sv", "sub")}[ns]
    way = f"{addr(far, 6)} via {addr(gateway, 6)}"
    ip(ns, f"route add {way} initcwnd {BESIDE}")
    try:
        with sysctls("sub", "net.ipv4.tcp_timestamps=0"):
            both = pep.split_pair(6)
        with grows(flow_closed=1, flow_reset=0):
            with impaired([(far, "eth0")], "delay", "50ms"), \
                    remaking(ns, later(6, remake)):
                exchange_part(both, BYTES)
            expect("packets that did not miss it", left, 0)
            exchange(both, BYTES)
    finally:
        ip(ns, f"route del {way}")
        pep.pepadm("flow", "kill", "all")


for _ns in "sub", "srv":
    case(f"packets from {_ns} that the other end gets beside its leg, IPv6",
         _ns)(beside)
    case(f"packets from {_ns} beside its leg, which has offered more, IPv6",
         _ns, 1)(beside)
