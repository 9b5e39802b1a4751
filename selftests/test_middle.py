# SPDX-License-Identifier: GPL-2.0
"""Events in the very middle of a take-over, with payload in flight in both
directions: FINs, resets, urgent data, closed windows, keepalive, another MTU,
ICMP errors, another route; on links with a delay, and on links that drop,
duplicate and reorder. All bytes arrive and nothing is left."""

import contextlib
import socket

from peptest import pep
from peptest.ktap import expect, families, wait_for
from peptest.netns import (SERVER, WIRELESS, addr, impaired, ip, nstat, run,
                           single_packets)
from peptest.pep import grows, least
from peptest.raw import Wire, icmp
from peptest.tcp import (End, client, accept, listen, exchange, expect_same,
                         outcome, pair, pump, reset, send_window)

TRAITS = {"once"}

SPLIT = 12000
BEFORE = 11000          # bytes, all of them in flight
BYTES = 120000
STREAM = 1000000        # bytes, more than both legs hold
GATEWAY = {"sub": ("pep", "wl0"), "srv": ("pep", "sv0")}
OTHER = {"sub": "srv", "srv": "sub"}
LINKS = {
    "delay": "delay 20ms limit 5000".split(),
    "loss": "delay 20ms loss random 2% limit 5000".split(),
    "reordering": ("delay 20ms 4ms reorder 20% 50% duplicate 2% "
                   "limit 5000").split(),
}
TOO_BIG = {4: (3, 4), 6: (2, 0)}
UNREACHABLE = {4: (3, 1), 6: (1, 3)}
KEEPALIVE = 2           # seconds
SEGMENT = 1400
PROBES = "TcpExtTCPKeepAlive"


def setup():
    """Attached, with delays on all links."""
    pep.attached(str(SPLIT))
    pep.ready()
    for ns, dev in WIRELESS + SERVER:
        single_packets(ns, dev)


@contextlib.contextmanager
def links(kind):
    """Impaired links; fail if anything is left afterwards."""
    with impaired(WIRELESS + SERVER, *LINKS[kind]):
        yield
    pep.flows_end()
    expect("sockets", [line for line in run(
        "ss", "-tanH", ns="pep").stdout.splitlines()
        if not line.startswith(("LISTEN", "TIME-WAIT"))], [])
    expect("connections being opened", pep.stat("pending"), 0)


class Middle:
    """A connection with payload of both ends in flight; go_on() sends the
    payload that triggers the take-over, and the rest."""

    def __init__(self, family, **kwargs):
        self.family = family
        near, far = pair(family, **kwargs)
        self.ends = {"sub": End(near, BEFORE, fin=False),
                     "srv": End(far, BEFORE, fin=False)}
        pump(self.all, until=lambda: all(end.sent == BEFORE
                                         for end in self.all))

    @property
    def all(self):
        """Both ends."""
        return list(self.ends.values())

    def go_on(self, size=BYTES):
        """Send the rest and the FINs of both directions."""
        for end in self.all:
            end.size, end.fin = size, True
        pump(self.all)
        for ns, end in self.ends.items():
            expect_same(end, self.ends[OTHER[ns]])
        for end in self.all:
            end.sock.close()


def nothing(_middle, _ns):
    """For comparison."""


def keepalive(middle, ns):
    """Send probes while the connection is followed, and later."""
    for end in middle.all:
        end.wanted = BEFORE
    pump(middle.all)
    before = nstat(ns, PROBES)
    sock = middle.ends[ns].sock
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option in socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL:
        sock.setsockopt(socket.IPPROTO_TCP, option, KEEPALIVE)
    wait_for("probes", lambda: nstat(ns, PROBES) > before + 1)
    for end in middle.all:
        end.wanted = None


def mtu(_middle, ns):
    """Reduce the MTU of the link to an end, at both of its devices."""
    far, dev = GATEWAY[ns]
    ip(far, f"link set {dev} mtu 1300")
    ip(ns, "link set eth0 mtu 1300")


def mtu_back(ns):
    """Restore the MTU."""
    far, dev = GATEWAY[ns]
    ip(far, f"link set {dev} mtu 1500")
    ip(ns, "link set eth0 mtu 1500")


def quoting(middle, ns, kind, rest):
    """Send an ICMP error from an end's side about a packet sent to it."""
    wire = Wire(ns, "eth0", GATEWAY[ns])
    seen = wire.find(lambda seen: seen.data, outgoing=False)
    wire.send(icmp(addr(ns, middle.family), addr(OTHER[ns], middle.family),
                   *kind[middle.family], rest, seen.packet))


def too_big(middle, ns):
    """Send an error that requests smaller packets."""
    quoting(middle, ns, TOO_BIG, 1300)


def unreachable(middle, ns):
    """Send an error that changes nothing."""
    quoting(middle, ns, UNREACHABLE, 0)


def route(middle, ns):
    """Set another route of the gateway to an end, on the same device."""
    prefix = 32 if middle.family == 4 else 128
    to = addr(ns, middle.family)
    ip("pep", f"route replace {to}/{prefix} dev {GATEWAY[ns][1]} mtu 1400",
       family=middle.family)


def route_back(ns):
    """Delete that route."""
    for family, prefix in (4, 32), (6, 128):
        run("ip", f"-{family}", "route", "del", f"{addr(ns, family)}/{prefix}",
            "dev", GATEWAY[ns][1], ns="pep", check=False)


AFTERWARDS = {mtu: mtu_back, route: route_back}


def happens(family, event, ns, kind):
    """An event between two flights; the second triggers the take-over, unless
    a hole prevents it."""
    whole = kind == "delay" and event is not mtu
    with links(kind), grows(flow_reset=0, follow_reset=0,
                            split_bytes=least(whole)):
        try:
            middle = Middle(family)
            event(middle, ns)
            middle.go_on()
        finally:
            AFTERWARDS.get(event, lambda _: None)(ns)
            for space in "sub", "pep", "srv":
                ip(space, "route flush cache", family=family)


for _event in nothing, keepalive, mtu, too_big, unreachable, route:
    for _ns in "sub", "srv":
        for _kind in LINKS:
            families(f"{_event.__name__} at {_ns}, {_kind}", _event, _ns,
                     _kind)(happens)


def fins(family, kind, sizes):
    """The deciding bytes arrive with the FIN of the direction."""
    with links(kind), grows(flow_reset=0, follow_reset=0):
        for size in sizes:
            for both in (size, 0), (0, size), (size, size):
                near, far = pair(family)
                exchange((near, far), *both)


for _kind in LINKS:
    families(f"FIN at the bytes that decide, {_kind}", _kind,
             (SPLIT - 1, SPLIT, SPLIT + 1, SPLIT + 2000))(fins)


def resets(family, kind, ns):
    """A reset right after the deciding bytes: the other end receives it."""
    for size in SPLIT, SPLIT + 1, 2 * SPLIT, 4 * SPLIT:
        with links(kind):
            near, far = pair(family)
            one, other = (near, far) if ns == "sub" else (far, near)
            one.sendall(bytes(size))
            reset(one)
            expect("the end", outcome(other), "ECONNRESET")


for _kind in "delay", "reordering":
    for _ns in "sub", "srv":
        families(f"RST of {_ns} behind the bytes that decide, {_kind}", _kind,
                 _ns)(resets)


def urgent(family, kind, ns):
    """Urgent data in the deciding segments: it stays in its place, and the
    connection is not split."""
    with links(kind), grows(flow_established=0,
                            flow_reset=0, follow_reset=0):
        near, far = pair(family)
        one, other = (near, far) if ns == "sub" else (far, near)
        other.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        one.sendall(bytes(SPLIT - 1))
        one.send(b"!", socket.MSG_OOB)
        one.sendall(bytes(SPLIT))
        got = b""
        while len(got) < 2 * SPLIT:
            got += other.recv(2 * SPLIT - len(got))
        expect("the stream", got,
               bytes(SPLIT - 1) + b"!" + bytes(SPLIT))
        exchange((near, far), BYTES)


for _kind in LINKS:
    for _ns in "sub", "srv":
        families(f"urgent data of {_ns}, {_kind}", _kind, _ns)(urgent)


def narrow(family, kind, ns):
    """A closed window while the connection is taken over."""
    with links(kind), grows(flow_reset=0, follow_reset=0,
                            split_bytes=least(kind == "delay")):
        listener = listen("srv", family)
        near = client("sub", family)
        for sock in (near, ) if ns == "sub" else (listener, ):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 * SPLIT)
        near.connect((addr("srv", family), 5000))
        far = accept(listener)
        socks = {"sub": near, "srv": far}
        reader = End(socks[ns], BYTES)
        sender = End(socks[OTHER[ns]], STREAM)
        ends = reader, sender
        reader.deaf = True
        pump(ends, until=lambda: sender.sent > SPLIT and
             send_window(sender.sock) < SEGMENT)
        reader.deaf = False
        pump(ends)
        expect_same(reader, sender)
        expect_same(sender, reader)
        near.close()
        far.close()


for _kind in LINKS:
    for _ns in "sub", "srv":
        families(f"a closed window at {_ns}, {_kind}", _kind, _ns)(narrow)
