# SPDX-License-Identifier: GPL-2.0
"""Situations that are rare on a gateway, on demand: non-linear headers,
fragments, a rewritten SYN, kept SYN-ACKs, flows that are killed or handed back
in mid-transfer, listeners to all of these. No byte is lost in any of them,
even when allocations fail."""

import contextlib
import itertools
import socket
import struct
import time

from . import pep
from .ktap import Failure, wait_for
from .monitor import Monitor
from .netns import (SERVER, WIRELESS, Within, addr, impaired, ip, spaces_down,
                    topology_up)
from .raw import (RST, SYN, TCP, UDP, Segment, Wire, fragments, icmp, inet,
                  ip4, ip6, renumbered, segment, tcp_header)
from .tcp import (MSG_ZEROCOPY, SO_ZEROCOPY, Load, exchange, exchange_all,
                  exchange_part, expect_stream, next_offset, pair, pieces,
                  start)

FAMILIES = 4, 6
BYTES = 100_000
LITTLE = 100            # bytes that are cheaper to copy
SENT = 20_000
MESSAGES = 50
MANY = 70               # more than a pool holds, or a node of the flow ids
LATE = "50000"           # bytes after which a connection is split
KNOWN = 400_000         # bytes to measure a link
SUBSCRIBERS = 1000
AGAIN = .4              # seconds, after which no reset is repeated
RATE = 500_000          # bytes per second and end
PORT = 7999             # nobody listens
TRIES = 6               # per command
JUMBO = 9000            # bytes
PADDING = bytes(5000)   # moves the bytes before it into pages
PACKET_VNET_HDR = 263, 15
LINK = 14               # bytes of a link header
# Linear bytes: up to each header, and to TCP's options.
PIECES = tuple(LINK + size for size in (0, 8, 20, 24, 40, 48, 60))


def must(*words, ns="pep"):
    """Run pepadm, which may fail for lack of memory for a short time."""
    for _ in range(TRIES):
        done = pep.pepadm(*map(str, words), ns=ns, check=False)
        if not done.returncode:
            return
    raise Failure(f"pepadm {words} has failed {TRIES} times: {done.stderr}")


class Paged(Wire):
    """Frames of more than a page, with only the first piece bytes linear."""

    def __init__(self, *args):
        super().__init__(*args)
        self.sock.setsockopt(*PACKET_VNET_HDR, 1)
        self.piece = LINK

    def frame(self, packet, proto=None):
        head = struct.pack("=BBHHHH", 0, 0, self.piece, 0, 0, 0)
        return head + super().frame(packet, proto) + PADDING


@contextlib.contextmanager
def tapped():
    """Within, taps share the packets that the gateway receives: before one is
    changed, or its headers are linearised, it is copied."""
    taps = Wire("pep", "wl0", ("sub", "eth0")), \
        Wire("pep", "sv0", ("srv", "eth0"))
    try:
        yield
    finally:
        for tap in taps:
            tap.close()


def mtu(size):
    """Set the MTU of the wireless link, at both ends."""
    for ns, dev in WIRELESS:
        ip(ns, f"link set {dev} mtu {size}")


def strange(family):
    """Packets of all kinds that the gateway parses, from a subscriber."""
    src, dst = addr("sub", family), addr("srv", family)
    options = bytes((1, 1, 8, 10)) + bytes(8)
    plain = segment(src, dst, PORT, PORT, flags=RST, options=options)
    yield plain
    yield segment(src, dst, PORT, PORT)
    yield icmp(src, dst, {4: 3, 6: 1}[family], 3, 0, plain)
    yield from fragments(Segment(plain), TCP, plain[-32:], 16)
    ends = inet(src), inet(dst)
    tcp = tcp_header(*ends, PORT, PORT, flags=RST)
    if family == 4:
        yield ip4(*ends, TCP, tcp, options=bytes((1, 1, 1, 0)))
        yield ip4(*ends, UDP, struct.pack("!4H", 443, 443, 8, 0))
    else:
        yield ip6(*ends, 60, bytes((TCP, 0, 1, 4)) + bytes(4) + tcp)
        yield ip6(*ends, UDP, struct.pack("!4H", 443, 443, 8, 0))


def in_pages():
    """Non-linear headers, of shared packets."""
    mtu(JUMBO)
    with tapped():
        wire = Paged("sub")
        for wire.piece in PIECES:
            for packet in (*strange(4), *strange(6)):
                wire.send(packet)
        wire.close()
    mtu(1500)
    carried()


def repeated():
    """Segments of a flow are repeated, non-linear, and then with an ACK that
    acknowledges too much."""
    mtu(JUMBO)
    with tapped():
        wire, paged = Wire("sub"), Paged("sub")
        for family in FAMILIES:
            both = pair(family)
            exchange_part(both, LITTLE)
            for seen in wire.segments(outgoing=True):
                if seen.family == family and seen.data:
                    paged.send(seen.packet)
                    wire.send(renumbered(seen, ack=2 * LITTLE))
            exchange(both, BYTES)
        for each in wire, paged:
            each.close()
    mtu(1500)


def own_pages():
    """Payload in the sender's own pages, which are copied before they are
    forwarded, or kept."""
    for split, family in itertools.product(("handshake", LATE), FAMILIES):
        must("profile", "set", "default", "split", split)
        both = pair(family)
        both[0].setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        offset = next_offset()
        both[0].sendall(b"".join(pieces(offset, SENT)), MSG_ZEROCOPY)
        expect_stream(both[1], offset, SENT)
        for sock in both:
            sock.close()
    must("profile", "set", "default", "split", "handshake")


def in_fragments():
    """TCP segments that arrive in fragments."""
    wire = Wire("sub")
    for family in FAMILIES:
        plain = Segment(segment(addr("sub", family), addr("srv", family),
                                PORT, PORT, flags=RST, payload=bytes(100)))
        for part in fragments(plain, TCP, plain.tcp, 64):
            wire.send(part)
    wire.close()
    carried()


def stripped():
    """The MPTCP options of a shared SYN are stripped."""
    must("profile", "set", "default", "mptcp", "split")
    with tapped():
        wire = Wire("sub")
        for family in FAMILIES:
            wire.send(segment(addr("sub", family), addr("srv", family), PORT,
                              PORT, flags=SYN, options=b"\x1e\x04\x00\x81"))
        carried()
        wire.close()
    must("profile", "set", "default", "mptcp", "bypass")


def carried():
    """Connections that are split by their handshake, of unknown
    subscribers."""
    must("path", "flush", "all")
    for family in FAMILIES:
        both = pair(family)
        exchange_part(both, LITTLE)
        exchange(both, BYTES)


def busy():
    """Enough connections at once for the pool to be refilled."""
    before = pep.stat("pool_refill")
    for family in FAMILIES:
        exchange_all(start(family, MANY), LITTLE)
    wait_for("sockets", lambda: pep.stat("pool_refill") > before)


def small(split):
    """Messages one after the other, on connections that are displayed."""
    must("profile", "set", "default", "split", split)
    both = [pair(family) for family in FAMILIES]
    for _ in range(MESSAGES):
        for socks in both:
            exchange_part(socks, LITTLE)
    must("conn", "show")
    for socks in both:
        exchange(socks, BYTES)


def followed():
    """Connections that are split later, and some that never are."""
    for split in "12000", LATE, "never", "handshake":
        small(split)


def early():
    """Openers that are answered before their targets are contacted, from the
    openers' addresses and from the gateway's."""
    must("profile", "set", "default", "connect", "early")
    carried()
    must("profile", "set", "default", "source", "local")
    carried()
    must("profile", "set", "default", "source", "client", "connect", "follow")


def changed():
    """Settings that live flows take over."""
    both = [pair(family) for family in FAMILIES]
    for cc in "cubic", "pep_bbr":
        must("profile", "set", "default", "cc-wireless", cc, "live")
        for socks in both:
            exchange_part(socks, BYTES)
    for socks in both:
        exchange(socks, LITTLE)


def crowded():
    """Many new subscribers at once on another gateway: its tables grow during
    the look-ups. Its server answers all of them."""
    topology_up("B")
    try:
        for dev, side in ("wl0", "wireless"), ("sv0", "server"):
            must("dev", "add", dev, "side", side, ns="pepB")
        with Within("srvB"), socket.socket() as listener:
            listener.bind(("", PORT))
            listener.listen(SUBSCRIBERS)
            with impaired((("subB", "eth0"),), "delay", "50ms", "limit",
                          str(2 * SUBSCRIBERS)):
                arrive()
    finally:
        spaces_down("subB", "pepB", "srvB")


def arrive():
    """A SYN of each subscriber, all at once."""
    wire = Wire("subB", "eth0", ("pepB", "wl0"))
    for number in range(SUBSCRIBERS):
        src = f"198.18.{2 + number // 250}.{1 + number % 250}"
        wire.send(segment(src, addr("srv", 4), PORT, PORT, flags=SYN))
    wait_for("SYNs of all subscribers", lambda: pep.stat(
        "pass_syn", "pepB") >= SUBSCRIBERS)
    wire.close()


def kept():
    """SYN-ACKs of a known link."""
    with impaired(WIRELESS, "delay", "10ms"):
        must("path", "flush", "all")
        for family in FAMILIES:
            for size in KNOWN, KNOWN, BYTES, BYTES:
                exchange(pair(family), size)


def killed():
    """Flows that are killed while payload is in flight, and the gateway has
    lost its neighbours when it repeats the resets."""
    both = [pair(family) for family in FAMILIES]
    for near, far in both:
        near.send(bytes(BYTES))
        far.send(bytes(BYTES))
    must("flow", "kill", "all")
    ip("pep", "neigh flush dev wl0", "neigh flush dev sv0")
    time.sleep(AGAIN)
    for socks in both:
        for sock in socks:
            sock.close()


def handed_back():
    """Flows that are handed back in mid-transfer, and split again."""
    with impaired(WIRELESS + SERVER, "delay", "2ms"):
        for ways in ({}, {"up": False}, {"down": False}):
            load = Load([pair(family) for family in FAMILIES], RATE, **ways)
            for _ in range(3):
                load.more(RATE // 20)
                must("flow", "release", "all")
            load.finish()
            load.expect_whole()


def told():
    """Connections are exported, and imported again."""
    both = [pair(family) for family in FAMILIES]
    for socks in both:
        socks[0].send(bytes(1000))
    done = pep.pepadm("flow", "save", "-", check=False)
    pep.pepadm("flow", "restore", "-", stdin=done.stdout, check=False)
    for socks in both:
        for sock in socks:
            sock.close()


def heard():
    """Listeners receive events of connections, flows, and reached limits."""
    watches = Monitor(), Monitor("conns")
    try:
        followed()
        must("limit", "set", "flows", 1)
        both = [pair(family) for family in FAMILIES]
        for socks in both:
            exchange(socks, BYTES)
        must("drain", "on")
        pep.flows_end()
        must("drain", "off")
        must("limit", "set", "flows",
             pep.default_limits()["flows"])
    finally:
        for watch in watches:
            watch.process.kill()
            watch.process.communicate()
