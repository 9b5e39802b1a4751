# SPDX-License-Identifier: GPL-2.0
"""Single bytes that arrive in pages of 32 KiB each, from a TAP device as from
many drivers: payload queued in a flow holds about as much memory as TCP
accounts for it, and arrives."""

import fcntl
import os
import select
import struct
import time

from peptest import pep
from peptest.ktap import after_case, fail, families, must, wait_for
from peptest.netns import Within, addr, ip, netem, netem_end, run
from peptest.pep import grows, pepadm
from peptest.raw import (ACK, ETH, RST, SYN, Segment, link_address,
                         segment)
from peptest.tcp import (PORT, accept, expect_stream, listen, next_offset,
                         pieces)

ENDS = {4: "198.18.9.2", 6: "2001:db8:9::2"}
PAGE = 32               # KiB
FILLER = 3200           # bytes of a frame that nobody receives
FILLERS = PAGE * 1024 // FILLER
ISN = 1000
MOST = 4                # KiB for each byte
SOON = 5                # seconds
_tap = []


def setup():
    """A terminal behind a TAP device of the gateway."""
    pep.attached()
    run("modprobe", "-q", "tun", check=False)
    with Within("pep"):
        _tap.append(os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK))
        fcntl.ioctl(_tap[0], 0x400454ca,            # TUNSETIFF: TAP, no header
                    struct.pack("16sH22x", b"tap0", 0x1002))
    ip("pep", "address add 198.18.9.1/24 dev tap0",
       "address add 2001:db8:9::1/64 dev tap0 nodad", "link set tap0 up",
       *(f"neigh add {end} lladdr 02:00:00:00:00:02 dev tap0 nud permanent"
         for end in ENDS.values()))
    pepadm("dev", "add", "tap0", "side", "wireless")
    pep.ready()


def teardown():
    """The device disappears with its last open file."""
    pepadm("dev", "del", "tap0")
    os.close(_tap.pop())
    pep.teardown()


@after_case
def lossless():
    """Undo the settings of a case."""
    netem_end("pep", "sv0")


def frame(payload, kind):
    """A frame to the gateway."""
    return (link_address("pep", "tap0") + bytes.fromhex("020000000002") +
            struct.pack("!H", kind) + payload)


class Terminal:
    """An end of a connection without a stack."""

    head = {}

    def __init__(self, family, port):
        self.family, self.port = family, port
        self.seq, self.peer = ISN + 1, 0
        while select.select(_tap, [], [], 0)[0]:
            os.read(_tap[0], 65536)
        self.send(SYN, seq=ISN)
        self.peer = self.answer().seq + 1
        self.send(ACK)

    def send(self, flags, seq=None, payload=b""):
        """Send a segment, after others that fill the page."""
        if not self.head:
            self.head.update({f: frame(b"", ETH[f]) for f in ETH})
            self.head["filler"] = frame(bytes(FILLER), 0x88b5)
        for _ in range(FILLERS if payload else 0):
            os.write(_tap[0], self.head["filler"])
        packet = segment(ENDS[self.family], addr("srv", self.family),
                         self.port, PORT, flags=flags, window=60000,
                         seq=self.seq if seq is None else seq, ack=self.peer,
                         payload=payload)
        os.write(_tap[0], self.head[self.family] + packet)

    def answer(self):
        """Wait for the SYN-ACK."""
        for _ in range(100):
            if not select.select(_tap, [], [], 10)[0]:
                break
            got = os.read(_tap[0], 65536)
            if struct.unpack_from("!H", got, 12)[0] != ETH[self.family]:
                continue
            seen = Segment(got[14:])
            if seen.proto == 6 and seen.dport == self.port:
                must("flags", seen.flags & (SYN | ACK), SYN | ACK)
                return seen
        return fail("no SYN-ACK")

    def bytes(self, data):
        """Send single bytes."""
        for at in range(len(data)):
            self.send(ACK, payload=data[at:at + 1])
            self.seq += 1


def available():
    """Memory available to programs, KiB."""
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(next(line for line in file if "MemAvailable" in line)
                   .split()[1])


def opened(family, count):
    """Split connections: (terminal, socket of the server, offset of its
    payload)."""
    listener = listen("srv", family)
    found = []
    with grows(ended=False, flow_established=count):
        for port in range(3000, 3000 + count):
            terminal = Terminal(family, port)
            found.append((terminal, accept(listener), next_offset()))
        pep.wait_flows(count)
    return found


def expect_kept(before, payload):
    """Fail when single bytes go on holding more memory than allowed. Other
    memory is freed late."""
    end = time.monotonic() + SOON
    while (kept := before - available()) > MOST * payload:
        if time.monotonic() > end:
            fail(f"{payload} bytes keep {kept} KiB, more than "
                 f"{MOST * payload}")
        time.sleep(0.1)


def received(both, size):
    """The servers receive all payload; then the connections end."""
    for terminal, far, offset in both:
        far.settimeout(120)
        expect_stream(far, offset, size)
        terminal.send(RST | ACK)
        far.close()
    pep.flows_end()


@families("behind a server that does not acknowledge")
def waiting(family):
    """In the queue of a leg towards the server."""
    both = opened(family, 24)
    netem("pep", "sv0", "loss", "100%")
    before = available()
    for terminal, _, offset in both:
        terminal.bytes(b"".join(pieces(offset, 60)))
    wait_for("payload of each", lambda: all(
        flow["bytes_to_server"] for flow in pep.flows()))
    expect_kept(before, len(both) * 60)
    netem_end("pep", "sv0")
    received(both, 60)


@families("out of order")
def gap(family):
    """In the queue of a leg towards the subscriber; the first byte is last."""
    both = opened(family, 4)
    before = available()
    for terminal, _, offset in both:
        terminal.seq += 1
        terminal.bytes(b"".join(pieces(offset + 1, 639)))
        terminal.seq = ISN + 1
    expect_kept(before, len(both) * 639)
    for terminal, _, offset in both:
        terminal.send(ACK, payload=b"".join(pieces(offset, 1)))
        terminal.seq += 640
    received(both, 640)
