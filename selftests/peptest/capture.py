# SPDX-License-Identifier: GPL-2.0
"""Captures at the devices of both ends, and the rules of TCP that every
segment received by an end must obey, from the other end and from a leg."""

import collections
import ctypes
import socket
import struct
import time

from . import pep
from .env import LATE
from .ktap import Failure, expect, expect_least, note
from .netns import Within
from .raw import (ACK, ETH, FIN, PACKET_OUTGOING, RST, SO_RCVBUFFORCE, SYN,
                  TCP, Segment)

SO_ATTACH_FILTER = 26
SO_TIMESTAMPNS = 35
BPF_RET = 6              # a constant
ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_STATISTICS = 6
NEVER = float("inf")
SETTLED = 100 * 10**6   # ns: by then no leg's packet is in flight
HEADERS = 128           # captured bytes of a frame: all headers
BUFFER = 1 << 28
SHOWN = 30              # segments before one that breaks a rule
NEXT = 8                # segments behind it, of each device
SCALE, SACK, STAMPS = 3, 5, 8   # kinds of TCP options


def distance(number, base):
    """How far a 32-bit number lies after another, negative when before."""
    return (number - base + (1 << 31) & 0xffffffff) - (1 << 31)


class Frame(Segment):
    """A TCP segment at the device of an end, with its payload possibly cut
    off."""

    def __init__(self, packet, end, left, when):
        super().__init__(packet)
        self.end = end
        self.left = left        # sent, else received
        self.when = when
        if self.proto != TCP:
            return
        self.window, = struct.unpack_from("!H", self.tcp, 14)
        total = (struct.unpack_from("!H", packet, 2)[0] if self.family == 4
                 else struct.unpack_from("!H", packet, 4)[0] + 40)
        self.size = total - self.hlen - (self.tcp[12] >> 4) * 4

    @property
    def ends(self):
        return (self.seq + self.size + bool(self.flags & SYN) +
                bool(self.flags & FIN)) & 0xffffffff

    @property
    def stamps(self):
        """Its TSval and TSecr, or None."""
        found = self.options.get(STAMPS)
        return struct.unpack("!II", found) if found else None

    @property
    def blocks(self):
        """The right edges of its SACK blocks."""
        found = self.options.get(SACK, b"")
        return struct.unpack(f"!{len(found) // 4}I", found)[1::2]

    def __str__(self):
        return (f"{self.when / 1e9:.6f} {self.end} "
                f"{'sends' if self.left else 'gets'} flags {self.flags:#x} "
                f"seq {self.seq} size {self.size} ack {self.ack} window "
                f"{self.window} stamps {self.stamps}")


class State:
    """The sequence numbers of an end, from all segments sent and received so
    far; relative to its own ISN, those it receives to the other end's."""

    def __init__(self):
        self.isn = None
        self.offered = None     # window scale in its SYN
        self.scale = 0          # window scale in force
        self.whole = 0          # all before has been sent
        self.parts = []         # sent beyond that, where its link loses
        self.high = 0           # highest end of these
        self.acked = 0          # highest acknowledgment sent
        self.promised = 0       # right edge of its window
        self.offers = set()     # all right edges so far
        self.clock = None       # latest TSval sent, ms
        self.at = 0             # time of that, ns
        self.heard = None       # latest TSval received
        self.edge = 0           # latest right edge received

    def open(self, seg, other):
        """Its SYN or SYN-ACK has left; RFC 7323 on scales."""
        self.isn = seg.seq
        found = seg.options.get(SCALE)
        self.offered = found[0] if found else None
        if seg.flags & ACK and None not in (self.offered, other.offered):
            self.scale, other.scale = self.offered, other.offered

    def sent(self, first, last):
        """A segment has left."""
        self.high = max(self.high, last)
        self.parts = sorted([*self.parts, (first, last)])
        while self.parts and self.parts[0][0] <= self.whole:
            self.whole = max(self.whole, self.parts.pop(0)[1])

    def window(self, seg, base):
        """The right edge that one of its segments offers."""
        scale = 0 if seg.flags & SYN else self.scale
        return distance(seg.ack, base) + (seg.window << scale)


class Check:
    """The rules for one connection; see Capture.check()."""

    def __init__(self, capture, ordered, grown):
        self.begun = capture.begun or NEVER
        self.done = capture.done or NEVER
        grown = grown or LATE
        # The times until which clocks, and right edges, must not go back.
        self.clocks = 0 if not ordered else self.begun if grown else NEVER
        self.edges = self.begun if ordered else 0
        self.state = {"sub": State(), "srv": State()}
        self.now = None

    def run(self, frames):
        """Check all frames, those of each device in order. Of several with
        the same time the sender's comes first."""
        queues = [collections.deque(seen for seen in frames if seen.end == ns)
                  for ns in self.state]
        before = collections.deque(maxlen=SHOWN)
        try:
            while any(queues):
                queue = min(filter(None, queues), key=self._turn)
                self.now = queue.popleft()
                before.append(self.now)
                own, other = self._both(self.now)
                if self.now.left:
                    self._leaves(own, other)
                else:
                    self._arrives(own, other)
        except Failure:
            note(f"release from {self.begun / 1e9:.6f} to "
                 f"{self.done / 1e9:.6f}; before:")
            for seen in before:
                note(seen)
            for queue in queues:
                note("next", *(f"\n{seen}" for seen in list(queue)[:NEXT]))
            raise

    def _both(self, seg):
        return [self.state[ns] for ns in (
            ("sub", "srv") if seg.end == "sub" else ("srv", "sub"))]

    def _turn(self, queue):
        seg = queue[0]
        own, other = self._both(seg)
        sent = other.isn is not None and \
            distance(seg.ends, other.isn) <= other.high
        acked = own.isn is not None and \
            distance(seg.ack, own.isn) <= other.acked
        return seg.when, not seg.left, not sent, not acked

    def _most(self, what, value, limit):
        if value > limit:
            raise Failure(f"{what}: {value} is beyond {limit}: {self.now}")

    def _leaves(self, own, other):
        seg = self.now
        if seg.flags & SYN:
            own.open(seg, other)
        own.sent(distance(seg.seq, own.isn), distance(seg.ends, own.isn))
        if seg.flags & ACK and not seg.flags & RST:
            own.acked = max(own.acked, distance(seg.ack, other.isn))
            edge = own.window(seg, other.isn)
            own.promised = max(own.promised, edge)
            own.offers.add(edge)
        if seg.stamps and (own.clock is None or
                           distance(seg.stamps[0], own.clock) > 0):
            own.clock, own.at = seg.stamps[0], seg.when

    def _arrives(self, own, other):
        seg = self.now
        if other.isn is None:
            raise Failure(f"out of nowhere: {seg}")
        last = distance(seg.ends, other.isn)
        self._most("payload that the other end has not sent", last,
                   other.high)
        if seg.flags & RST:
            return
        # After the release an end may use the window its leg has offered.
        limit = max(own.promised,
                    other.edge if seg.when > self.begun else 0)
        if own.promised:
            self._most("payload behind the right edge", last, limit)
        if seg.stamps:
            self._clock(own, *seg.stamps)
        if seg.flags & ACK:
            self._acknowledges(own, other)

    def _acknowledges(self, own, other):
        seg = self.now
        ack, edge = distance(seg.ack, own.isn), other.window(seg, own.isn)
        self._most("an acknowledgment of what has not left", ack, own.whole)
        for block in seg.blocks:
            self._most("a SACK block of what has not left",
                       distance(block, own.isn), own.high)
        if seg.when > self.done:
            self._most("an acknowledgment of what the other end has not got",
                       ack, other.acked)
        if seg.when > self.done + SETTLED:
            if self.edges and edge not in other.offers:
                raise Failure(f"a window that its end has not offered: {seg}")
        elif seg.when < self.edges and not seg.flags & SYN:
            self._most("the right edge before", own.edge, edge)
        own.edge = max(own.edge, edge)

    def _clock(self, own, value, echo):
        if own.heard is not None and self.now.when < self.clocks:
            self._most("the clock before", 0, distance(value, own.heard))
        own.heard = value
        if self.now.flags & ACK and self.now.when < self.clocks:
            since = (self.now.when - own.at) // 1000000 + 1
            self._most("an echo of a clock that is yet to be",
                       distance(echo, own.clock), since)


class Capture:
    """Within, capture the segments at both ends' devices; check() looks for
    segments that break the rules. An end's own packets count as they leave
    its device, after its netem."""

    def __init__(self):
        self.socks = {}
        self.begun = None
        self.done = None

    def __enter__(self):
        # BPF, one instruction: number of bytes to capture.
        code = ctypes.create_string_buffer(
            struct.pack("HBBI", BPF_RET, 0, 0, HEADERS))
        program = struct.pack("HL", 1, ctypes.addressof(code))
        for ns in "sub", "srv":
            with Within(ns):
                sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
                self.socks[ns] = sock
                sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
                sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
                sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
                sock.bind(("eth0", ETH_P_ALL))
            sock.setblocking(False)
        return self

    def __exit__(self, *_):
        for sock in self.socks.values():
            sock.close()

    def hand_back(self):
        """Make pep hand back all flows, so that the ends talk directly."""
        self.begun = time.time_ns()
        pep.hand_back()
        self.done = time.time_ns()

    def _frames(self, ns):
        """The segments at a device, in the order of their capture."""
        sock, found = self.socks[ns], []
        while True:
            try:
                frame, more, _, where = sock.recvmsg(HEADERS, 128)
            except BlockingIOError:
                break
            if where[1] not in ETH.values():
                continue
            sec, nsec = struct.unpack("ll", more[0][2][:16])
            seen = Frame(frame[14:], ns, where[2] == PACKET_OUTGOING,
                         sec * 10**9 + nsec)
            if seen.proto == TCP:
                found.append(seen)
        lost = sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        expect(f"segments at {ns} that were not kept",
               struct.unpack("II", lost)[1], 0)
        return found

    def check(self, ordered=True, grown=False, least=20):
        """Fail if a segment received by an end breaks a rule, or if there
        were fewer than least segments. Not ordered: on a link that reorders
        packets clocks and right edges go back. From the release on an end may
        offer less than its leg has offered, and the other end may have used
        that. Grown: after the release the end's clock lags behind the leg's,
        because the delay has grown since the take-over."""
        # The last acknowledgments may be on their way while these are read.
        until = time.time_ns()
        frames = [seen for ns in ("sub", "srv") for seen in self._frames(ns)
                  if seen.when < until]
        expect_least("segments", len(frames), least)
        for both in {frozenset((seen.sport, seen.dport)) for seen in frames
                     if seen.flags & SYN}:
            Check(self, ordered, grown).run(
                [seen for seen in frames
                 if both == {seen.sport, seen.dport}])
