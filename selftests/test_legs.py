# SPDX-License-Identifier: GPL-2.0
"""Legs use the options that the ends have negotiated: window scale, SACK,
timestamps; each respects its end's MSS. Their clocks continue the ends' own
and protect like these (PAWS). With "connect early" each leg negotiates for
itself: an option that one end lacks is used on the other leg all the same."""

import os
import re
import struct
import time

from peptest import pep
from peptest.env import amount
from peptest.ktap import case, expect, expect_least, families
from peptest.netns import ip, nstat, paws, sysctl
from peptest.pep import grows
from peptest.raw import (ACK, SYN, TCP, TUN_MTU, Wire, checksum, pseudo,
                         remade as setup, remade_teardown as teardown,
                         remaking)
from peptest.tcp import exchange, exchange_part, listen, one_way, pair

TRAITS = {"simulated"}

BYTES = amount(100000)
GATEWAY = {"sub": ("pep", "wl0"), "srv": ("pep", "sv0")}
OTHER = {"sub": "srv", "srv": "sub"}
MSS, SACK, TIMESTAMPS = 2, 5, 8
SETTINGS = {"window scale": (3, "tcp_window_scaling"),
            "SACK": (4, "tcp_sack"), "timestamps": (8, "tcp_timestamps")}
SHOWN = {"window scale": r"\bwscale:\d", "SACK": r"\bsack\b",
         "timestamps": r"\bts\b"}     # by ss
NETWORK = {4: "198.18.0.0/15", 6: "2001:db8::/32"}
OLD = 1 << 30           # ticks
OLD_SEEN = "TcpExtPAWSEstab"
assert setup and teardown


def shaken(wires):
    """The SYN or SYN-ACK that has arrived at each end."""
    return {ns: next(s for s in wire.segments(outgoing=False)
                     if s.flags & SYN) for ns, wire in wires.items()}


def handshake(family):
    """A transfer; returns the SYN and the SYN-ACK that its ends received."""
    listen("srv", family)
    wires = {ns: Wire(ns, "eth0", gateway) for ns, gateway in GATEWAY.items()}
    with grows(flow_closed=1):
        exchange(pair(family), BYTES)
    return shaken(wires)


@families("a leg takes no message for a full segment")
def message(family):
    """TCP would offer its end less for the next payload."""
    both = pair(family)
    pep.wait_flows(1)
    one_way(*both, 300)
    for side, line in pep.legs().items():
        expect(f"{side}: segments", re.search(r"rcvmss:(\d+)", line)[1], "536")
    exchange(both, 100)


def agreed(family, ns, what):
    """An end without an option: neither leg has it, and both have the
    others."""
    name = SETTINGS[what][1]
    sysctl(ns, f"net.ipv4.{name}=0")
    try:
        both = pair(family)
        pep.wait_flows(1)
    finally:
        sysctl(ns, f"net.ipv4.{name}=1")
    wires = {end: Wire(end, "eth0", gateway)
             for end, gateway in GATEWAY.items()}
    with grows(flow_closed=1, flow_reset=0):
        exchange_part(both, BYTES)
        for side, line in pep.legs().items():
            for option, pattern in SHOWN.items():
                expect(f"the {side} leg has {option}",
                       bool(re.search(pattern, line)), option != what)
        exchange(both, BYTES)
    kinds = {"SACK": SACK, "timestamps": TIMESTAMPS}
    kinds.pop(what, None)
    for end, wire in wires.items():
        found = [set(seen.options) for seen in wire.segments(outgoing=False)]
        expect(f"options at {end} that were not agreed on",
               set().union(*found) - set(kinds.values()), set())
        expect(f"segments at {end} have timestamps",
               {TIMESTAMPS in options for options in found},
               {TIMESTAMPS in kinds.values()})


for _what in SETTINGS:
    for _ns in GATEWAY:
        families(f"{_ns} without {_what}: neither leg has it", _ns,
                 _what)(agreed)


def mss(family, early):
    """Each end receives the other's MSS, or the leg's own if the leg answers;
    each leg respects its end's."""
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
    told = {"sub": TUN_MTU - header, "srv": 700}
    for ns, seen in shaken(wires).items():
        expect(f"MSS told to {ns}", struct.unpack(
            "!H", seen.options[MSS])[0], 1500 - header if early else told[ns])
    expect("segments to the subscriber", flow["legs"]["wireless"]["mss"],
           700 - 12)
    expect("segments to the server", flow["legs"]["server"]["mss"],
           TUN_MTU - header - 12)
    exchange(both, 1000)
    pep.flows_end()


families("MSS", False)(mss)


def stamps(family):
    """A transfer; returns the timestamp values that each end has received, and
    those that it has sent, in their order. An end receives only echoes of
    values that it has sent."""
    wires = {ns: [Wire(ns, "eth0", gateway) for _ in range(2)]
             for ns, gateway in GATEWAY.items()}
    with grows(flow_closed=1):
        exchange(pair(family), BYTES)
    got, sent = {}, {}
    for ns, (arrived, left) in wires.items():
        sent[ns] = [struct.unpack("!I", s.options[TIMESTAMPS][:4])[0]
                    for s in left.segments(outgoing=True)]
        got[ns] = []
        for seen in arrived.segments(outgoing=False):
            value, echo = struct.unpack("!II", seen.options[TIMESTAMPS])
            got[ns].append(value)
            if seen.flags & ACK:
                expect(f"an echo of what {ns} has sent", echo in sent[ns],
                       True)
    return got, sent


@families("timestamps go on from the ends' own")
def clocks(family):
    """They never go back, and are never ahead of the end's clock, which ticks
    every millisecond. Several CPUs do not keep the order of packets."""
    before = paws()
    begun = time.monotonic()
    got, sent = stamps(family)
    passed = int((time.monotonic() - begun) * 1000) + 1
    for ns, values in got.items():
        first = sent[OTHER[ns]][0]
        expect(f"the first value at {ns}", values[0], first)
        ticks = [value - first & 0xffffffff for value in values]
        if len(os.sched_getaffinity(0)) == 1:
            expect(f"values at {ns} in their order", ticks, sorted(ticks))
        expect_least(f"ticks of the end's clock at the last value at {ns}",
                     passed, ticks[-1])
    expect("old segments at the ends", paws(), before)


@families("an old segment from the subscriber", "sub")
@families("an old segment from the server", "srv")
def old(family, ns):
    """A copy with a very old timestamp, other payload and a valid checksum
    precedes each packet with payload: the leg drops it as old."""
    before = nstat("pep", OLD_SEEN)

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
                 nstat("pep", OLD_SEEN) - before, 5)


@case("set early")
def set_early():
    pep.early()


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
        families(f"early: {_ns} without {_what}", _ns, _what)(lacking)


families("early: MSS", True)(mss)


@families("early: timestamps are the leg's own")
def own_clocks(family):
    got, _ = stamps(family)
    expect("values sent to both ends", set(got["sub"]) & set(got["srv"]),
           set())
