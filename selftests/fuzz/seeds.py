#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Write hand-made inputs, with which the fuzzers begin.

usage: seeds.py FOLDER

FOLDER/TARGET has a file for each. frame.h tells what the ten bytes before a
packet mean, target_header.c the byte before options of IP headers. Checksums
are left empty: the fuzzers put them in.
"""

import pathlib
import struct
import sys

IPV6, OTHER, TAGGED, GSO_TCP, GSO_UDP, BAD_IP, BAD_TCP, CLONED = (
    1 << bit for bit in range(8))
UNNECESSARY, COMPLETE, PARTIAL, VALID = 1, 2, 3, 4
ALL = 0xffff            # linear, as far as there are bytes
PAGES = 252             # of further bytes, more than a length field can tell
ACK, SYN, SYNACK, FINACK, RST = 0x10, 0x02, 0x12, 0x11, 0x04
TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
HOP, ROUTING, FRAGMENT, AUTH, DEST = 0, 43, 44, 51, 60
SRC4, DST4 = bytes((192, 0, 2, 1)), bytes((198, 51, 100, 2))
SRC6 = bytes.fromhex("20010db8000000000000000000000001")
DST6 = bytes.fromhex("20010db8000100000000000000000002")

MSS = b"\2\4\5\xb4"
SACK = b"\4\2"
STAMP = b"\x08\x0a\1\2\3\4\0\0\0\0"
SCALE = b"\3\3\7"
NOP = b"\1"
CAPABLE = b"\x1e\x0c\1\1" + bytes(range(8))
LINUX = MSS + SACK + STAMP + NOP + SCALE

OPTIONS = {
    "none": b"",
    "linux": LINUX,
    "scale": SCALE.replace(b"\7", b"\x0f") + NOP,
    "end": NOP + b"\0" + CAPABLE,
    "md5": NOP * 2 + b"\x13\x12" + bytes(16),
    "ao": b"\x1d\4\0\0",
    "mptcp": LINUX + CAPABLE,
    "mptcp-short": b"\x1e\2" + NOP * 2,
    "mptcp-md5": b"\x1e\4\0\0\x13\x12" + bytes(16),
    "join": MSS + b"\x1e\x0c\x10\1" + bytes(8),
    "fastopen": b"\x22\x0a" + bytes(8),
    "fastopen-exp": b"\xfe\4\xf9\x89",
    "experiment": b"\xfe\6\x12\x34\0\0",
    "unknown": b"\x4d\2" + NOP * 2,
    "zero": b"\2\0" + NOP * 2,
    "long": b"\2\x28" + NOP * 2,
    "cut": NOP * 3 + b"\2",
}

HEADERS4 = {
    "none": b"",
    "alert": b"\x94\4\0\0",
    "record": NOP + b"\7\7\4\0\0\0\0",
    "loose": b"\x83\7\4" + DST4 + b"\0",
    "strict": b"\x89\7\4" + DST4 + b"\0",
    "used": b"\x83\7\x08" + DST4 + b"\0",
    "long": b"\7\5\4\0",
    "zero": b"\7\0\4\0",
}

HEADERS6 = {
    "pad": b"\1\4\0\0\0\0",
    "ones": bytes(6),
    "alert": b"\5\2\0\0\1\0",
    "skip": b"\x3e\4\0\0\0\0",
    "drop": b"\x5e\4\0\0\0\0",
    "jumbo": b"\xc2\4\0\1\0\0",
    "long": b"\1\5\0\0\0\0",
    "two": b"\x3e\6" + bytes(6) + b"\1\4\0\0\0\0",
}


def tcp(flags=ACK, options=b"", payload=b"payload"):
    """A segment."""
    options += bytes(-len(options) % 4)
    return struct.pack("!HHIIBBHHH", 40000, 80, 1000, 2000,
                       (20 + len(options)) // 4 << 4, flags, 512, 0,
                       0) + options + payload


def udp(port=443):
    """A datagram."""
    return struct.pack("!HHHH", 40000, port, 12, 0) + b"quic"


def ip4(inner, proto=TCP, options=b"", fragment=0, ttl=64):
    """An IPv4 packet."""
    length = 20 + len(options)
    return struct.pack("!BBHHHBBH", 0x40 | length // 4, 0x28,
                       length + len(inner), 7, fragment, ttl, proto,
                       0) + SRC4 + DST4 + options + inner


def ip6(inner, proto=TCP, length=None, hops=64):
    """An IPv6 packet."""
    return struct.pack("!IHBB", 0x62800000,
                       len(inner) if length is None else length, proto,
                       hops) + SRC6 + DST6 + inner


def ext(proto, options):
    """A header of hop-by-hop or destination options."""
    return bytes((proto, (len(options) + 2) // 8 - 1)) + options


def route(proto, kind, left):
    """A routing header."""
    return bytes((proto, 2, kind, left, 0, 0, 0, 0)) + DST6


def fragment6(proto, inner):
    """A fragment header and what is behind it."""
    return bytes((proto, 0, 0, 1, 0, 0, 0, 9)) + inner


def icmp(kind, quoted):
    """An ICMP or ICMPv6 message with a packet in it."""
    return bytes((kind, 4, 0, 0, 0, 0, 5, 0)) + quoted


def frame(packet, flags=0, summed=0, linear=ALL, more=0, fail=0):
    """An input of the targets packet and rewrite."""
    return struct.pack("!BBHBBI", flags, summed, linear, more, fail,
                       3000) + packet


def packets4():
    """Inputs over IPv4."""
    yield frame(ip4(tcp()))
    yield frame(ip4(tcp(FINACK, NOP * 2 + STAMP)), linear=0)
    yield frame(ip4(tcp(RST)), linear=20)
    yield frame(ip4(tcp(SYN, LINUX, b"")))
    yield frame(ip4(tcp(SYN, LINUX, b"")), BAD_TCP)
    yield frame(ip4(tcp(SYN, LINUX, b"")), BAD_TCP, UNNECESSARY)
    yield frame(ip4(tcp(SYNACK, LINUX, b"")), BAD_TCP, PARTIAL)
    yield frame(ip4(tcp(SYN, LINUX + CAPABLE, b"")), CLONED, COMPLETE)
    yield frame(ip4(tcp(SYN, CAPABLE, b"odd")), linear=40)
    yield frame(ip4(tcp(SYN, CAPABLE, b"")), CLONED, VALID, 0, fail=2)
    yield frame(ip4(tcp()), BAD_IP)
    yield frame(ip4(tcp()), TAGGED)
    yield frame(ip4(tcp()), OTHER)
    yield from (frame(ip4(tcp(), ttl=ttl)) for ttl in (0, 1, 2))
    yield frame(ip4(tcp())[:-7], more=1)
    yield frame(ip4(tcp())[:30])
    yield frame(ip4(tcp()), linear=20, fail=1)
    yield frame(ip4(tcp(), fragment=0x2000))
    yield frame(ip4(tcp(), ICMP, fragment=5))
    yield frame(ip4(udp(), UDP), linear=0)
    yield frame(ip4(udp(53), UDP))
    yield frame(ip4(udp(), UDP, fragment=9))
    whole = ip4(tcp())
    yield frame(whole[:2] + bytes(2) + whole[4:], GSO_TCP, more=PAGES)
    yield frame(whole[:2] + bytes(2) + whole[4:], GSO_UDP)
    for options in HEADERS4.values():
        yield frame(ip4(tcp(), options=options), linear=24)
    for kind in 0, 3, 4, 5, 11, 12:
        yield frame(ip4(icmp(kind, ip4(tcp())), ICMP), linear=28)
    yield frame(ip4(icmp(3, ip4(tcp(), options=NOP * 4)), ICMP))
    yield frame(ip4(icmp(3, ip4(udp(), UDP)), ICMP))
    yield frame(ip4(icmp(3, ip4(tcp(), fragment=3)), ICMP))
    yield frame(ip4(icmp(11, ip4(tcp()[:6])), ICMP))


def packets6():
    """Inputs over IPv6."""
    yield frame(ip6(tcp()), IPV6)
    yield frame(ip6(tcp()), IPV6, linear=0)
    yield from (frame(ip6(tcp(), hops=hops), IPV6) for hops in (0, 1, 2))
    yield frame(ip6(tcp(SYN, LINUX, b"")), IPV6, linear=40)
    yield frame(ip6(tcp(SYN, LINUX, b"")), IPV6 | BAD_TCP)
    yield frame(ip6(tcp(SYN, CAPABLE, b"")), IPV6 | CLONED, COMPLETE, 44)
    yield frame(ip6(tcp(SYN, CAPABLE, b"")), IPV6 | CLONED, PARTIAL, fail=1)
    yield frame(ip6(tcp()), IPV6, linear=40, fail=1)
    yield frame(ip6(tcp())[:-9], IPV6)
    yield frame(ip6(tcp(), length=0), IPV6 | GSO_TCP, more=9)
    yield frame(ip6(udp(), UDP), IPV6, linear=0)
    yield frame(ip6(tcp(), AUTH), IPV6)
    yield frame(ip6(fragment6(TCP, tcp()), FRAGMENT), IPV6, linear=41)
    yield frame(ip6(fragment6(DEST, tcp()), FRAGMENT), IPV6)
    yield frame(ip6(fragment6(UDP, udp()), FRAGMENT), IPV6)
    yield frame(ip6(route(TCP, 2, 0) + tcp(), ROUTING), IPV6, linear=48)
    yield frame(ip6(route(TCP, 2, 1) + tcp(), ROUTING), IPV6)
    yield frame(ip6(route(TCP, 0, 0) + tcp(), ROUTING), IPV6)
    for options in HEADERS6.values():
        yield frame(ip6(ext(TCP, options) + tcp(), HOP), IPV6, linear=41)
    yield frame(ip6(ext(TCP, HEADERS6["jumbo"]) + tcp(), HOP, 0),
                IPV6 | GSO_TCP)
    pad = HEADERS6["pad"]
    yield frame(ip6(ext(DEST, pad) + ext(HOP, pad) + ext(TCP, pad) + tcp(),
                    HOP), IPV6)
    for count in 8, 9:
        yield frame(ip6(ext(DEST, pad) * (count - 1) + ext(TCP, pad) + tcp(),
                        DEST), IPV6, linear=80)
    for kind in 0, 1, 2, 3, 4, 128:
        yield frame(ip6(icmp(kind, ip6(tcp())), ICMP6), IPV6, linear=48)
    yield frame(ip6(icmp(1, ip6(udp(), UDP)), ICMP6), IPV6)
    yield frame(ip6(icmp(1, ip6(tcp()[:6])), ICMP6), IPV6)
    yield frame(ip6(ext(ICMP6, pad) + icmp(2, ip6(tcp())), DEST), IPV6)


def headers():
    """Inputs of the target header."""
    yield from (b"\0" + options for options in HEADERS4.values())
    for jumbo in b"\1", b"\3":
        yield from (jumbo + options for options in HEADERS6.values())


def write(folder, target, inputs):
    """Write the inputs of a target."""
    path = pathlib.Path(folder, target)
    path.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(inputs):
        (path / f"{number:02}").write_bytes(data)


def main():
    """Write those of all targets."""
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print("seeds.py: one folder is wanted (usage: seeds.py FOLDER)",
              file=sys.stderr)
        return 2
    packets = [*packets4(), *packets6()]
    for target, inputs in (("packet", packets), ("rewrite", packets),
                           ("option", OPTIONS.values()),
                           ("header", headers())):
        write(sys.argv[1], target, inputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
