# SPDX-License-Identifier: GPL-2.0
"""Attackers: each one begins, gets a tick every TICK seconds, and ends."""

import contextlib
import random
import socket
import time

import floods
from field import OWN, TCP_MEM
from honest import BULK, IN, MUTE, OUT, SINK, SMALL
from peptest.netns import Within, addr, netem, netem_end, sysctl
from peptest.raw import ACK, Wire, segment
from peptest.tcp import FAMILIES

TICK = 0.01             # seconds
BURST = 50              # packets of a tick
SHORT_MEM = "9000 12000 18000"      # pages for TCP
WORST = 2000            # ms that a slow reader's round trip grows to


class Attack:
    """The common part of attackers: sockets in atk."""

    title = ""
    unit = ""           # of the count
    settings = ()       # of the profile
    longer = 1          # duration as a multiple of the others'

    def __init__(self, loop, honest, seconds):
        self.loop, self.honest, self.seconds = loop, honest, seconds
        self.rnd = random.Random(self.title)
        self.begun = time.monotonic()
        self.count = 0
        self.socks = []

    def connect(self, family, port, bind=None, **options):
        """Begin to connect to the server."""
        with Within("atk"):
            sock = socket.socket(FAMILIES[family])
        for name, value in options.items():
            sock.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
        if bind:
            sock.bind((bind, 0))
        sock.setblocking(False)
        sock.connect_ex((addr("srv", family), port))
        self.socks.append(sock)
        self.count += 1
        return sock

    def tick(self):
        """The next step."""

    def end(self):
        """Vanish."""
        for sock in self.socks:
            self.loop.close(sock)


class Flood(Attack):
    """Packets that a function makes."""

    make = None
    unit = "packets"

    def __init__(self, *args):
        super().__init__(*args)
        self.wires = {"atk": Wire("atk", peer=("pep", "wl1")),
                      "srv": Wire("srv", peer=("pep", "sv0"))}
        self.tuples = self.honest.tuples()

    def tick(self):
        for _ in range(BURST):
            where, packet = self.make(self.count, self.rnd, self.tuples)
            with contextlib.suppress(OSError):
                self.wires[where].send(packet)
            self.count += 1

    def end(self):
        for wire in self.wires.values():
            wire.close()


class Opening(Attack):
    """Connections, a burst on each tick until there are enough."""

    unit = "connections"
    port = BULK
    most = 100
    burst = 10
    options = {}

    def tick(self):
        if self.count < self.most:
            for _ in range(self.burst // 2):
                for family in FAMILIES:
                    self.opened(self.connect(family, self.port,
                                             **self.options))

    def opened(self, sock):
        """A connection is under way."""


class NeverRead(Opening):
    """Connections that are never read, from an end with small windows."""

    title = "10,000 connections that are never read"
    port = SMALL
    most = 10_000
    burst = 40

    def __init__(self, *args):
        super().__init__(*args)
        sysctl("atk", "net.ipv4.tcp_rmem=4096 8192 8192")


class Pressed(NeverRead):
    """The same with so little memory for TCP that it runs short. There are as
    many connections as may be split and some more, because the memory that the
    ends of others hold belongs to other hosts."""

    title = "1000 connections that are never read, TCP short of memory"
    longer = 6
    most = 1000

    def __init__(self, *args):
        super().__init__(*args)
        sysctl(None, f"net.ipv4.tcp_mem={SHORT_MEM}")

    def end(self):
        super().end()
        sysctl(None, f"net.ipv4.tcp_mem={TCP_MEM}")


class SlowReaders(Opening):
    """Readers of a KB per second, whose round trip grows all the time."""

    title = "300 slow readers that raise their round trip"
    most = 300

    def __init__(self, *args):
        super().__init__(*args)
        self.next = 0

    def tick(self):
        super().tick()
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + 1
        delay = 10 + (now - self.begun) / self.seconds * WORST
        netem("atk", "eth0", "delay", f"{delay:.0f}ms", "limit", "100000")
        for sock in self.socks:
            with contextlib.suppress(OSError):
                sock.recv(1000)

    def end(self):
        super().end()
        netem_end("atk", "eth0")


class Segments(Opening):
    """Connections on which each tick sends a small segment."""

    unit = "segments"
    most = 50
    flags = 0

    def __init__(self, *args):
        super().__init__(*args)
        self.sent = 0

    def opened(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def tick(self):
        super().tick()
        for sock in self.socks:
            with contextlib.suppress(OSError):
                self.sent += sock.send(b"x", self.flags)

    def end(self):
        self.count = self.sent
        super().end()


class Tiny(Segments):
    """Segments of a byte that the server does not read."""

    title = "segments of one byte to a server that does not read"
    port = MUTE


class Urgent(Segments):
    """Urgent bytes."""

    title = "urgent bytes, one after the other"
    port = SINK
    flags = socket.MSG_OOB


class Games(Opening):
    """ACKs of the attacker's own downloads with other windows and SACK blocks
    than TCP would send. Without timestamps, so that they are as valid as the
    real ones."""

    title = "windows that come and go, SACK blocks of anything"
    unit = "packets"
    most = 20

    def __init__(self, *args):
        super().__init__(*args)
        sysctl("atk", "net.ipv4.tcp_timestamps=0",
               "net.ipv4.tcp_rmem=4096 65536 65536")
        self.wire = Wire("atk", peer=("pep", "wl1"))
        self.last = {}
        self.sent = 0

    def opened(self, sock):
        def read(_):
            with contextlib.suppress(OSError):
                sock.recv(1 << 16)
        self.loop.watch(sock, IN, read)

    def tick(self):
        super().tick()
        for seen in self.wire.segments(outgoing=True):
            if seen.flags & ACK:
                self.last[seen.family, seen.sport] = seen
        last = list(self.last.values())
        for _ in range(BURST if last else 0):
            seen = self.rnd.choice(last)
            left = (seen.ack + self.rnd.randrange(1 << 17)) & 0xffffffff
            right = (left + self.rnd.randrange(1 << 16)) & 0xffffffff
            ends = [socket.inet_ntop(FAMILIES[seen.family], end)
                    for end in (seen.src, seen.dst)]
            with contextlib.suppress(OSError):
                self.wire.send(segment(
                    *ends, seen.sport, seen.dport, seq=seen.seq, ack=seen.ack,
                    window=self.rnd.choice((0, 1, 512, 65535)),
                    options=b"\x01\x01\x05\x0a" + left.to_bytes(4, "big") +
                    right.to_bytes(4, "big")))
                self.sent += 1

    def end(self):
        self.count = self.sent
        self.wire.close()
        super().end()


class Poison(Opening):
    """Short connections from many addresses over a slow link that loses a
    third: pep can learn only bad links, and many of them."""

    title = "bad links to be learnt, from 4000 networks"
    most = 4000
    burst = 20

    def __init__(self, *args):
        super().__init__(*args)
        netem("atk", "eth0", "delay", "500ms", "loss", "30%", "limit",
              "100000")

    def connect(self, family, port, bind=None, **options):
        number = self.count // 2
        bind = OWN[family].format(
            *((128 + number // 250, 1 + number % 250) if family == 4 else
              (f"{number:x}", 1)))
        return super().connect(family, port, bind, **options)

    def opened(self, sock):
        def step(events):
            try:
                if events & OUT:
                    self.loop.watch(sock, IN, step)
                elif len(sock.recv(1 << 16)):
                    return
            except OSError:
                pass
            else:
                return
            self.loop.close(sock)
        self.loop.watch(sock, OUT, step)
        self.loop.at(time.monotonic() + 5, lambda: self.loop.close(sock))

    def end(self):
        super().end()
        netem_end("atk", "eth0")


def _flood(name, early=False):
    make = floods.FLOODS[name]
    title = make.__doc__.splitlines()[0].rstrip(".")
    return type(name, (Flood,), {
        "title": " ".join(make.__doc__.split()).rstrip(".") +
                 (", openers answered early" if early else ""),
        "make": staticmethod(make), "__doc__": title,
        "settings": ("connect", "early") if early else ()})


ATTACKS = {name: _flood(name) for name in floods.FLOODS}
ATTACKS |= {f"{name}-early": _flood(name, True) for name in floods.EARLY}
ATTACKS |= {"never-read": NeverRead, "pressed": Pressed,
            "slow-readers": SlowReaders,
            "tiny": Tiny, "urgent": Urgent, "games": Games, "poison": Poison}
SHORT = "syn-spoofed", "rst-storm", "never-read", "syn-one-early"
