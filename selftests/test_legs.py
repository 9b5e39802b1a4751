# SPDX-License-Identifier: GPL-2.0
"""Each leg negotiates for itself: MSS, window scale, SACK, timestamps. What an
end does not have, the other end's connection has all the same; timestamps
belong to one leg, and so does the protection that they give (PAWS)."""

import struct

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, expect_least, families
from peptest.netns import ip, nstat, sysctl
from peptest.pep import grows
from peptest.raw import (ACK, SYN, TCP, TUN_MTU, Wire, checksum, pseudo,
                         remade as setup, remade_teardown as teardown,
                         remaking)
from peptest.tcp import exchange, exchange_part, listen, pair

BYTES = amount(100000)
GATEWAY = {"sub": ("pep", "wl0"), "srv": ("pep", "sv0")}
OTHER = {"sub": "srv", "srv": "sub"}
MSS, TIMESTAMPS = 2, 8
SETTINGS = {"window scale": (3, "tcp_window_scaling"),
            "SACK": (4, "tcp_sack"), "timestamps": (8, "tcp_timestamps")}
NETWORK = {4: "198.18.0.0/15", 6: "2001:db8::/32"}
OLD = 1 << 30           # ticks
assert setup and teardown


def shaken(wires):
    """The SYNs and SYN-ACKs that have arrived at both ends."""
    return {ns: next(s for s in wire.segments(outgoing=False)
                     if s.flags & SYN) for ns, wire in wires.items()}


def handshake(family):
    """A transfer; the SYN and the SYN-ACK that its ends got from the legs."""
    listen("srv", family)
    wires = {ns: Wire(ns, "eth0", gateway) for ns, gateway in GATEWAY.items()}
    with grows(flow_closed=1):
        exchange(pair(family), BYTES)
    return shaken(wires)


def lacking(family, ns, what):
    """An end without an option."""
    kind, name = SETTINGS[what]
    sysctl(ns, f"net.ipv4.{name}=0")
    try:
        got = handshake(family)
    finally:
        sysctl(ns, f"net.ipv4.{name}=1")
    expect("the other end's leg has it", kind in got[OTHER[ns]].options, True)
    if ns == "sub":
        expect("the answer to the subscriber has it",
               kind in got["sub"].options, False)


for _what in SETTINGS:
    for _ns in GATEWAY:
        families(f"{_ns} without {_what}", _ns, _what)(lacking)


@families("MSS")
def mss(family):
    """Each end is told the leg's own; each leg keeps to its end's."""
    route = f"route replace {NETWORK[family]} dev tun0"
    listen("srv", family)
    wires = {ns: Wire(ns, "eth0", gateway) for ns, gateway in GATEWAY.items()}
    ip("sub", f"{route} advmss 700")
    try:
        both = pair(family)
        exchange_part(both, BYTES)
        flow, = pep.flows()
    finally:
        ip("sub", route)
    header = 40 if family == 4 else 60
    for ns, seen in shaken(wires).items():
        expect(f"MSS told to {ns}", struct.unpack(
            "!H", seen.options[MSS])[0], 1500 - header)
    expect("segments to the subscriber", flow["legs"]["wireless"]["mss"],
           700 - 12)
    expect("segments to the server", flow["legs"]["server"]["mss"],
           TUN_MTU - header - 12)
    exchange(both, 1000)
    pep.flows_end()


@families("timestamps are the leg's own")
def clocks(family):
    """What an end has sent comes back to it, and nothing else does."""
    wires = {ns: [Wire(ns, "eth0", gateway) for _ in range(2)]
             for ns, gateway in GATEWAY.items()}
    with grows(flow_closed=1):
        exchange(pair(family), BYTES)
    values = {}
    for ns, (arrived, left) in wires.items():
        sent = {s.options[TIMESTAMPS][:4] for s in
                left.segments(outgoing=True)}
        for seen in arrived.segments(outgoing=False):
            value, echo = struct.unpack("!4s4s", seen.options[TIMESTAMPS])
            values.setdefault(ns, set()).add(value)
            if seen.flags & ACK:
                expect(f"an echo of what {ns} has sent", echo in sent, True)
    expect("values sent to both ends", values["sub"] & values["srv"], set())


@families("an old segment from the subscriber", "sub")
@families("an old segment from the server", "srv")
def old(family, ns):
    """Each packet with payload comes with a copy from long ago first, its
    payload another and its checksum right: the leg takes it for old."""
    before = nstat("pep", "TcpExtPAWSEstab")

    def remake(seen):
        if not seen.data or seen.flags & SYN:
            return None
        data = bytearray(seen.tcp)
        at = data.index(seen.options[TIMESTAMPS], 20)
        value = struct.unpack_from("!I", data, at)[0]
        struct.pack_into("!I", data, at, (value - OLD) & 0xffffffff)
        data[-1] ^= 0xff
        data[16:18] = b"\0\0"
        total = checksum(pseudo(seen.src, seen.dst, TCP, len(data)) + data)
        struct.pack_into("!H", data, 16, total)
        return [seen.packet[:seen.hlen] + bytes(data), seen.packet]

    with grows(flow_closed=1):
        with remaking(ns, remake):
            exchange(pair(family), BYTES)
    expect_least("old segments found by a leg",
                 nstat("pep", "TcpExtPAWSEstab") - before, 5)
