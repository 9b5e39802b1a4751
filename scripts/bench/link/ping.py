# SPDX-License-Identifier: GPL-2.0
"""Echo requests beside a transfer, to see how long packets wait."""

import select
import socket
import struct
import time

from peptest.netns import Within, addr
from world import FAMILIES, bind

STEP = 0.1              # s between two requests
ECHO = {4: (socket.IPPROTO_ICMP, 8, 0), 6: (socket.IPPROTO_ICMPV6, 128, 129)}


class Ping:
    """Echo requests of a subscriber to the gateway; times in ms."""

    def __init__(self, loop, family, who):
        self.loop = loop
        self.family = family
        self.number = 0
        self.begun = {}
        self.times = []
        self.timer = None
        protocol, self.request, self.reply = ECHO[family]
        with Within("sub"):
            self.sock = socket.socket(FAMILIES[family], socket.SOCK_RAW,
                                      protocol)
        self.sock.setblocking(False)
        bind(self.sock, who, family)
        loop.add(self.sock, select.EPOLLIN, self.answer)
        self.ask()

    def ask(self):
        """Send the next one."""
        self.number += 1
        body = struct.pack(">HHQ", 77, self.number & 0xffff, 0)
        head = struct.pack(">BBH", self.request, 0, 0) + body
        total = sum(struct.unpack(f">{len(head) // 2}H", head))
        total = (total >> 16) + (total & 0xffff)
        head = struct.pack(">BBH", self.request, 0, ~total & 0xffff) + body
        self.begun[self.number & 0xffff] = time.monotonic()
        self.sock.sendto(head, (addr("pep", self.family), 0))
        self.timer = self.loop.after(STEP, self.ask)

    def answer(self, _):
        """Receive the replies that have come."""
        try:
            while True:
                data = self.sock.recv(2048)
                if self.family == 4:
                    data = data[(data[0] & 15) * 4:]
                kind, _, _, _, number = struct.unpack_from(">BBHHH", data)
                if kind == self.reply and number in self.begun:
                    self.times.append(
                        1e3 * (time.monotonic() - self.begun.pop(number)))
        except BlockingIOError:
            pass

    def percentiles(self):
        """The median and the 95th percentile, if any answer came."""
        times = sorted(self.times)
        return {f"ping_p{share}": times[len(times) * share // 100]
                for share in (50, 95) if times}

    def close(self):
        """End it."""
        self.loop.cancel(self.timer)
        self.loop.remove(self.sock)
        self.sock.close()
