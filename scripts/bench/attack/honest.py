# SPDX-License-Identifier: GPL-2.0
"""Honest subscribers, and the server that they and attackers use."""

import errno
import select
import socket
import time

from peptest.netns import Within, addr
from peptest.tcp import FAMILIES

# Ports of the server: it sends without end; sends an object for a request;
# reads and sends nothing; reads nothing; sends without end from a small
# buffer.
BULK, OBJECT, SINK, MUTE, SMALL = range(5000, 5005)
CLOSED = 9              # nobody listens
SIZE = 30_000           # bytes of an object
EVERY = 0.25            # seconds from one object to the next, of each family
PATIENCE = 10           # seconds for one
AGAIN = 1               # seconds until a broken download begins anew
DOWNLOADS = 2           # of each family
CHUNK = bytes(1 << 16)
IN, OUT = select.EPOLLIN, select.EPOLLOUT


class Server:
    """Everything in srv."""

    def __init__(self, loop):
        self.loop = loop
        self.conns = set()
        for family, kind in FAMILIES.items():
            for port in BULK, OBJECT, SINK, MUTE, SMALL:
                self.listen(family, kind, port)

    def listen(self, family, kind, port):
        """Open a listener."""
        with Within("srv"):
            sock = socket.socket(kind)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == 6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if port == SMALL:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        sock.bind(("", port))
        sock.listen(16384)
        sock.setblocking(False)
        self.loop.watch(sock, IN, lambda _: self.accept(sock, port))
        self.conns.add(sock)

    def accept(self, listener, port):
        """Accept a connection."""
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        self.conns.add(sock)
        if port in (BULK, SMALL):
            self.loop.watch(sock, OUT | select.EPOLLET,
                            lambda _: self.send(sock))
        elif port == OBJECT:
            self.loop.watch(sock, IN, lambda _: self.answer(sock))
        elif port == SINK:
            self.loop.watch(sock, IN, lambda _: self.read(sock))

    def end(self, sock):
        """Close one."""
        self.conns.discard(sock)
        self.loop.close(sock)

    def send(self, sock):
        """Send as much as there is room for."""
        try:
            while True:
                sock.send(CHUNK)
        except BlockingIOError:
            pass
        except OSError:
            self.end(sock)

    def read(self, sock):
        """Read, to the end."""
        try:
            if not sock.recv(1 << 16):
                self.end(sock)
        except BlockingIOError:
            pass
        except OSError:
            self.end(sock)

    def answer(self, sock):
        """Send an object, which fits into the buffer, and close."""
        try:
            sock.recv(100)
            sock.setblocking(True)
            sock.settimeout(0)
            left = SIZE - sock.send(bytes(SIZE))
        except OSError:
            self.end(sock)
            return
        if left:
            raise ValueError(f"{left} bytes have no room")
        self.end(sock)

    def close(self):
        """Close everything."""
        for sock in list(self.conns):
            self.end(sock)


class Honest:
    """Everything in sub: downloads, and objects at fixed times."""

    def __init__(self, loop):
        self.loop = loop
        self.bytes = self.broken = 0
        self.times, self.failed, self.asked = [], 0, 0
        self.socks = {}
        self.going = True
        for family in FAMILIES:
            for _ in range(DOWNLOADS):
                self.download(family)

    def open(self, family, port):
        """Begin to connect."""
        with Within("sub"):
            sock = socket.socket(FAMILIES[family])
        sock.setblocking(False)
        sock.connect_ex((addr("srv", family), port))
        self.socks[sock] = port
        return sock

    def end(self, sock):
        """Close one."""
        self.socks.pop(sock, None)
        self.loop.close(sock)

    def download(self, family):
        """Read without end; begin anew when that breaks."""
        if not self.going:
            return
        sock = self.open(family, BULK)

        def read(_):
            try:
                self.bytes += len(sock.recv(1 << 18))
            except BlockingIOError:
                pass
            except OSError as err:
                if err.errno == errno.ENOTCONN:
                    return
                self.broken += 1
                self.end(sock)
                self.loop.at(time.monotonic() + AGAIN,
                             lambda: self.download(family))
        self.loop.watch(sock, IN, read)

    def object(self, family):
        """Fetch an object."""
        begun = time.monotonic()
        sock = self.open(family, OBJECT)
        self.asked += 1
        got = 0

        def over(ok):
            if sock not in self.socks:
                return
            self.end(sock)
            if ok:
                self.times.append(time.monotonic() - begun)
            else:
                self.failed += 1

        def step(events):
            nonlocal got
            try:
                if events & OUT:
                    sock.send(b"give")
                    self.loop.watch(sock, IN, step)
                    return
                data = sock.recv(1 << 16)
            except BlockingIOError:
                return
            except OSError:
                over(False)
                return
            got += len(data)
            if not data:
                over(got == SIZE)
        self.loop.watch(sock, OUT, step)
        self.loop.at(begun + PATIENCE, lambda: over(False))

    def objects(self, begin, end):
        """Fetch objects from one time to another."""
        number = 0
        while begin + number * EVERY < end:
            for family, late in (4, 0), (6, EVERY / 2):
                self.loop.at(begin + number * EVERY + late,
                             lambda family=family: self.object(family))
            number += 1

    def tuples(self):
        """The ends of the downloads: (address, port, address, port)."""
        found = []
        for sock, port in self.socks.items():
            if port == BULK:
                near = sock.getsockname()
                family = 6 if sock.family == socket.AF_INET6 else 4
                found.append((near[0], near[1], addr("srv", family), port))
        return found

    def close(self):
        """Close everything."""
        self.going = False
        for sock in list(self.socks):
            self.end(sock)
