# SPDX-License-Identifier: GPL-2.0
"""Hand-made packets, and an end of a path that rewrites real ones."""

import contextlib
import fcntl
import itertools
import os
import select
import socket
import struct
import threading

from . import pep
from .ktap import Failure, after_case, expect_least, wait_for
from .netns import Within, addr, ip, offloads, run, tc

ETH = {4: 0x0800, 6: 0x86dd}
VLAN = 0x8100
QINQ = 0x88a8
TCP, UDP, ICMP = 6, 17, {4: 1, 6: 58}
FIN, SYN, RST, PSH, ACK, ECE, CWR, AE = 1, 2, 4, 8, 16, 64, 128, 256
SO_RCVBUFFORCE = 33
PACKET_OUTGOING = 4
TUN_MTU = 1400          # leaves room for additions by a test
_wires = []
_idents = itertools.count(1)    # of fragmented packets
remakers = {}           # by namespace


def inet(address):
    """An address as bytes."""
    return socket.inet_pton(
        socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def checksum(data):
    """The Internet checksum, RFC 1071."""
    data = bytes(data) + bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def pseudo(src, dst, proto, size):
    """The pseudo-header of TCP's checksum, RFC 9293 and RFC 8200."""
    form = "!BBH" if len(src) == 4 else "!IHBB"
    rest = (0, proto, size) if len(src) == 4 else (size, 0, 0, proto)
    return src + dst + struct.pack(form, *rest)


def ip4(src, dst, proto, payload, options=b"", ttl=64, tos=0, ident=1,
        frag=0, length=None, csum=None):
    """An IPv4 packet; frag is the field with flags and offset."""
    ihl = 5 + len(options) // 4
    if length is None:
        length = ihl * 4 + len(payload)
    head = struct.pack("!BBHHHBBH4s4s", 0x40 | ihl, tos, length, ident, frag,
                       ttl, proto, 0, src, dst) + options
    csum = checksum(head) if csum is None else csum
    return head[:10] + struct.pack("!H", csum) + head[12:] + payload


def ip6(src, dst, proto, payload, hops=64, tclass=0, length=None):
    """An IPv6 packet."""
    length = len(payload) if length is None else length
    return struct.pack("!IHBB", 0x60000000 | tclass << 20, length, proto,
                       hops) + src + dst + payload


def ipx(src, dst, proto, payload, **kwargs):
    """A packet of the addresses' family."""
    return (ip4 if len(src) == 4 else ip6)(src, dst, proto, payload, **kwargs)


def fragments(packet, proto, payload, size=512):
    """The fragments of a packet with a payload, in order."""
    ident = next(_idents)
    made = []
    for at in range(0, len(payload), size):
        part = payload[at:at + size]
        more = at + size < len(payload)
        if packet.family == 4:
            made.append(ip4(packet.src, packet.dst, proto, part,
                            ident=ident & 0xffff,
                            frag=at // 8 | (0x2000 if more else 0)))
        else:
            head = struct.pack("!BBHI", proto, 0, at | more, ident)
            made.append(ip6(packet.src, packet.dst, 44, head + part))
    return made


def tcp_header(src, dst, sport, dport, flags=ACK, seq=0, ack=0, options=b"",
               payload=b"", window=8192, csum=None):
    """A TCP segment; flags with AE as their ninth bit."""
    size = 5 + len(options) // 4
    data = struct.pack("!HHIIBBHHH", sport, dport, seq & 0xffffffff,
                       ack & 0xffffffff, size << 4 | flags >> 8, flags & 255,
                       window, 0, 0) + options + payload
    if csum is None:
        csum = checksum(pseudo(src, dst, TCP, len(data)) + data)
    return data[:16] + struct.pack("!H", csum) + data[18:]


def segment(src, dst, sport, dport, **kwargs):
    """A TCP packet between two addresses given as text."""
    src, dst = inet(src), inet(dst)
    return ipx(src, dst, TCP,
               tcp_header(src, dst, sport, dport, **kwargs))


def icmp(src, dst, kind, code, rest, quoted):
    """An ICMP or ICMPv6 packet that quotes another one; rest is the second
    word."""
    src, dst = inet(src), inet(dst)
    six = len(src) == 16
    quoted = quoted[:1200 if six else 548]
    data = struct.pack("!BBHI", kind, code, 0, rest) + quoted
    extra = pseudo(src, dst, ICMP[6], len(data)) if six else b""
    data = data[:2] + struct.pack("!H", checksum(extra + data)) + data[4:]
    return ipx(src, dst, ICMP[6 if six else 4], data)


class Segment:
    """The fields of a plain TCP packet."""

    def __init__(self, packet):
        self.packet = packet
        self.family = packet[0] >> 4
        if self.family == 4:
            self.hlen = (packet[0] & 15) * 4
            self.src, self.dst = packet[12:16], packet[16:20]
            self.proto, self.tos, self.ttl = packet[9], packet[1], packet[8]
            end = struct.unpack_from("!H", packet, 2)[0]
        else:
            self.hlen = 40
            self.src, self.dst = packet[8:24], packet[24:40]
            self.proto, self.ttl = packet[6], packet[7]
            self.tos = struct.unpack_from("!H", packet)[0] >> 4 & 255
            end = 40 + struct.unpack_from("!H", packet, 4)[0]
        self.tcp = packet[self.hlen:end or len(packet)]
        self.flags = 0
        self.data = b""
        if self.proto == TCP and len(self.tcp) >= 20:
            (self.sport, self.dport, self.seq, self.ack, size, self.flags,
             self.window) = struct.unpack_from("!HHIIBBH", self.tcp)
            self.data = self.tcp[(size >> 4) * 4:]

    @property
    def options(self):
        """Its TCP options with a length: payloads by kind."""
        found = {}
        rest = self.tcp[20:(self.tcp[12] >> 4) * 4]
        while rest and rest[0]:
            size = 1 if rest[0] == 1 else rest[1]
            if size > 1:
                found[rest[0]] = rest[2:size]
            rest = rest[size:]
        return found

    @property
    def ends(self):
        """The sequence number at its end."""
        return (self.seq + len(self.data) +
                bool(self.flags & SYN) + bool(self.flags & FIN)) & 0xffffffff


def after(seen, **fields):
    """A TCP packet of the same direction, at the number behind a segment."""
    return ipx(seen.src, seen.dst, TCP, tcp_header(
        seen.src, seen.dst, seen.sport, seen.dport, seq=seen.ends, **fields))


def link_address(ns, dev):
    """The link address of a device."""
    with Within(ns), socket.socket() as sock:
        return fcntl.ioctl(sock, 0x8927,        # SIOCGIFHWADDR
                           struct.pack("40s", dev.encode()))[18:24]


class Wire:
    """A device of a namespace: captures its packets, and sends frames to the
    other end of its link, peer: ("pep", "sv0") for the device of srv. Packets
    that the namespace sends are outgoing; outgoing=False gives those that
    arrive there."""

    def __init__(self, ns, dev="eth0", peer=("pep", "wl0")):
        with Within(ns):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                      socket.htons(3))
            self.sock.bind((dev, 3))
            self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
            self.mac = self.sock.getsockname()[4][:6]
        self.sock.setblocking(False)
        self.peer = link_address(*peer)
        _wires.append(self)

    def frame(self, packet, proto=None):
        """The frame of an IP packet, or of a payload with the given
        EtherType."""
        proto = proto or ETH.get(packet[0] >> 4, 0x0800)
        return self.peer + self.mac + struct.pack("!H", proto) + packet

    def send(self, packet, proto=None):
        """Send a packet in such a frame."""
        self.sock.send(self.frame(packet, proto))

    def send_tagged(self, packet, *tags):
        """Send an IP packet with VLAN tags, (protocol, number)..., the outer
        one first, all in the payload."""
        kinds = [kind for kind, _ in tags[1:]] + [ETH[packet[0] >> 4]]
        rest = b"".join(struct.pack("!HH", vid, kind)
                        for (_, vid), kind in zip(tags, kinds))
        self.send(rest + packet, tags[0][0])

    def take(self, outgoing=None):
        """IP packets captured so far: outgoing ones, others, or both."""
        found = []
        while True:
            try:
                frame, where = self.sock.recvfrom(1 << 17)
            except BlockingIOError:
                return found
            if where[1] not in ETH.values():
                continue
            if outgoing in (None, where[2] == PACKET_OUTGOING):
                found.append(frame[14:])

    def segments(self, outgoing=None):
        """The TCP packets among those, parsed."""
        return [seen for seen in map(Segment, self.take(outgoing))
                if seen.proto == TCP]

    def find(self, test, outgoing=None, seconds=10):
        """Wait for a TCP packet that a function accepts; return it parsed."""
        def look():
            return next(filter(test, self.segments(outgoing)), None)
        return wait_for("a packet on the wire", look, seconds)

    def reset_overtaken(self):
        """Send a reset and payload behind it, which have the same number: that
        after the first payload seen."""
        seen = self.find(lambda seen: seen.data, outgoing=True)
        self.send(after(seen, flags=RST))
        self.send(after(seen, ack=seen.ack, payload=bytes(500)))

    def close(self):
        """Close the socket."""
        self.sock.close()


class Remaker(threading.Thread):
    """An end whose packets pass through this process: its address is on a TUN
    device, and a function converts each packet from its stack into the packets
    to send. Packets from the gateway reach the stack unchanged, unless another
    function rewrites them. The end's original device does no offloads, nor
    does the gateway's."""

    def __init__(self, ns, far):
        super().__init__(daemon=True)
        self.far = far
        self.wire = Wire(ns, "eth0", ("pep", far))
        _wires.remove(self.wire)
        self.remake = None
        self.receive = None
        self.failure = None
        self.halt, self.halted = os.pipe()
        with Within(ns):
            self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(self.tun, 0x400454ca,       # TUNSETIFF: no header
                        struct.pack("16sH22x", b"tun0", 0x1001))
        self._move(ns)
        self.start()

    def _move(self, ns):
        """Move addresses and routes from eth0 to tun0."""
        mac = ":".join(f"{byte:02x}" for byte in self.wire.mac)
        ip(ns, "address flush dev eth0",
           f"address add {addr(ns, 4)}/32 dev tun0",
           f"address add {addr(ns, 6)}/128 dev tun0 nodad",
           f"link set tun0 up mtu {TUN_MTU}",
           "route add 198.18.0.0/15 dev tun0",
           "route add 2001:db8::/32 dev tun0")
        tc(ns, "qdisc add dev eth0 clsact",
           "filter add dev eth0 ingress matchall action drop")
        ip("pep", *(f"neigh replace {addr(ns, f)} lladdr {mac} dev {self.far}"
                    for f in (4, 6)))
        offloads("pep", self.far, "tx", "off", "tso", "off", "gso", "off",
                 "gro", "off")

    def run(self):
        try:
            while True:
                ready = select.select([self.tun, self.wire.sock, self.halt],
                                      [], [])[0]
                if self.halt in ready:
                    return
                if self.tun in ready:
                    self._out(os.read(self.tun, 65536))
                for packet in self.wire.take(outgoing=False):
                    self._in(packet)
        except Exception as what:       # pylint: disable=broad-except
            self.failure = what

    def _out(self, packet):
        made = self.remake(packet) if self.remake else None
        for part in [packet] if made is None else made:
            if callable(part):
                part(self.wire)
            else:
                self.wire.send(part)

    def _in(self, packet):
        try:
            os.write(self.tun,
                     self.receive(packet) if self.receive else packet)
        except OSError:                 # not a packet that IP accepts
            pass

    def check(self):
        """Fail if the thread has ended."""
        if self.failure:
            raise Failure(f"remaking packets: {self.failure!r}")

    def stop(self):
        """End the thread."""
        os.write(self.halted, b".")
        self.join(10)
        for fd in self.tun, self.halt, self.halted:
            os.close(fd)
        self.wire.close()


def remade():
    """Set up: the usual topology with pep attached and with remakers at both
    ends."""
    pep.attached()
    run("modprobe", "-qa", "tun", "act_gact", check=False)
    for ns, far in ("sub", "wl0"), ("srv", "sv0"):
        remakers[ns] = Remaker(ns, far)
    pep.follow("handshake")


def remade_teardown():
    """Take down the set-up of remade()."""
    while remakers:
        remakers.popitem()[1].stop()
    pep.teardown()


@contextlib.contextmanager
def remaking(ns, function):
    """Within, rewrite an end's TCP packets; fail if none was rewritten. The
    function returns None for a packet that is to stay unchanged."""
    count = 0

    def remake(packet):
        nonlocal count
        seen = Segment(packet)
        made = function(seen) if seen.proto == TCP else None
        count += made is not None
        return made

    remakers[ns].remake = remake
    try:
        yield
    finally:
        remakers[ns].remake = None
        remakers[ns].check()
    expect_least("packets remade", count, 1)


def renumbered(seen, seq=0, ack=0, window=None, clock=0):
    """A TCP packet with its sequence and ACK numbers and its clock shifted,
    and another window, as in the header."""
    tcp = bytearray(seen.tcp)
    struct.pack_into("!I", tcp, 4, (seen.seq + seq) & 0xffffffff)
    if window is not None:
        struct.pack_into("!H", tcp, 14, window)
    if seen.flags & ACK:
        struct.pack_into("!I", tcp, 8, (seen.ack + ack) & 0xffffffff)
        at, end = 20, (tcp[12] >> 4) * 4
        while at < end and tcp[at]:
            size = 1 if tcp[at] == 1 else tcp[at + 1]
            words = {5: range(at + 2, at + size, 4), 8: (at + 2,)}
            for word in words.get(tcp[at], ()):
                old, = struct.unpack_from("!I", tcp, word)
                old += ack if tcp[at] == 5 else clock
                struct.pack_into("!I", tcp, word, old & 0xffffffff)
            at += size
    tcp[16:18] = bytes(2)
    struct.pack_into("!H", tcp, 16, checksum(
        pseudo(seen.src, seen.dst, TCP, len(tcp)) + tcp))
    return seen.packet[:seen.hlen] + bytes(tcp)


@contextlib.contextmanager
def numbered(ns, isn):
    """Connections of an end begin with a given sequence number, instead of the
    one its stack chooses: all of its packets are renumbered."""
    shifts = {}                 # by its own and the other port

    def out(packet):
        seen = Segment(packet)
        if seen.proto != TCP:
            return None
        ports = seen.sport, seen.dport
        if seen.flags & SYN:
            shifts[ports] = isn - seen.seq
        return [renumbered(seen, seq=shifts.get(ports, 0))]

    def back(packet):
        seen = Segment(packet)
        if seen.proto != TCP:
            return packet
        return renumbered(seen, ack=-shifts.get((seen.dport, seen.sport), 0))

    remaker = remakers[ns]
    remaker.remake, remaker.receive = out, back
    try:
        yield
        expect_least("connections that were renumbered", len(shifts), 1)
    finally:
        remaker.remake = remaker.receive = None
        remaker.check()


@after_case
def close_wires():
    """Close the wires of a case."""
    while _wires:
        _wires.pop().close()
