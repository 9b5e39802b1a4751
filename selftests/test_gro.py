# SPDX-License-Identifier: GPL-2.0
"""Packets that are larger than a frame: merged by GRO on the gateway, with a
fragment list or without, sent whole by TSO with partial checksums, larger than
64 KiB (BIG TCP), and plain frames."""

import fcntl
import mmap
import socket
import struct
import termios

from peptest import pep
from peptest.env import amount
from peptest.ktap import (case, expect_least, fail, families, note, skip,
                          steady)
from peptest.netns import impaired, ip, nstat, offloads, run, sysctls
from peptest.pep import grows
from peptest.raw import Wire
from peptest.tcp import (MSG_ZEROCOPY, SO_ZEROCOPY, exchange, expect_stream,
                         next_offset, one_way, pair, pieces)

BYTES = amount(4000000)
DEVICES = {"sub": ["eth0"], "pep": ["wl0", "sv0"], "srv": ["eth0"]}
WHOLE = "tso on gso on sg on tx on"
CUT = "tso off gso off"
BARE = "tso off gso off sg off tx off"
HUGE = 130000           # bytes
FRAME = 1514
AT_ONCE = "net.ipv4.tcp_tso_rtt_log=31"
LISTS = WHOLE + " gro on rx-gro-list on rx-udp-gro-forwarding on"
LENT = 14000            # bytes, which TCP sends at once
ROUNDS = 20             # within which the windows must open far enough
setup = pep.warmed


def offload(ends, gateway):
    """Set the offloads of the ends' devices and of the gateway's."""
    for ns, devs in DEVICES.items():
        for dev in devs:
            offloads(ns, dev, *(gateway if ns == "pep" else ends).split())


def merged(family, ends, gateway, ratio):
    """A transfer both ways; fail unless the legs receive at least ratio
    segments per 100 packets."""
    offload(ends, gateway)
    before = nstat("sub", "TcpOutSegs") + nstat("srv", "TcpOutSegs")
    with grows(flow_closed=1, dropped=0, pass_malformed=0) as counters:
        exchange(pair(family), BYTES)
    sent = nstat("sub", "TcpOutSegs") + nstat("srv", "TcpOutSegs") - before
    got = pep.stat("delivered") - counters["delivered"]
    note(f"{sent} segments arrived in {got} packets")
    expect_least("segments per packet, hundredths", 100 * sent // got, ratio)


for _text, _ends, _gateway, _ratio in (
        ("sent whole", WHOLE, WHOLE + " gro off", 150),
        ("merged by GRO", CUT, WHOLE + " gro on", 110),
        ("merged by GRO, in lists", CUT,
         LISTS, 110),
        ("merged by GRO, checksums in software", BARE, BARE + " gro on", 110),
        ("as frames", BARE, BARE + " gro off rx-gro-list off", 90)):
    families(_text, _ends, _gateway, _ratio)(merged)


def unacked(sock):
    """Bytes that the other end has not acknowledged."""
    return struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0]


@families("merged by GRO, in lists, of pages that their sender uses again")
def lent(family):
    """The sender writes to its pages as soon as they are acknowledged, while
    the payload has got lost behind the gateway."""
    offload(CUT, LISTS)
    pep.follow("8000")
    memory = mmap.mmap(-1, LENT, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    offset = next_offset()
    memory[:] = b"".join(pieces(offset, LENT))
    with grows(flow_reset=0):
        near, far = pair(family)
        far.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        with impaired((("pep", "wl0"),), "loss", "100%"):
            one_way(near, far, 1)
            far.setblocking(True)
            far.send(memory, MSG_ZEROCOPY)
            steady("acknowledgments", lambda: unacked(far), 1)
            if not unacked(far):
                memory[:] = bytes(LENT)
        near.setblocking(True)
        expect_stream(near, offset, LENT)
        exchange((near, far), 1000)
    memory.close()
    pep.follow("handshake")


def big_packets(family):
    """Payload both ways until both ends have sent such packets, for a limited
    number of rounds; return the longest packet of each, bytes."""
    taps = [Wire("pep", dev, ("sub", "eth0")) for dev in DEVICES["pep"]]
    longest = [0, 0]
    ends = pair(family)
    for _ in range(ROUNDS):
        for index, tap in enumerate(taps):
            tap.take()
            one_way(ends[index], ends[1 - index], BYTES)
            longest[index] = max(longest[index],
                                 *map(len, tap.take(outgoing=False)))
        if min(longest) > 65535:
            break
    exchange(ends, 1000)
    return longest


def big(family):
    """Packets whose length does not fit into the header; TCP sends them to
    nearby ends, and a setting makes all ends count as such."""
    offload(WHOLE, WHOLE + " gro on")
    size = "gso_max_size" if family == 6 else "gso_ipv4_max_size"
    for ns, devs in DEVICES.items():
        for dev in devs:
            if run("ip", "link", "set", dev, size, str(HUGE), size.replace(
                    "gso", "gro"), str(HUGE), ns=ns, check=False).returncode:
                skip("ip does not know BIG TCP")
    # The rate of a slow machine would not allow packets of that size.
    pep.pepadm("profile", "set", "default", "residence", "0")
    with sysctls("sub", AT_ONCE), sysctls("srv", AT_ONCE), grows(
            flow_closed=1, dropped=0, pass_malformed=0, pass_exthdr=0):
        longest = big_packets(family)
    pep.pepadm("profile", "set", "default", "residence", "50")
    note("longest packets", *longest)
    if min(longest) <= 65535:
        fail(f"the longest packets have {longest} bytes")
    for ns, devs in DEVICES.items():
        ip(ns, *(f"link set {dev} {size} 65536" for dev in devs))


for _family in 4, 6:
    case(f"BIG TCP, IPv{_family}", _family)(big)
