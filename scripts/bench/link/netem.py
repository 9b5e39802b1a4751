# SPDX-License-Identifier: GPL-2.0
"""The netem qdisc by rtnetlink: with a seed for its random numbers, which
Debian 12's tc cannot give, and without a program to start for each change."""

import dataclasses
import socket
import struct

from peptest.genl import attr
from peptest.netns import Within

RTM_NEWQDISC = 36
RTM_GETQDISC = 38
NLM_F_REQUEST_ACK = 5
NLM_F_REPLACE_CREATE = 0x500
NLM_F_DUMP = 0x301
NLMSG_DONE = 3
TC_H_ROOT = 0xffffffff
TCA_KIND = 1
TCA_OPTIONS = 2
TCA_STATS2 = 7
TCA_STATS_QUEUE = 3
TCA_NETEM_REORDER = 3
TCA_NETEM_LOSS = 5
TCA_NETEM_RATE = 6
TCA_NETEM_LATENCY64 = 10
TCA_NETEM_JITTER64 = 11
TCA_NETEM_PRNG_SEED = 14
NETEM_LOSS_GE = 2
NLA_F_NESTED = 0x8000
MILLION = 1_000_000


@dataclasses.dataclass(frozen=True)
class Netem:
    """What a device does to packets: delay and jitter in ms, rate in Mbit/s
    (0: any), loss and reorder in per cent, the mean length of a run of losses,
    and the packets that it holds, those under way among them."""

    delay: float
    limit: int
    rate: float = 0
    jitter: float = 0
    loss: float = 0
    burst: float = 1
    reorder: float = 0

    def options(self, seed):
        """TCA_OPTIONS of the qdisc."""
        even = 0 if self.burst > 1 else _share(self.loss)
        data = struct.pack("IIIIII", 0, self.limit, even,
                           1 if self.reorder else 0, 0, 0)
        data += attr(TCA_NETEM_LATENCY64,
                     struct.pack("q", round(self.delay * MILLION)))
        data += attr(TCA_NETEM_JITTER64,
                     struct.pack("q", round(self.jitter * MILLION)))
        data += attr(TCA_NETEM_PRNG_SEED, struct.pack("Q", seed))
        if self.rate:
            data += attr(TCA_NETEM_RATE, struct.pack(
                "IiIi", round(self.rate * MILLION / 8), 0, 0, 0))
        if self.reorder:
            data += attr(TCA_NETEM_REORDER,
                         struct.pack("II", _share(self.reorder), 0))
        if self.burst > 1:
            data += attr(TCA_NETEM_LOSS | NLA_F_NESTED, self._bursts())
        return data

    def _bursts(self):
        """Gilbert's model: everything is lost in the bad state, which is left
        with the probability of the inverse of a burst's length."""
        leave = 1 / self.burst
        loss = self.loss / 100
        enter = loss * leave / (1 - loss)
        return attr(NETEM_LOSS_GE, struct.pack(
            "IIII", _share(100 * enter), _share(100 * leave), 0, 0))


def _share(per_cent):
    """A probability as netem has it."""
    return min(round(per_cent / 100 * (1 << 32)), (1 << 32) - 1)


class Port:
    """A device whose packets netem delays; sends requests about it."""

    def __init__(self, ns, dev):
        with Within(ns):
            self.index = socket.if_nametoindex(dev)
            self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)

    def _header(self, kind, flags, body):
        return struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body

    def set(self, netem, seed):
        """Have the device do so from now on; what it holds stays."""
        body = struct.pack("BxxxiIII", socket.AF_UNSPEC, self.index,
                           0x10000, TC_H_ROOT, 0)
        body += attr(TCA_KIND, b"netem\0")
        body += attr(TCA_OPTIONS, netem.options(seed))
        self.sock.send(self._header(
            RTM_NEWQDISC, NLM_F_REQUEST_ACK | NLM_F_REPLACE_CREATE, body))
        error = struct.unpack_from("i", self.sock.recv(1 << 16), 16)[0]
        if error:
            raise OSError(-error, "netem")

    def backlog(self):
        """Bytes and packets that the device holds."""
        body = struct.pack("BxxxiIII", socket.AF_UNSPEC, self.index, 0, 0, 0)
        self.sock.send(self._header(RTM_GETQDISC, NLM_F_DUMP, body))
        found = 0, 0
        while True:
            data = self.sock.recv(1 << 16)
            while data:
                size, kind = struct.unpack_from("IH", data)
                if kind == NLMSG_DONE:
                    return found
                index = struct.unpack_from("i", data, 20)[0]
                if index == self.index:
                    found = _queue(data[36:size]) or found
                data = data[(size + 3) & ~3:]

    def close(self):
        """Close the socket; the device stays as it is."""
        self.sock.close()


def _queue(data):
    """Bytes and packets out of the attributes of a qdisc, if it tells."""
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        if kind & 0x3fff == TCA_STATS2:
            return _queue_stats(data[4:size])
        data = data[(size + 3) & ~3:]
    return None


def _queue_stats(data):
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        if kind & 0x3fff == TCA_STATS_QUEUE:
            packets, backlog = struct.unpack_from("II", data, 4)
            return backlog, packets
        data = data[(size + 3) & ~3:]
    return None
