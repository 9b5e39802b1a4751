# SPDX-License-Identifier: GPL-2.0
"""A fast server in front of a slow link: payload queued in the gateway is
limited by the profile, each way, and arrives complete; without the limit the
buffers fill. The reported residence of payload agrees with it."""

import time

from peptest import pep
from peptest.ktap import expect_least, expect_most, families, note
from peptest.netns import (WIRELESS, impaired, ip, netem, netem_end,
                           single_packets, sysctl, sysctls)
from peptest.pep import grows
from peptest.tcp import (End, expect_same, fill, one_way, pair, pump,
                         send_window)

TRAITS = {"simulated"}

BYTES = 1000000         # five seconds of the link
PIECES = 4 * BYTES
SETTLED = 250000        # bytes after which samples count
LINK = "rate", "1600kbit", "delay", "20ms", "limit", "1000"
# In theory 1.25 * 200 KB/s * 0.06 s, some segments, 16 KiB of offered window.
UNREAD = 50000          # bytes
UNSENT = 40000          # bytes; the smallest limit, and a packet more
SIDES = {"sub": ("wireless", "server"), "srv": ("server", "wireless")}
DEVICES = {"sub": "wl0", "srv": "sv0"}


def setup():
    """Allow large buffers."""
    pep.attached()
    sysctl("pep", "net.ipv4.tcp_rmem=4096 131072 6000000")
    single_packets("sub", "eth0")
    single_packets("pep", "wl0", "sv0")
    single_packets("srv", "eth0")


def waiting(out, into):
    """Bytes in the gateway on their way from one leg to another: unread ones
    and unsent ones."""
    flow, = pep.flows()
    return flow["legs"][into]["unread"], flow["legs"][out]["unsent"]


def transfer(family, receiver):
    """Payload over the slow link; return the maximum of unread and unsent
    bytes after the start of the transfer, and the samples of residence."""
    out, into = SIDES[receiver]
    near, far = pair(family)
    sender, sink = (far, near) if receiver == "sub" else (near, far)
    ends = End(sender, BYTES, fin=False, wanted=0), End(sink, 0, fin=False,
                                                        wanted=BYTES)
    most, next_look = (0, 0), 0.0

    def look():
        nonlocal most, next_look
        if ends[1].received > SETTLED and time.monotonic() > next_look:
            most = tuple(map(max, most, waiting(out, into)))
            next_look = time.monotonic() + 0.1
        return False

    netem("pep", DEVICES[receiver], *LINK)
    try:
        pump(ends, 60, look)
        expect_same(*ends)
        flow, = pep.flows()
    finally:
        netem("pep", DEVICES[receiver], "off")
    near.close()
    far.close()
    return most, flow["legs"][out]["residence"]


@families("behind its startup a leg takes payload in pieces, not by segments",
          "20ms")
@families("a leg of a short round trip takes payload in pieces", "1ms")
def pieces(family, delay):
    """Each relayed piece is pushed, and a terminal acknowledges what is
    pushed."""
    with impaired(WIRELESS[:1], "rate", "10mbit", "delay", delay, "limit",
                  "1000"):
        near, far = pair(family)
        one_way(far, near, BYTES)
        before = pep.stat("relay_send")
        one_way(far, near, PIECES)
        runs = pep.stat("relay_send") - before
    near.close()
    far.close()
    note(f"{runs} pieces of {PIECES} bytes")
    expect_most("pieces", runs, PIECES // 1448 // 3)


def bound(family, receiver):
    """With the default profile; then without a limit."""
    with grows(flow_closed=1, flow_reset=0):
        most, found = transfer(family, receiver)
    pep.pepadm("profile", "set", "default", "residence", "0")
    try:
        with grows(flow_closed=1, flow_reset=0):
            free, told = transfer(family, receiver)
    finally:
        pep.pepadm("profile", "set", "default", "residence", "50")
    note("bytes at most", *most, *free, "p99 us", found["p99_us"],
         told["p99_us"])
    for what, limit, bytes_ in zip(("unread", "unsent"), (UNREAD, UNSENT),
                                   most):
        expect_most(f"bytes that are {what}", bytes_, limit)
    expect_least("bytes that wait without a bound", sum(free), 2 * UNREAD)
    for samples, least in (found, 10), (told, 1):
        expect_least("samples", samples["samples"], least)
    # Within the five seconds the last bytes wait for most of one at least.
    expect_least("us told of without a bound", told["p99_us"], 1 << 18)
    expect_least("us more than with it", told["p99_us"] - found["p99_us"], 0)


@families("an end that reads nothing", "sub")
@families("a server that reads nothing", "srv")
def deaf(family, receiver):
    """The payload that the other end may send is limited as well, and all of
    it arrives when it is read."""
    out, into = SIDES[receiver]
    near, far = pair(family)
    sender, sink = (far, near) if receiver == "sub" else (near, far)
    netem("pep", DEVICES[receiver], *LINK)
    try:
        with grows(flow_closed=1, flow_reset=0):
            one_way(sender, sink, SETTLED)
            ends = (End(sender, BYTES * 10, fin=False, wanted=0),
                    End(sink, 0, fin=False))
            fill(ends[:1])
            expect_least("bytes that may be unread", UNREAD,
                         waiting(out, into)[0])
            ends[0].size = ends[1].wanted = ends[0].sent
            pump(ends)
            expect_same(*ends)
            near.close()
            far.close()
    finally:
        netem("pep", DEVICES[receiver], "off")


JUMBO = 9000


@families("segments larger than the window, and no window scaling")
def jumbo(family):
    """The window always has room for some of them."""
    for ns, dev in ("sub", "eth0"), ("pep", "wl0"), ("pep", "sv0"), \
            ("srv", "eth0"):
        ip(ns, f"link set {dev} mtu {JUMBO}")
    sysctl("srv", "net.ipv4.tcp_window_scaling=0")
    try:
        with grows(flow_closed=1, flow_reset=0):
            transfer(family, "sub")
    finally:
        sysctl("srv", "net.ipv4.tcp_window_scaling=1")
        for ns, dev in ("sub", "eth0"), ("pep", "wl0"), ("pep", "sv0"), \
                ("srv", "eth0"):
            ip(ns, f"link set {dev} mtu 1500")


FAR = "delay", "60ms", "limit", "10000"
WAYS = ("sub", "eth0"), ("pep", "wl0"), ("srv", "eth0"), ("pep", "sv0")
MORE = 4000000          # bytes
WINDOW = 150000         # bytes; without this 64 KiB are offered to the end


@families("a sender without timestamps whose way becomes longer")
def longer(family):
    """So does that of the other leg, which sends no more than it receives:
    nothing shows the length of the sender's path, and nothing is queued in
    the gateway. The window grows with it. That of the receiver is large from
    the first: its own growth, without timestamps, may end at 64 KiB."""
    sysctl("sub", "net.ipv4.tcp_timestamps=0")
    try:
        with grows(flow_closed=1, flow_reset=0), \
                sysctls("srv", "net.ipv4.tcp_rmem=4096 6000000 6000000"):
            near, far = pair(family)
            for ns, dev in WAYS:
                netem(ns, dev, *FAR)
            one_way(near, far, MORE)
            window = send_window(near)
            near.close()
            far.close()
    finally:
        sysctl("sub", "net.ipv4.tcp_timestamps=1")
        for ns, dev in WAYS:
            netem_end(ns, dev)
    note("window", window)
    expect_least("bytes on offer", window, WINDOW)


families("on the way to the subscriber", "sub")(bound)
families("on the way to the server", "srv")(bound)
