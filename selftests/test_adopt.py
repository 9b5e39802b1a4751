# SPDX-License-Identifier: GPL-2.0
"""Forwarded connections are taken over in mid-stream, by each trigger, and the
ends notice only a change of round trip: all bytes arrive, both ways at once,
and both ends close normally."""

import contextlib
import os
import re
import socket
import time

from peptest import pep
from peptest.env import amount
from peptest.ktap import (case, expect, expect_least, expect_most, families,
                          wait_for)
from peptest.netns import (SERVER, WIRELESS, addr, contiguous, impaired, ip,
                           netem_drops, run, sysctls)
from peptest.pep import grows, least
from peptest.tcp import (exchange, exchange_all, exchange_part, expect_stream,
                         next_offset, one_way, pair, pieces, start)

TRAITS = {"simulated", "longest"}

BYTES = amount(4000000)
COUNTERS = {"handshake": "split_handshake", "1": "split_bytes",
            "12000": "split_bytes", "100000": "split_bytes"}
LINGER = 80             # seconds after which old settings split no more
LOSSY = "delay 5ms loss random 1% limit 5000".split()
REORDERED = "delay 5ms 2ms reorder 20% 50% duplicate 1% limit 5000".split()
WAYS = ("sub", "srv"), ("srv", "sub")


def setup():
    """Attached, with connections that are followed."""
    pep.load()
    pep.topology_up()
    pep.follow("handshake")
    pep.attach()


@contextlib.contextmanager
def taken(counter, count=1, closed=True):
    """Fail unless count connections are taken over within and none is
    reset."""
    wanted = {"follow_new": count, "follow_established": count,
              counter: count, "flow_established": count, "flow_reset": 0,
              "follow_reset": 0}
    if closed:
        wanted["flow_closed"] = count
    with grows(**wanted):
        yield


def whole(family, opener, opened, split):
    pep.follow(split)
    with taken(COUNTERS[split]):
        exchange(pair(family, opener, opened), BYTES)


for _split in COUNTERS:
    for _opener, _opened in WAYS:
        families(f"split {_split}, both ways at once, {_opener} opens",
                 _opener, _opened, _split)(whole)


def one_sided(family, sender, split):
    """All payload goes one way, and then a few bytes return."""
    pep.follow(split)
    with taken(COUNTERS[split]):
        near, far = pair(family)
        a, b = (near, far) if sender == "sub" else (far, near)
        one_way(a, b, BYTES, fin=True)
        one_way(b, a, 100, fin=True)
        near.close()
        far.close()


for _split in "1", "12000":
    families(f"split {_split}, a download", "srv", _split)(one_sided)
    families(f"split {_split}, an upload", "sub", _split)(one_sided)


@families("many at once")
def many(family):
    """On one CPU, whose pool has sockets for all of them."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    try:
        pep.follow("12000")
        with taken("split_bytes", 20):
            exchange_all(start(family, 20), 100000)
    finally:
        os.sched_setaffinity(0, cpus)


@families("connections that stay below the bytes are only forwarded")
def small(family):
    pep.follow("12000")
    with grows(follow_established=1, follow_closed=1, flow_established=0,
               delivered=0):
        exchange(pair(family), 11000)


@families("split never: only forwarded")
def never(family):
    pep.follow("never")
    with grows(follow_established=1, follow_closed=1, flow_established=0,
               delivered=0):
        exchange(pair(family), BYTES)


@families("the connection goes on for long afterwards")
def later(family):
    pep.follow("12000")
    ends = pair(family)
    for size in 100, 20000, 1, 300000, 1000:
        exchange_part(ends, size)
    flow, = pep.flows()
    expect("state", flow["state"], "established")
    for leg, cc in ("wireless", "pep_bbr"), ("server", "cubic"):
        expect(f"{leg} cc", flow["legs"][leg]["cc"], cc)
        expect(f"{leg} state", flow["legs"][leg]["state"], "ESTAB")
    with grows(flow_closed=1, flow_reset=0):
        exchange(ends, 1000)


def bare(family, ns, setting):
    """One of the ends lacks an option."""
    pep.follow("12000")
    with sysctls(ns, f"net.ipv4.{setting}=0"), taken("split_bytes"):
        exchange(pair(family), BYTES)


for _ns in "sub", "srv":
    for _setting in "tcp_timestamps", "tcp_sack", "tcp_window_scaling":
        families(f"without {_setting} at {_ns}", _ns, _setting)(bare)


@families("ECN")
def marked(family):
    pep.follow("12000")
    with sysctls("sub", "net.ipv4.tcp_ecn=1"), \
            sysctls("srv", "net.ipv4.tcp_ecn=1"), taken("split_bytes"):
        exchange(pair(family), BYTES)


def lost(family, *sizes):
    """Take over with lost messages in flight: the leg retransmits the kept
    copies. An end that has been silent for a second is not spoken for, so the
    subscriber asks first."""
    with taken("split_bytes"):
        near, far = pair(family)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with impaired(WIRELESS[:1], "loss", "100%"):
            one_way(near, far, 1)
            near.setblocking(True)
            far.setblocking(True)
            offset = sent = next_offset()
            for size in sizes:
                far.sendall(b"".join(pieces(sent, size)))
                sent += size
            pep.wait_flows(1)
        expect_stream(near, offset, sum(sizes))
        exchange((near, far), BYTES // 10)


def linear(family, size):
    """In packets without page fragments, as many drivers build small ones. Up
    to 192 bytes are kept in the copy itself, more of them in pages."""
    pep.follow(str(4 * size))
    with contiguous("sub", "srv"):
        lost(family, *[size] * 20)


for _size in 100, 192, 193, 1400:
    families(f"linear packets of {_size} bytes", _size)(linear)


@families("a flight of small messages")
def flight(family):
    """Each message takes as much of the leg's buffer as a large packet."""
    pep.follow("12000")
    route = "route replace default via " + addr("sv", family)
    ip("srv", route + " initcwnd 300")
    try:
        lost(family, *[100] * 200)
    finally:
        ip("srv", route)


@families("large packets under way, to a leg that probes for the path's MTU")
def probing(family):
    """TCP would send a probe, or wait with one, where the leg has a large
    window from the beginning."""
    pep.follow("12000")
    way = f"{addr('sub', family)} dev wl0"
    route = "route replace default via " + addr("sv", family)
    ip("pep", f"route add {way} initcwnd 40", family=family)
    ip("srv", route + " initcwnd 300")
    try:
        with sysctls("pep", "net.ipv4.tcp_mtu_probing=2"):
            lost(family, *[6500] * 3)
            lost(family, *[100] * 60, 9000)
    finally:
        ip("srv", route)
        ip("pep", f"route del {way}", family=family)


@families("legs whose round trip does not change: TCP's time-out falls")
def timeout(family):
    """Whatever the numbers of an end: TCP updates its estimate once for each
    window."""
    pep.follow("handshake")
    with impaired(WIRELESS, *"delay 100ms limit 5000".split()):
        ends = [pep.split_pair(family) for _ in range(8)]
        for _ in range(12):
            for both in ends:
                one_way(both[1], both[0], 5000)
        found = [float(rto) for rto, rtt in re.findall(
            r"rto:([\d.]+).* rtt:([\d.]+)/", run(
                "ss", "-HOtni", "state", "established", ns="pep").stdout)
            if float(rtt) > 150]
        expect("legs", len(found), len(ends))
        expect_most("the longest time-out, ms", max(found), 400)
        exchange_all(ends, 1000)


def rough(family, split, args, devices):
    """Take over while packets are lost or reordered; one or two connections
    may find no moment without a hole. The later the take-over begins, the more
    payload has to follow: after 100 KB, one connection of 500 KB in eight
    finds none, of 2 MB one in twenty."""
    pep.follow(split)
    with impaired(devices, *args, single=True), \
            grows(flow_reset=0, follow_established=8,
                  **{COUNTERS[split]: least(6)}):
        exchange_all(start(family, 8),
                     BYTES // (2 if split == "100000" else 8))


for _split in "handshake", "12000", "100000":
    for _what, _args in ("loss", LOSSY), ("reordering", REORDERED):
        families(f"split {_split}, {_what} on the wireless side", _split,
                 _args, WIRELESS)(rough)
        families(f"split {_split}, {_what} on the server side", _split,
                 _args, SERVER)(rough)


@families("undecided, a minute after its profile was changed: only forwarded")
def outdated(family):
    """A trigger that comes later takes over no connection with old settings,
    and a new connection has the new ones."""
    pep.follow("12000")
    with grows(split_pass_stopping=1, split_bytes=1, follow_reset=0):
        old = pair(family)
        exchange_part(old, 100)
        pep.follow("11000")
        time.sleep(LINGER)
        exchange(old, BYTES)
        exchange(pair(family), BYTES)


@families("split loss: at the first sign of it")
def loss(family):
    """Towards the subscriber alone: what the gateway lacks itself may keep it
    from taking the connection over."""
    pep.follow("loss")
    with grows(split_loss=1, flow_reset=0):
        near, far = pair(family)
        exchange_part((near, far), 1000)
        near.setblocking(True)
        far.setblocking(True)
        offset = next_offset()
        with impaired(WIRELESS[:1], "loss", "100%"):
            far.sendall(b"".join(pieces(offset, 3000)))
            wait_for("the link to lose it",
                     lambda: netem_drops(*WIRELESS[0]))
        far.sendall(b"".join(pieces(offset + 3000, 3000)))
        expect_stream(near, offset, 6000)
        with impaired(WIRELESS[:1], *LOSSY, single=True):
            exchange((near, far), BYTES)


@case("a reader that stops")
def stops():
    pep.follow("12000")
    with taken("split_bytes"):
        near, far = pair(4)
        far.setblocking(False)
        sent = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                sent += far.send(bytes(100000))
        expect_least("bytes sent", sent, 100000)
        far.setblocking(True)
        far.shutdown(1)
        got = 0
        while data := near.recv(1 << 20):
            got += len(data)
        expect("bytes received", got, sent)
        near.close()
        far.close()
