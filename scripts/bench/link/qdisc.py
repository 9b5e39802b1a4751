# SPDX-License-Identifier: GPL-2.0
"""The qdiscs netem and tbf by rtnetlink: netem with a seed for its random
numbers, which Debian 12's tc cannot set, and both without starting a program
for each change."""

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
TCA_TBF_PARMS = 1
LINKLAYER_ETHERNET = 1
TICK = 64               # ns of a packet scheduler's tick, /proc/net/psched
TCA_NETEM_REORDER = 3
TCA_NETEM_LOSS = 5
TCA_NETEM_RATE = 6
TCA_NETEM_LATENCY64 = 10
TCA_NETEM_JITTER64 = 11
TCA_NETEM_PRNG_SEED = 14
NETEM_LOSS_GE = 2
NLA_F_NESTED = 0x8000
MILLION = 1_000_000
FRAME = 1514            # bytes of a full packet


@dataclasses.dataclass(frozen=True)
class Netem:
    """The fate of a device's packets: delay and jitter in ms, rate in Mbit/s
    (0: any), loss in per cent, the mean length of a run of losses, the share
    in per cent that is not delayed, and the packets that the device holds,
    those under way among them."""

    delay: float
    limit: int
    rate: float = 0
    jitter: float = 0
    loss: float = 0
    burst: float = 1
    prompt: float = 0
    kind = "netem"

    def options(self, seed):
        """TCA_OPTIONS of the qdisc."""
        even = 0 if self.burst > 1 else _share(self.loss)
        data = struct.pack("IIIIII", 0, self.limit, even,
                           1 if self.prompt else 0, 0, 0)
        data += attr(TCA_NETEM_LATENCY64,
                     struct.pack("q", round(self.delay * MILLION)))
        data += attr(TCA_NETEM_JITTER64,
                     struct.pack("q", round(self.jitter * MILLION)))
        data += attr(TCA_NETEM_PRNG_SEED, struct.pack("Q", seed))
        if self.rate:
            data += attr(TCA_NETEM_RATE, struct.pack(
                "IiIi", round(self.rate * MILLION / 8), 0, 0, 0))
        if self.prompt:
            data += attr(TCA_NETEM_REORDER,
                         struct.pack("II", _share(self.prompt), 0))
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


@dataclasses.dataclass(frozen=True)
class Tbf:
    """A rate in Mbit/s that holds for packets as they leave, so that it can
    change while they wait, and the packets that may wait."""

    rate: float
    limit: int
    kind = "tbf"

    def options(self, _):
        """TCA_OPTIONS of the qdisc."""
        rate = round(self.rate * MILLION / 8)
        burst = round(2 * FRAME / rate * 1e9 / TICK)
        spec = struct.pack("BBHhHI", 0, LINKLAYER_ETHERNET, 0, -1, 0, rate)
        return attr(TCA_TBF_PARMS, spec + bytes(12) + struct.pack(
            "III", self.limit * FRAME, burst, 0))


def _share(per_cent):
    """A probability in the form of netem."""
    return min(round(per_cent / 100 * (1 << 32)), (1 << 32) - 1)


class Port:
    """A device with one of these qdiscs; sends requests about it."""

    def __init__(self, ns, dev):
        with Within(ns):
            self.index = socket.if_nametoindex(dev)
            self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)

    @staticmethod
    def _request(kind, flags, body):
        """A message to the kernel."""
        return struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body

    def set(self, qdisc, seed):
        """Set the qdisc of the device; the device keeps the packets that it
        holds when it has a qdisc of that kind already."""
        body = struct.pack("BxxxiIII", socket.AF_UNSPEC, self.index,
                           0x10000, TC_H_ROOT, 0)
        body += attr(TCA_KIND, qdisc.kind.encode() + b"\0")
        body += attr(TCA_OPTIONS, qdisc.options(seed))
        self.sock.send(self._request(
            RTM_NEWQDISC, NLM_F_REQUEST_ACK | NLM_F_REPLACE_CREATE, body))
        error = struct.unpack_from("i", self.sock.recv(1 << 16), 16)[0]
        if error:
            raise OSError(-error, qdisc.kind)

    def backlog(self):
        """Bytes and packets that the device holds."""
        body = struct.pack("BxxxiIII", socket.AF_UNSPEC, self.index, 0, 0, 0)
        self.sock.send(self._request(RTM_GETQDISC, NLM_F_DUMP, body))
        found = 0, 0
        while True:
            data = self.sock.recv(1 << 16)
            while data:
                size, kind = struct.unpack_from("IH", data)
                if kind == NLMSG_DONE:
                    return found
                index, _, parent = struct.unpack_from("iII", data, 20)
                if (index, parent) == (self.index, TC_H_ROOT):
                    found = _stats(data[36:size])
                data = data[(size + 3) & ~3:]

    def close(self):
        """Close the socket; the device stays as it is."""
        self.sock.close()


def _find(data, wanted):
    """The payload of an attribute, empty when there is none."""
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        if kind & 0x3fff == wanted:
            return data[4:size]
        data = data[(size + 3) & ~3:]
    return b""


def _stats(data):
    """Bytes and packets that a qdisc holds, out of its attributes."""
    queue = _find(_find(data, TCA_STATS2), TCA_STATS_QUEUE)
    packets, octets = struct.unpack_from("II", queue)
    return octets, packets
