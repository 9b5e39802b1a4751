# SPDX-License-Identifier: GPL-2.0
"""IPv6's flow label, RFC 6437: each direction of a connection keeps the label
of its end while pep takes it over and hands it back, so that all who choose a
path by it, routers and this host itself, go on with the same one."""

import collections
import socket
import struct

from peptest import pep
from peptest.ktap import case, expect, expect_between, skip, wait_for
from peptest.netns import (HOSTS, addr, ip, nstat, space_up, sysctls, tc)
from peptest.pep import grows, hand_back, pepadm
from peptest.raw import Wire
from peptest.tcp import (exchange, exchange_all, exchange_part, one_way, pair,
                         start)

TRAITS = {"once"}

BYTES = 100000
MASK = (1 << 20) - 1
SPLIT = "20000"
AUTO = "net.ipv6.auto_flowlabels"
FAR = "2001:db8:9::1"   # of the server, by two of its devices
COUNT = 24


def labels(segments, source, port):
    """The labels of captured packets from an end of a connection."""
    address = socket.inet_pton(socket.AF_INET6, addr(source, 6))
    return {struct.unpack_from("!I", seen.packet)[0] & MASK
            for seen in segments
            if seen.src == address and port in (seen.sport, seen.dport)}


def timeouts():
    """Number of times that the ends or the legs have repeated payload."""
    return sum(nstat(ns, "TcpExtTCPTimeouts") for ns in HOSTS)


def quick(before):
    """Skip where a sender may have changed its label, after a time-out."""
    if timeouts() != before:
        skip("payload was sent again, this guest is too slow")


class Seen:
    """The labels of both ends' packets, as they send and receive them."""

    def __init__(self):
        self.wires = {"sub": Wire("sub"),
                      "srv": Wire("srv", "eth0", ("pep", "sv0"))}
        self.timeouts = timeouts()

    def expect(self, port, known):
        """Fail unless each direction has one label, and keeps it; zero where
        the ends set none."""
        quick(self.timeouts)
        seen = {ns: wire.segments() for ns, wire in self.wires.items()}
        for sender, receiver in ("sub", "srv"), ("srv", "sub"):
            sent = labels(seen[sender], sender, port)
            expect(f"labels that {sender} sends", len(sent), 1)
            expect("a label", sent != {0}, known)
            expect(f"labels that {receiver} receives",
                   labels(seen[receiver], sender, port), sent)


def kept(split, known):
    """Labels before the take-over, after it, and handed back."""
    pep.follow(split)
    with grows(flow_established=1, flow_released=1, follow_closed=1):
        seen = Seen()
        both = pair(6)
        port = both[0].getsockname()[1]
        exchange_part(both, BYTES)
        pep.wait_flows(1)
        exchange_part(both, BYTES)
        hand_back()
        exchange_part(both, 1000)
        exchange(both, 1000)
    seen.expect(port, known)


@case("the ends have labels, split in mid-stream")
def midstream():
    kept(SPLIT, True)


@case("the ends have none")
def none():
    with sysctls("sub", f"{AUTO}=0"), sysctls("srv", f"{AUTO}=0"):
        kept(SPLIT, False)


def again(pause):
    """A connection is split again, which is due at once. The take-over awaits
    the labels of both ends."""
    pep.follow("handshake")
    with grows(flow_established=2, flow_closed=1):
        seen = Seen()
        both = pep.split_pair(6, size=1000)
        port = both[0].getsockname()[1]
        pause(both)
        for _ in range(3):
            one_way(both[1], both[0], BYTES)
        pep.wait_flows(1)
        exchange(both, BYTES)
    seen.expect(port, True)


def unseen(both):
    """Packets pass unseen."""
    pep.detach()
    exchange_part(both, 1000)
    pep.attach()


def idle(_both):
    """It is handed back for a silence."""
    pepadm("profile", "set", "default", "release-idle", "1", "live")
    pep.flows_end()
    pepadm("profile", "set", "default", "release-idle", "120")


case("split again after packets that were not seen", unseen)(again)
case("split again after a silence", idle)(again)


@case("the ends have labels, split at the handshake")
def handshake():
    kept("handshake", True)


@case("a leg that hears nothing tries another label")
def lonely():
    """As each sender does; payload arrives once the server hears it."""
    pep.follow("handshake")
    near, far = pep.split_pair(6)
    wire = Wire("srv", "eth0", ("pep", "sv0"))
    tc("srv", "qdisc add dev eth0 clsact",
       "filter add dev eth0 ingress matchall action drop")
    near.send(bytes(1000))
    found = set()

    def other():
        found.update(labels(wire.segments(False), "sub",
                            near.getsockname()[1]))
        return len(found) > 1
    try:
        wait_for("another label", other)
    finally:
        tc("srv", "qdisc del dev eth0 clsact")
    expect("payload", far.recv(1000, socket.MSG_WAITALL), bytes(1000))
    exchange((near, far), BYTES)


def by_port(wire):
    """The numbers of the packets to the server that a device has received, by
    the subscriber's port."""
    return collections.Counter(seen.sport for seen in wire.segments(False))


@case("the gateway has two routes, and chooses by the label")
def paths():
    """A device of the server receives all packets of a connection or none."""
    ip("srv", "link add link eth0 name eth1 type macvlan mode bridge",
       f"address add {FAR}/128 dev lo")
    space_up("srv", ("eth1", "198.18.1.3", "2001:db8:1::3"))
    ip("pep", "route add 2001:db8:9::/64 nexthop via 2001:db8:1::2 "
              "nexthop via 2001:db8:1::3")
    pep.follow(SPLIT)
    wires = [Wire("srv", dev, ("pep", "sv0")) for dev in ("eth0", "eth1")]
    before = timeouts()
    with grows(split_bytes=COUNT, flow_closed=COUNT):
        exchange_all(start(6, COUNT, to=FAR), BYTES)
    quick(before)
    every, one = (by_port(wire) for wire in wires)
    expect("connections", len(every), COUNT)
    expect("connections by both devices",
           {port: (count, every[port]) for port, count in one.items()
            if count != every[port]}, {})
    expect_between("connections by one device", len(one), 1, COUNT - 1)
