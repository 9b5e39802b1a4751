# SPDX-License-Identifier: GPL-2.0
"""A flood of SYNs with spoofed addresses: its use of memory is limited, the
server receives no more SYNs than were sent, and real connections complete
during the flood. Followed connections are still split; openers that would be
answered early are followed beyond the limit. When the table is full a
connection whose handshake is not complete makes room for a new one."""

import errno
import ipaddress
import socket
import struct
import time

from peptest import pep
from peptest.env import DEBUG, SLOW, amount
from peptest.ktap import (after_case, case, expect, expect_least, expect_most,
                          families, note, wait_for)
from peptest.monitor import monitor
from peptest.netns import SERVER, Within, addr, impaired, ip, sysctl
from peptest.pep import grows, pepadm
from peptest.raw import ACK, SYN, Segment, Wire, segment
from peptest.tcp import PORT, exchange, exchange_part, listen, pair

TRAITS = {"simulated"}

SYNS = 3000 if SLOW else 20000 if DEBUG else 100000
ROUNDS = 10             # real connections during the flood
HONEST = PORT + 1       # port of these
PENDING = amount(4096)  # the limit, the default where nothing is scaled
BACKLOG = 4096          # connections that the server has room for
ROOM = 1 << 16          # room for all: the server repeats no SYN-ACK
PENDING_KIB = 16        # KiB that a pending flow may occupy
FOLLOWED_KIB = 0.5      # KiB that an unanswered connection may occupy
TABLE = 500             # connections that fill the table
FEW = 20                # more of them
SPOOFED = {4: "198.19.0.0", 6: "2001:db8:19::"}


def setup():
    """Spoofed addresses are routed to the subscriber, which has none of
    them."""
    pep.attached()
    pep.follow("handshake")
    pepadm("limit", "set", "pending", str(PENDING))
    sysctl("srv", f"net.core.somaxconn={ROOM}",
           f"net.ipv4.tcp_max_syn_backlog={ROOM}")
    ip("pep", "route add 198.19.0.0/16 via 198.18.0.2",
       "route add 2001:db8:19::/48 via 2001:db8::2")
    ip("sub", "route add blackhole 198.19.0.0/16",
       "route add blackhole 2001:db8:19::/48")


@after_case
def calm():
    """Detach the devices to end the connections of the flood."""
    if pep.loaded():
        pepadm("profile", "set", "default", "connect", "follow")
        pep.detach()
        pep.flows_end()
        pep.attach()


def csum(data):
    """The Internet checksum."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def syn(family):
    """A SYN from the first of the spoofed addresses, as it follows the link
    addresses of its frame."""
    kind = socket.AF_INET if family == 4 else socket.AF_INET6
    src = socket.inet_pton(kind, SPOOFED[family])
    dst = socket.inet_pton(kind, addr("srv", family))
    tcp = struct.pack("!HHIIBBHHH", 40000, PORT, 0x1234ffff, 0, 6 << 4, 2,
                      64240, 0, 0) + b"\x02\x04\x05\xb4"
    pseudo = src + dst + struct.pack("!II", len(tcp), socket.IPPROTO_TCP)
    tcp = tcp[:16] + struct.pack("!H", csum(pseudo + tcp)) + tcp[18:]
    if family == 4:
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0xffff, 0, 64,
                           socket.IPPROTO_TCP, 0) + src + dst
        head = head[:10] + struct.pack("!H", csum(head)) + head[12:]
        return b"\x08\x00" + head + tcp
    head = struct.pack("!IHBB", 6 << 28, len(tcp), socket.IPPROTO_TCP, 64)
    return b"\x86\xdd" + head + src + dst + tcp


def mac(ns, dev):
    """The link address of a device."""
    with Within(ns), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((dev, 0))
        return sock.getsockname()[4]


class Flood:
    """Spoofed SYNs, each from another address. As one word of the headers
    grows, the address, others shrink, the IP identification and the sequence
    number: the checksums stay valid without new computation. Each flood has
    ports of its own."""

    floods = 0

    def __init__(self, family):
        self.frame = bytearray(mac("pep", "wl0") + mac("sub", "eth0") +
                               syn(family))
        ip_at = 14
        if family == 4:
            self.up, self.down = [ip_at + 14], [ip_at + 4]
            tcp_at = ip_at + 20
        else:
            self.up, self.down = [ip_at + 22], []
            tcp_at = ip_at + 40
        self.down.append(tcp_at + 6)
        self.sent = 0
        for _ in range(16 * Flood.floods):
            self.next_port()
        Flood.floods += 1
        with Within("sub"):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.sock.bind(("eth0", 0))

    def send(self, count):
        """Send the next SYNs."""
        frame = self.frame
        for _ in range(count):
            for at in self.up:
                struct.pack_into("!H", frame, at, self.sent & 0xffff)
            for at in self.down:
                struct.pack_into("!H", frame, at,
                                 0xffff - (self.sent & 0xffff))
            if not self.sent & 0xffff:
                self.next_port()
            self.push()
            self.sent += 1

    def push(self):
        """Send the frame; the link may be busy."""
        while True:
            try:
                self.sock.send(self.frame)
                return
            except OSError as err:
                if err.errno != errno.ENOBUFS:
                    raise
                time.sleep(0.001)

    def latest(self):
        """The latest SYN."""
        return Segment(bytes(self.frame[14:]))

    def port(self):
        """The port of the senders."""
        return struct.unpack_from("!H", self.frame, self.down[-1] - 6)[0]

    def next_port(self):
        """All addresses have been used: take the next port, and a sequence
        number that compensates for it."""
        at = self.down[-1] - 6
        high, = struct.unpack_from("!H", self.frame, at + 4)
        struct.pack_into("!H", self.frame, at, self.port() + 1)
        struct.pack_into("!H", self.frame, at + 4, high - 1)


def available():
    """Available memory of the guest, KiB."""
    with open("/proc/meminfo", encoding="ascii") as file:
        line, = (text for text in file if text.startswith("MemAvailable:"))
    return int(line.split()[1])


def arrived():
    """Number of packets that the server has received."""
    with Within("srv"), open("/proc/thread-self/net/dev",
                             encoding="ascii") as file:
        line, = (text for text in file if text.startswith("  eth0:"))
    return int(line.split()[2])


def sockets():
    """Number of TCP sockets in the gateway, except those in TIME_WAIT."""
    with Within("pep"), open("/proc/thread-self/net/sockstat",
                             encoding="ascii") as file:
        words = next(text for text in file
                     if text.startswith("TCP:")).split()
    return int(words[words.index("alloc") + 1])


class Tide:
    """A flood, real connections during it, and the changes by both."""

    def __init__(self, family, make, backlog):
        listen("srv", family, backlog=backlog)
        exchange(pair(family, port=HONEST), 5000, 5000)
        pep.flows_end()
        before, start = pep.stats(), arrived()
        flood = Flood(family)
        memory, held = available(), sockets()
        self.pending = self.kib = self.sockets = 0
        for _ in range(ROUNDS):
            flood.send(SYNS // ROUNDS)
            self.pending = max(self.pending, pep.stat("pending"))
            self.kib = max(self.kib, memory - available())
            self.sockets = max(self.sockets, sockets() - held)
            exchange(make(family, port=HONEST), 5000, 5000)
        pep.wait_flows(pep.stat("pending"))
        after = pep.stats()
        self.grown = {name: after[name] - before[name] for name in after}
        note("pending at most", self.pending, "with", self.kib, "KiB and",
             self.sockets, "sockets")
        # Each connecting leg sends a SYN, an ACK and a reset, three times.
        expect_least("room for the server's packets", flood.sent +
                     40 * ROUNDS + 4 * self.grown["syn_answered"],
                     arrived() - start)


@families("followed: no socket is made for it, and the others are split",
          seconds=300)
def followed(family):
    tide = Tide(family, pep.split_pair, BACKLOG)
    expect("pending", tide.pending, 0)
    # Sockets of the pools, and of earlier connections.
    expect_most("sockets", tide.sockets, 300)
    expect_least("SYNs that are followed", tide.grown["follow_new"],
                 SYNS * 9 // 10)
    expect("flows", tide.grown["flow_established"], ROUNDS)
    if not SLOW:
        expect_most("KiB that the flood occupies", tide.kib,
                    int(SYNS * FOLLOWED_KIB) + 8192)


@families("early: pending flows are limited, the others are followed",
          seconds=300)
def early(family):
    pepadm("profile", "set", "default", "connect", "early")
    tide = Tide(family, pair, ROOM)
    expect_most("pending", tide.pending, PENDING + 2)
    if not SLOW:
        expect_most("KiB that the flood occupies", tide.kib,
                    tide.pending * PENDING_KIB +
                    int(SYNS * FOLLOWED_KIB) + 8192)
    expect_least("SYNs that were answered or followed",
                 tide.grown["syn_answered"] + tide.grown["follow_new"],
                 SYNS * 9 // 10)
    expect_least("followed beyond the limit", tide.grown["follow_new"],
                 SYNS // 2)


def answer(called):
    """The server's SYN-ACK, which nobody acknowledges."""
    wire = Wire("srv", peer=("pep", "sv0"))
    src, dst = (socket.inet_ntoa(end) for end in (called.dst, called.src))
    wire.send(segment(src, dst, called.dport, called.sport, flags=SYN | ACK,
                      seq=7, ack=called.seq + 1))
    wait_for("the stage", lambda: "answered" in pepadm(
        "conn", "show", "subscriber", dst).stdout)
    wire.close()


@case("a full table: the oldest incomplete one goes, answered or not, others "
      "are split")
def full():
    """The first one has its SYN-ACK."""
    pep.detach()
    pep.unload()        # forgets the floods before
    pep.load()
    pep.follow("handshake")
    pep.attach()
    pepadm("limit", "set", "connections", str(TABLE))
    flood = Flood(4)
    oldest, port = ipaddress.ip_address(SPOOFED[4]), flood.port() + 1
    with impaired(SERVER[:1], "loss", "100%"), monitor("conns") as watch:
        with grows(ended=False, follow_evicted=FEW, follow_full=0,
                   followed=TABLE):
            flood.send(1)
            answer(flood.latest())
            flood.send(TABLE + FEW - 1)
            wait_for("the end of the flood",
                     lambda: pep.stat("follow_evicted") >= FEW)
        gone = [watch.event() for _ in range(pep.stat("follow_evicted"))]
        expect("their ends", [(event["cause"], event["stage"])
                              for event in gone],
               [("evicted", "answered")] +
               [("evicted", "opening")] * (len(gone) - 1))
        expect("the first to go", [event["subscriber"] for event in gone],
               [{"addr": str(oldest + number), "port": port}
                for number in range(len(gone))])
    listen("srv", 4, backlog=BACKLOG)
    # The one that comes is split, and so counts among the flows.
    with grows(ended=False, followed=-1, follow_evicted=1, flow_established=1):
        exchange_part(pep.split_pair(4, port=HONEST), 5000, 5000)
