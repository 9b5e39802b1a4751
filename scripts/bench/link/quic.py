# SPDX-License-Identifier: GPL-2.0
"""A UDP flow with CUBIC's behaviour, in place of QUIC beside a download.

The server sends full packets to the subscriber, which acknowledges every
second one with the highest number seen and the number of packets received. The
links of the flow keep the order, so a gap is a loss; the window follows
RFC 9438, with slow start until the first loss, and is reduced once a round
trip.
"""

import errno
import select
import socket
import struct
import time

from peptest.netns import Within, addr
from transfer import QUIC_PORT
from world import FAMILIES, subscriber

PAYLOAD = 1452          # of a packet, so that IPv6's fits into 1500
HEADER = struct.Struct("Q")
ACK = struct.Struct("QQ")
BETA = 0.7
C = 0.4
START = 10              # packets
PROBE = 1.0             # s without an acknowledgment before a probe


class Cubic:
    """The congestion window in packets."""

    def __init__(self):
        self.window = float(START)
        self.threshold = float("inf")
        self.most = 0.0
        self.since = None

    def acked(self, count, now, rtt):
        """Packets have arrived."""
        if self.window < self.threshold:
            self.window += count
            return
        if self.since is None:
            self.since, self.most = now, self.window
        start = ((self.most - self.most * BETA) / C) ** (1 / 3)
        target = C * (now - self.since + rtt - start) ** 3 + self.most
        reno = self.most * BETA + 3 * (1 - BETA) / (1 + BETA) * (
            (now - self.since) / rtt)
        target = min(max(target, reno, self.window), 1.5 * self.window)
        self.window += count * (target - self.window) / self.window

    def lost(self, now):
        """A round trip with a loss."""
        self.most = self.window if self.window >= self.most else \
            self.window * (1 + BETA) / 2
        self.window = max(self.window * BETA, 2)
        self.threshold = self.window
        self.since = now


class Quic:
    """Both ends of the flow; got counts bytes that have arrived."""

    def __init__(self, loop, family, who):
        self.loop = loop
        self.cubic = Cubic()
        self.sent = 0               # packets, and so the next one's number
        self.acked = 0              # packets that have arrived or are lost
        self.recovered = 0          # numbers below belong to an old loss
        self.rtt = 0.1
        self.stamps = {}
        self.seen = self.high = self.got = 0
        self.lost = 0
        self.heard = time.monotonic()
        with Within("srv"):
            self.server = socket.socket(FAMILIES[family], socket.SOCK_DGRAM)
        with Within("sub"):
            self.client = socket.socket(FAMILIES[family], socket.SOCK_DGRAM)
        self.server.bind((addr("srv", family), QUIC_PORT))
        self.client.bind((subscriber(who, family), QUIC_PORT))
        self.server.connect(self.client.getsockname()[:2])
        self.client.connect(self.server.getsockname()[:2])
        for sock, handler in ((self.server, self.on_ack),
                              (self.client, self.on_data)):
            sock.setblocking(False)
            loop.add(sock, select.EPOLLIN, handler)
        self.timer = loop.after(PROBE, self.probe)
        self.fill()

    def on_data(self, _):
        """The subscriber receives."""
        try:
            while True:
                number = HEADER.unpack_from(self.client.recv(2048))[0]
                self.got += PAYLOAD
                self.seen += 1
                self.high = max(self.high, number)
                if self.seen % 2 == 0 or self.seen < START:
                    self.client.send(ACK.pack(self.high, self.seen))
        except BlockingIOError:
            pass
        except OSError as err:
            if err.errno != errno.ECONNREFUSED:
                raise

    def on_ack(self, _):
        """The server receives acknowledgments."""
        try:
            while True:
                high, seen = ACK.unpack(self.server.recv(64))
                self.account(high, seen)
        except BlockingIOError:
            pass
        self.fill()

    def account(self, high, seen):
        """Process an acknowledgment."""
        now = self.heard = time.monotonic()
        if high in self.stamps:
            sample = now - self.stamps[high]
            self.rtt += (sample - self.rtt) / 8
            for number in [n for n in self.stamps if n <= high]:
                del self.stamps[number]
        lost = max(high + 1 - seen, self.lost)
        arrived = seen + lost - self.acked
        if arrived > 0:
            self.acked += arrived
            self.cubic.acked(arrived, now, self.rtt)
        if lost > self.lost:
            self.lost = lost
            if high >= self.recovered:
                self.cubic.lost(now)
                self.recovered = self.sent

    def fill(self):
        """Send as many packets as the window allows."""
        try:
            while self.sent - self.acked < int(self.cubic.window):
                self.stamps[self.sent] = time.monotonic()
                self.server.send(HEADER.pack(self.sent) +
                                 bytes(PAYLOAD - HEADER.size))
                self.sent += 1
        except (BlockingIOError, ConnectionRefusedError):
            pass

    def probe(self):
        """After PROBE without an ACK, count all packets under way as lost."""
        if time.monotonic() - self.heard > PROBE:
            self.acked = self.sent - 1
            self.cubic.window = 2.0
            self.fill()
        self.timer = self.loop.after(PROBE, self.probe)

    def close(self):
        """End it."""
        self.loop.cancel(self.timer)
        for sock in self.server, self.client:
            self.loop.remove(sock)
            sock.close()
