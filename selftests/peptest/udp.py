# SPDX-License-Identifier: GPL-2.0
"""Numbered datagrams."""

import socket
import struct
import time

from .ktap import expect
from .tcp import _new

QUIET = 3.0             # seconds without an arrival: the rest is lost


class Datagrams:
    """Datagrams from one namespace to another, sent a few at a time."""

    def __init__(self, family, src, dst, to, port, bind=None):
        self.receiver = _new(dst, family, socket.SOCK_DGRAM)
        self.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.receiver.bind(("", port))
        self.receiver.setblocking(False)
        self.sender = _new(src, family, socket.SOCK_DGRAM)
        if bind:
            self.sender.bind(bind)
        self.sender.connect((to, port))
        self.sent = 0
        self.seen = set()

    def send(self, count):
        """Send the next datagrams."""
        for _ in range(count):
            self.sender.send(struct.pack("!I", self.sent) + bytes(396))
            self.sent += 1

    def receive(self):
        """Receive available datagrams."""
        while True:
            try:
                data = self.receiver.recv(2048)
            except BlockingIOError:
                return
            self.seen.add(struct.unpack_from("!I", data)[0])

    def expect_all(self):
        """Wait until all have arrived or no more arrive; fail unless all
        have arrived."""
        last, count = time.monotonic(), -1
        while len(self.seen) < self.sent and time.monotonic() - last < QUIET:
            self.receive()
            if len(self.seen) != count:
                last, count = time.monotonic(), len(self.seen)
            time.sleep(0.01)
        expect("datagrams that arrived", len(self.seen), self.sent)
