# SPDX-License-Identifier: GPL-2.0
"""Requests of every operation of the specification, built from a random number
generator: valid ones, and the same broken in many ways."""

import socket
import struct

from . import spec
from .genl import NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST
from .judge import GENL, HEADER, NEEDS, NESTED, NLM_F_ECHO, ORDER

VICTIM = 5001           # port of the servers whose connections may be ended
KEPT = b"kept"          # the profile that is never changed
USED = b"fuzz9"         # a profile that a device uses
PROFILES = (b"default", USED, b"Fuzz-3.4_5",
            *(b"fuzz%d" % number for number in range(9)))
# Meaningful and meaningless strings by attribute.
STRINGS = {
    "name": PROFILES + (b"nobody", b"", b"a/b", b"a b", b"abcdefghijklmno",
                        b"\xff\xfe", b"%s%n"),
    "profile": PROFILES + (b"nobody", b""),
    "cc-wireless": (b"cubic", b"pep_bbr", b"reno", b"nope", b""),
    "cc-server": (b"cubic", b"pep_bbr", b"reno", b"nope", b""),
    "server-dev": (b"", b"sv0", b"wl0", b"nope", b"../lo"),
    "dev": (b"wl0", b"sv0", b"nope", b""),
    "vrf": (b"nope", b"wl0", b""),
}
ADDRESSES = [socket.inet_pton(family, text) for family, text in (
    (socket.AF_INET, "198.18.0.77"), (socket.AF_INET, "198.18.1.78"),
    (socket.AF_INET, "0.0.0.0"), (socket.AF_INET, "127.0.0.1"),
    (socket.AF_INET, "224.0.0.1"), (socket.AF_INET, "198.18.0.1"),
    (socket.AF_INET6, "2001:db8::77"), (socket.AF_INET6, "2001:db8:1::78"),
    (socket.AF_INET6, "::"), (socket.AF_INET6, "ff02::1"),
    (socket.AF_INET6, "::ffff:198.18.0.77"))]
EDGES = (0, 1, 2, 7, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1 << 24,
         (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1,
         1 << 63, (1 << 64) - 1)
FAR = 1 << 29           # distance of sequence numbers of a connection


def pack(kind, payload, length=None):
    """An attribute, with a length that may be wrong."""
    length = 4 + len(payload) if length is None else length
    return (struct.pack("HH", length & 0xffff, kind & 0xffff) + payload +
            bytes(-len(payload) % 4))


class Message:
    """A request under construction: every field can be changed."""

    def __init__(self, family, command, dump):
        self.kind, self.command, self.version, self.reserved = (
            family, command, 1, 0)
        self.flags = NLM_F_REQUEST | (NLM_F_DUMP if dump else NLM_F_ACK)
        self.attrs = []         # (number with flags, payload, length or None)
        self.tail = b""
        self.cut = None         # bytes left after truncation
        self.length = None      # length in its header

    def payload(self):
        """Its attributes."""
        return b"".join(pack(*attr) for attr in self.attrs) + self.tail

    def bytes(self, seq):
        """The message."""
        body = struct.pack("BBH", self.command, self.version, self.reserved)
        body += self.payload()
        if self.cut is not None:
            body = body[:max(0, self.cut - HEADER)]
        length = HEADER + len(body) if self.length is None else self.length
        return struct.pack("IHHII", length & 0xffffffff, self.kind,
                           self.flags, seq, 0) + body + bytes(-len(body) % 4)


class Forge:
    """Builds requests for a family, from a random number generator."""

    def __init__(self, family, rnd):
        self.family, self.rnd = family, rnd
        self.requests = [(op, request) for op in spec.load().ops.values()
                         for request in op.requests.values()]
        # Ways to break its attributes, and its headers.
        self.inner = [
            self._drop, self._double, self._resize, self._unknown, self._flag,
            self._number, self._huge, self._string, self._noise, self._flip,
            self._many, self._tail, self._nest, self._shuffle]
        self.outer = [self._cut, self._flags, self._head, self._kind]

    def number(self, attribute, valid=True):
        """A value of a numeric attribute, as bytes."""
        rnd = self.rnd
        size = rnd.choice(attribute.sizes)
        most = (1 << size * 8) - 1
        if attribute.mask is not None:
            value = rnd.getrandbits(attribute.mask.bit_length())
            value = value if valid else rnd.choice(EDGES)
        elif valid:
            low, high, zero = attribute.range or (
                attribute.low, attribute.high, attribute.zero)
            high = min(most, most if high is None else high)
            value = rnd.choice((low, high, rnd.randint(low, high),
                                min(high, low + rnd.randrange(100)),
                                0 if zero else low))
        else:
            value = rnd.choice(EDGES + ((attribute.high or 0) + 1,
                                        rnd.getrandbits(64)))
        return (value & most).to_bytes(size, attribute.order)

    def payload(self, attribute):
        """A valid value of an attribute, as bytes."""
        rnd = self.rnd
        if attribute.type == "string":
            return rnd.choice(STRINGS[attribute.name]) + b"\0"
        if attribute.type == "binary":
            return (rnd.randbytes(attribute.sizes[0]) if attribute.sizes else
                    rnd.choice(ADDRESSES))
        if attribute.type == "nest":
            inner = spec.load().nested(attribute).values()
            return b"".join(pack(one.number, self.payload(one))
                            for one in inner if rnd.random() < .8)
        if attribute.sizes == (0,):
            return b""
        if attribute.name.endswith("-port"):
            return struct.pack("!H", VICTIM)
        return self.number(attribute)

    def valid(self, op, request):
        """A request with some of its attributes, including the required
        ones."""
        rnd = self.rnd
        message = Message(self.family, op.number, request.dump)
        if rnd.random() < .1:
            message.flags ^= NLM_F_ACK
        if op.name == "flow-import" and rnd.random() < .7:
            message.attrs = self.connection(request)
            return message
        share = rnd.choice((.1, .3, .9))
        needs = NEEDS.get(op.name, ())
        for number, attribute in (request.policy or {}).items():
            if attribute.name in needs or rnd.random() < share:
                kind = number | (NESTED if attribute.nested else 0)
                message.attrs.append((kind, self.payload(attribute), None))
        if op.name in ("flow-kill", "flow-release"):
            self._aim(message, request)
        return message

    def _aim(self, message, request):
        """Select only connections that may be ended, or none."""
        port = request.by_name["server-port"].number
        message.attrs = [attr for attr in message.attrs if attr[0] != port]
        message.attrs.append((port, struct.pack("!H", VICTIM), None))

    def connection(self, request):
        """The consistent state of a connection, as attributes."""
        rnd = self.rnd
        six = rnd.random() < .5
        near, far = ADDRESSES[6:8] if six else ADDRESSES[0:2]
        edge = [rnd.getrandbits(32), rnd.getrandbits(32)]
        values = {
            "stage": 2, "opener": rnd.randrange(2), "family": 10 if six else 2,
            "subscriber-port": rnd.randrange(1, 40), "server-port": VICTIM,
            "subscriber-addr": near, "server-addr": far,
            "age-ms": rnd.randrange(1000000), "idle-ms": rnd.randrange(10000),
            "isn": edge[0] - 1 & 0xffffffff}
        for side, name in enumerate(("wireless", "server")):
            end = {"bytes": rnd.randrange(FAR), "repeated": 0,
                   "rtt-us": rnd.randrange(10 ** 6), "mss": 1460, "wscale": 7,
                   "flags": 7, "high": edge[side] + rnd.randrange(FAR),
                   "ack": edge[1 - side], "tsval": rnd.getrandbits(32),
                   "edge": edge[1 - side] + rnd.randrange(FAR)}
            values[name] = b"".join(
                pack(one.number, (end[one.name] & 0xffffffff).to_bytes(
                    4, "little"))
                for one in spec.load().nested(request.by_name[name]).values()
                if one.name in end)
        attrs = []
        for name, value in values.items():
            one = request.by_name[name]
            if isinstance(value, int):
                value = value.to_bytes(one.sizes[0], one.order)
            attrs.append((one.number | (NESTED if one.nested else 0), value,
                          None))
        return attrs

    def some(self):
        """A valid request of any operation."""
        return self.valid(*self.rnd.choice(self.requests))

    def broken(self):
        """A request that was valid, broken in one or more ways."""
        op, request = self.rnd.choice(self.requests)
        message = self.valid(op, request)
        self.damage(message, request, self.inner + self.outer)
        return message

    def damage(self, message, request, breaks):
        """Break a message in one or more ways."""
        for _ in range(self.rnd.choice((1, 1, 1, 2, 3))):
            self.rnd.choice(breaks)(message, request)

    def torn(self):
        """A message with a wrong length; the rest of the datagram is lost, or
        parsed as another message."""
        message = self.some()
        rnd = self.rnd
        message.length = rnd.choice(
            EDGES + (rnd.randrange(HEADER, 200), rnd.randrange(HEADER)))
        return message

    def _place(self, message):
        """The position of an attribute, None without any."""
        return self.rnd.randrange(len(message.attrs)) if message.attrs \
            else None

    def _change(self, message, change):
        """Apply a function to one of the attributes."""
        at = self._place(message)
        if at is not None:
            message.attrs[at] = change(*message.attrs[at])

    def _drop(self, message, _request):
        at = self._place(message)
        if at is not None:
            del message.attrs[at]

    def _double(self, message, request):
        if request.policy:
            one = self.rnd.choice(list(request.policy.values()))
            message.attrs.append((one.number | (NESTED if one.nested else 0),
                                  self.payload(one), None))

    def _resize(self, message, _request):
        size = self.rnd.choice((0, 1, 2, 3, 5, 6, 7, 8, 9, 16, 17, 300))
        self._change(message, lambda kind, data, length: (
            kind, (data + bytes(size))[:size], length))

    def _unknown(self, message, _request):
        kind = self.rnd.choice((0, len(message.attrs) + 40, 0x3fff,
                                self.rnd.randrange(64)))
        message.attrs.insert(self.rnd.randrange(len(message.attrs) + 1),
                             (kind, self.rnd.randbytes(4), None))

    def _flag(self, message, _request):
        bit = self.rnd.choice((NESTED, ORDER, NESTED | ORDER))
        self._change(message, lambda kind, data, length: (
            kind ^ bit, data, length))

    def _number(self, message, request):
        numbers = [one for one in (request.policy or {}).values()
                   if one.type in ("u16", "u32", "uint")]
        if numbers:
            one = self.rnd.choice(numbers)
            message.attrs = [attr for attr in message.attrs
                             if attr[0] != one.number]
            message.attrs.append((one.number, self.number(one, False), None))

    def _cut(self, message, _request):
        message.cut = self.rnd.randrange(HEADER, GENL + 40)

    def _flags(self, message, _request):
        rnd = self.rnd
        message.flags = rnd.choice((
            message.flags ^ NLM_F_DUMP, message.flags & ~NLM_F_REQUEST,
            message.flags ^ 1 << rnd.randrange(16), rnd.getrandbits(16),
            message.flags | NLM_F_ECHO, message.flags | NLM_F_DUMP))

    def _huge(self, message, _request):
        length = self.rnd.choice((0, 1, 3, 0x7fff, 0xffff,
                                  self.rnd.randrange(200)))
        self._change(message, lambda kind, data, _: (kind, data, length))

    def _string(self, message, request):
        strings = [one for one in (request.policy or {}).values()
                   if one.type == "string"]
        if strings:
            one, rnd = self.rnd.choice(strings), self.rnd
            data = rnd.choice((b"x" * 15, b"x" * 16, b"x" * 16 + b"\0",
                               b"a\0b", b"\0\0", b"y" * 300 + b"\0",
                               b"z\0" + bytes(40), b"x",
                               rnd.randbytes(8) + b"\0"))
            message.attrs = [attr for attr in message.attrs
                             if attr[0] != one.number]
            message.attrs.append((one.number, data, None))

    def _noise(self, message, _request):
        message.attrs = []
        message.tail = self.rnd.randbytes(self.rnd.choice((1, 4, 9, 64, 900)))

    def _flip(self, message, _request):
        """Change bits of an attribute."""
        def flip(kind, data, length):
            data = bytearray(data or b"\0")
            for _ in range(self.rnd.randrange(1, 4)):
                data[self.rnd.randrange(len(data))] ^= \
                    1 << self.rnd.randrange(8)
            return kind, bytes(data), length
        self._change(message, flip)

    def _head(self, message, _request):
        rnd = self.rnd
        message.command = rnd.choice((0, 14, 26, 255, rnd.randrange(256),
                                      message.command))
        message.version = rnd.choice((0, 1, 2, 255))
        message.reserved = rnd.choice((0, 0, 1, 0xffff))

    def _kind(self, message, _request):
        message.kind = self.rnd.choice((0, 1, 2, 3, 4, 15, 1024, 0xffff))

    def _many(self, message, _request):
        if message.attrs:
            message.attrs += [self.rnd.choice(message.attrs)] * \
                self.rnd.choice((2, 30, 300))

    def _tail(self, message, _request):
        message.tail = bytes(self.rnd.randrange(1, 9))

    def _nest(self, message, request):
        """Nest an attribute that has no nest, or nest it too deeply."""
        depth = self.rnd.choice((1, 2, 12))

        def wrap(kind, data, length):
            for _ in range(depth):
                data = pack(kind | NESTED, data)[:65000]
            return kind | NESTED, data, length
        self._change(message, wrap)

    def _shuffle(self, message, _request):
        self.rnd.shuffle(message.attrs)
