# SPDX-License-Identifier: GPL-2.0
"""ECN is negotiated by the ends, or with "connect early" by each leg for
itself. Congestion experienced on one side is answered on that side and does
not appear on the other; no marks are invented. Real stacks at both ends; netem
marks instead of dropping."""

import socket
import struct

from peptest import pep
from peptest.env import amount
from peptest.ktap import case, expect, expect_least, families
from peptest.netns import netem, single_packets, sysctl
from peptest.pep import grows
from peptest.raw import CWR, ECE, SYN, Wire
from peptest.tcp import exchange, listen, one_way, pair

BYTES = amount(600000)
ECT0, CE = 2, 3
TCP_INFO_DELIVERED_CE = 196     # offset in struct tcp_info
MARK = "loss random 20% ecn limit 10000".split()
GATEWAY = {"sub": ("pep", "wl0"), "srv": ("pep", "sv0")}


def setup():
    """A SYN that is retransmitted on a slow machine still requests ECN."""
    pep.warmed()
    for ns in "sub", "pep", "srv":
        sysctl(ns, "net.ipv4.tcp_ecn_fallback=0")
    single_packets("sub", "eth0")
    single_packets("pep", "wl0", "sv0")
    single_packets("srv", "eth0")


def want(sub=1, gateway=1, srv=1):
    """Set tcp_ecn of each host: 1 requests ECN, 0 disables it, 2 accepts."""
    for ns, value in ("sub", sub), ("pep", gateway), ("srv", srv):
        sysctl(ns, f"net.ipv4.tcp_ecn={value}")


class Seen:
    """ECN properties of captured packets."""

    def __init__(self, packets):
        self.asked = any(s.flags & SYN and s.flags & (ECE | CWR)
                         for s in packets)
        rest = [s for s in packets if not s.flags & SYN]
        self.capable = sum(s.tos & 3 == ECT0 for s in rest if s.data)
        self.marked = sum(s.tos & 3 == CE for s in rest)
        self.echoes = sum(bool(s.flags & ECE) for s in rest)
        self.reduced = sum(bool(s.flags & CWR) for s in rest)


class Tap:
    """An end's wire, for arriving and for leaving packets."""

    def __init__(self, ns):
        self.wires = [Wire(ns, "eth0", GATEWAY[ns]) for _ in range(2)]

    def seen(self):
        """Packets that have arrived, and left, since the last call."""
        return [Seen(wire.segments(outgoing=out))
                for wire, out in zip(self.wires, (False, True))]


def delivered_ce(sock):
    """Number of packets that the peer reported as marked."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("I", info, TCP_INFO_DELIVERED_CE)[0]


def transfer(family, sender, receiver, mark):
    """Payload one way while a device marks; returns the packets on both ends'
    wires, and the marks reported to both ends."""
    near, far = pair(family)
    pep.wait_flows(1)
    ends = {"sub": near, "srv": far}
    taps = {ns: Tap(ns) for ns in ends}
    netem(*mark, *MARK)
    try:
        one_way(ends[sender], ends[receiver], BYTES)
    finally:
        netem(*mark, "off")
    seen = {ns: tap.seen() for ns, tap in taps.items()}
    told = {ns: delivered_ce(sock) for ns, sock in ends.items()}
    exchange((near, far), 1000)
    return seen, told


def arriving(family, sender, receiver):
    """Marks on the way to a leg: it echoes them to the sender, which slows
    down; the other leg's packets have none."""
    want()
    with grows(flow_closed=1):
        seen, told = transfer(family, sender, receiver, (sender, "eth0"))
    arrived, left = seen[receiver]
    expect_least("packets capable of ECN", arrived.capable, 10)
    expect("marked packets at the receiver", arrived.marked, 0)
    expect("echoes of the receiver", left.echoes, 0)
    arrived, left = seen[sender]
    expect_least("echoes to the sender", arrived.echoes, 1)
    expect_least("reductions of the sender", left.reduced, 1)
    expect_least("marks that the sender knows of", told[sender], 1)
    expect("marks that the receiver knows of", told[receiver], 0)


def leaving(family, sender, receiver):
    """Marks on the way from a leg: that leg slows down, the sender on the
    other side does not notice."""
    want()
    with grows(flow_closed=1):
        seen, told = transfer(family, sender, receiver, GATEWAY[receiver])
    arrived, left = seen[receiver]
    expect_least("marked packets at the receiver", arrived.marked, 1)
    expect_least("echoes of the receiver", left.echoes, 1)
    expect_least("reductions told to the receiver", arrived.reduced, 1)
    arrived, left = seen[sender]
    expect_least("packets capable of ECN", left.capable, 10)
    expect("echoes to the sender", arrived.echoes, 0)
    expect("marked packets at the sender", arrived.marked, 0)
    expect("marks that anyone knows of", told[sender] + told[receiver], 0)


for _sender, _receiver in ("sub", "srv"), ("srv", "sub"):
    families(f"marks between {_sender} and its leg", _sender,
             _receiver)(arriving)
    families(f"marks between a leg and {_receiver}", _sender,
             _receiver)(leaving)


def agreed(family, who, near, far):
    """Compare with near and far: does each end send and receive packets that
    are capable of ECN?"""
    want(*who)
    listen("srv", family)
    taps = {ns: Tap(ns) for ns in ("sub", "srv")}
    with grows(flow_closed=1):
        exchange(pair(family), 20000)
    for ns, has in ("sub", near), ("srv", far):
        for what, seen in zip(("arriving", "leaving"), taps[ns].seen()):
            expect(f"ECN of what is {what} at {ns}", seen.capable > 0, has)
            expect(f"marks {what} at {ns}", seen.marked, 0)
            expect(f"echoes {what} at {ns}", seen.echoes, 0)


for _text, _who, _has in (
        ("everyone", (1, 1, 1), True),
        ("not the server", (1, 1, 0), False),
        ("not the subscriber", (0, 1, 1), False),
        ("the gateway is not asked", (1, 0, 1), True)):
    families(f"asking for ECN: {_text}", _who, _has, _has)(agreed)


@case("set early")
def set_early():
    pep.early()


for _text, _who, _near, _far in (
        ("everyone", (1, 1, 1), True, True),
        ("not the server", (1, 1, 0), True, False),
        ("not the subscriber", (0, 1, 1), False, True),
        ("the gateway only agrees", (1, 2, 1), True, False),
        ("not the gateway", (1, 0, 1), False, False)):
    families(f"early, asking for ECN: {_text}", _who, _near, _far)(agreed)
