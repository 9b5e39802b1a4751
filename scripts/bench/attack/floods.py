# SPDX-License-Identifier: GPL-2.0
"""Packets of attacks. A function makes each one from its number, random
numbers and the connections that it may be about, (address, port, address,
port) from the subscriber to the server. The function returns the sending
namespace, "atk" or "srv", and the packet. The families take turns."""

import struct

from field import AWAY, SILENT, SPOOFED
from honest import CLOSED, MUTE, SINK
from peptest.netns import addr
from peptest.raw import (ACK, PSH, RST, SYN, TCP, icmp, inet, ip4, segment,
                         tcp_header)

MSS = b"\x02\x04\x05\xb4\x01\x01\x04\x02"
MORE = 0x2000           # more fragments
ONE = {4: SPOOFED[4].format(100, 1), 6: SPOOFED[6].format("fff", 1)}


def _family(number):
    return 6 if number % 2 else 4


def spoofed(number):
    """One of 30,000 unused addresses."""
    number //= 2
    return {4: SPOOFED[4].format(number // 250 % 120, 1 + number % 250),
            6: SPOOFED[6].format(f"{number % 0x8000:x}", 1)}


def _syn(number, rnd, src, dst, dport):
    family = _family(number)
    return "atk", segment(
        src[family], dst[family], 1024 + number // 2 % 64000, dport, flags=SYN,
        seq=rnd.getrandbits(32), options=MSS, window=64240)


SERVER = {family: addr("srv", family) for family in (4, 6)}


def syn_spoofed(number, rnd, _):
    """SYNs, each from another address."""
    return _syn(number, rnd, spoofed(number), SERVER, SINK)


def syn_one(number, rnd, _):
    """SYNs from one address, which never completes a handshake."""
    return _syn(number, rnd, ONE, SERVER, SINK)


def syn_refused(number, rnd, _):
    """SYNs to a closed port."""
    return _syn(number, rnd, ONE, SERVER, CLOSED)


def syn_silent(number, rnd, _):
    """SYNs to addresses that do not answer."""
    dst = {family: SILENT[family].format(1 + number // 2 % 250)
           for family in (4, 6)}
    return _syn(number, rnd, ONE, dst, SINK)


def syn_unreachable(number, rnd, _):
    """SYNs to addresses that the gateway has no route to."""
    dst = {family: AWAY[family].format(1 + number // 2 % 250)
           for family in (4, 6)}
    return _syn(number, rnd, ONE, dst, SINK)


def port_scan(number, rnd, _):
    """SYNs to one port after the other."""
    family = _family(number)
    return "atk", segment(ONE[family], SERVER[family], 40000,
                          6000 + number // 2 % 50000, flags=SYN, options=MSS,
                          seq=rnd.getrandbits(32), window=1024)


def pattern(number, rnd, _):
    """SYNs whose addresses and ports have the same sum and the same exclusive
    or: a hash without a key would have them in one chain."""
    family = _family(number)
    step = number // 2 % 0x4000
    ends = {4: (SPOOFED[4].format(step >> 8, step & 255),
                f"198.18.1.{addr('srv', 4).rsplit('.', 1)[1]}"),
            6: (SPOOFED[6].format(f"{step:x}", "1"), SERVER[6])}[family]
    return "atk", segment(*ends, 0x8000 | step, MUTE, flags=SYN, options=MSS,
                          seq=rnd.getrandbits(32), window=1024)


def rst_storm(number, rnd, tuples):
    """Resets with numbers at random, to both ends of the downloads."""
    near, sport, far, dport = tuples[number // 2 % len(tuples)]
    if number % 2:
        return "srv", segment(far, near, dport, sport, flags=RST,
                              seq=rnd.getrandbits(32))
    return "atk", segment(near, far, sport, dport, flags=RST,
                          seq=rnd.getrandbits(32))


def ack_storm(number, rnd, tuples):
    """ACKs with payload and numbers at random: of the downloads from both
    sides, and of connections that nobody knows."""
    near, sport, far, dport = tuples[number // 4 % len(tuples)]
    what = {"flags": ACK | PSH, "seq": rnd.getrandbits(32),
            "ack": rnd.getrandbits(32), "payload": bytes(number % 3 * 100)}
    if number % 4 == 0:
        return "atk", segment(near, far, sport, dport, **what)
    if number % 4 == 1:
        return "srv", segment(far, near, dport, sport, **what)
    family = _family(number)
    return "atk", segment(spoofed(number)[family], SERVER[family],
                          1024 + number % 60000, SINK, **what)


def icmp_storm(number, rnd, tuples):
    """ICMP errors about the downloads with numbers at random: too big,
    unreachable, time exceeded."""
    near, sport, far, dport = tuples[number // 2 % len(tuples)]
    six = ":" in near
    kinds = ((2, 0, 1280), (1, 4, 0), (3, 0, 0)) if six else \
        ((3, 4, 576), (3, 3, 0), (11, 0, 0))
    kind, code, rest = kinds[number // 2 % 3]
    if number % 2:
        quoted = segment(near, far, sport, dport, seq=rnd.getrandbits(32))
        return "srv", icmp(far, near, kind, code, rest, quoted)
    quoted = segment(far, near, dport, sport, seq=rnd.getrandbits(32))
    return "atk", icmp(near, far, kind, code, rest, quoted)


def fragment_storm(number, rnd, _):
    """First fragments of segments, without the rest."""
    family = _family(number)
    src, dst = inet(spoofed(number)[family]), inet(SERVER[family])
    part = tcp_header(src, dst, 40000, SINK, seq=rnd.getrandbits(32),
                      payload=bytes(36))[:56]
    if family == 4:
        return "atk", ip4(src, dst, TCP, part, frag=MORE,
                          ident=rnd.getrandbits(16))
    head = struct.pack("!BBHI", TCP, 0, 1, rnd.getrandbits(32))
    return "atk", struct.pack("!IHBB", 6 << 28, len(head) + len(part), 44,
                              64) + src + dst + head + part


FLOODS = {flood.__name__.replace("_", "-"): flood for flood in (
    syn_spoofed, syn_one, syn_refused, syn_silent, syn_unreachable, port_scan,
    pattern, rst_storm, ack_storm, icmp_storm, fragment_storm)}
# Those that are tried with openers answered early as well.
EARLY = "syn-spoofed", "syn-one", "syn-silent", "syn-refused"
