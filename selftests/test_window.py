# SPDX-License-Identifier: GPL-2.0
"""Back-pressure gets through: an end that does not read stops the other, both
at once if neither reads, and queued payload stays in place until they do.
Urgent data stays in its place in the stream. Keepalives of the ends preserve
idle connections."""

import itertools
import socket
import time

from peptest import pep
from peptest.env import EXACT, amount
from peptest.ktap import case, expect, expect_least, families, fail, note
from peptest.netns import SERVER, WIRELESS, impaired, netem, sysctl
from peptest.pep import grows
from peptest.raw import Wire
from peptest.tcp import (End, exchange, exchange_part, expect_same, fill,
                         one_way, pair, pump, send_window, start)

TRAITS = {"waits", "simulated"}

MUCH = 1 << 30          # more than ever fits
MOST = 24 << 20         # bytes that may be queued in one direction
LONG = 5                # seconds, more than the timeout of keepalives
AGES = 130              # seconds, with many failed window probes
LINK = "rate", "20mbit", "delay", "30ms", "limit", "1000"
ANSWER = 40000          # bytes
ANSWERS = 12
FAR = "40ms"            # one way
DOWNLOAD = 3_000_000    # bytes
SLOW = 4                # answers after which windows are open


def finish(ends):
    """Let both ends read and send no more; fail unless everything arrives."""
    for end in ends:
        end.size = end.sent
    pump(ends)
    for one, other in zip(ends, reversed(ends)):
        expect_same(one, other)
        one.sock.close()


def closed(family, opener, opened):
    """Neither reads until both have sent all that fits; when they read later,
    all payload arrives."""
    with grows(flow_established=1, flow_closed=1, flow_reset=0):
        ends = [End(sock, MUCH) for sock in pair(family, opener, opened)]
        fill(ends)
        for end in ends:
            note("fits:", end.sent)
            expect_least("bytes that fit", end.sent, 100000)
            if end.sent > MOST:
                fail(f"{end.sent} bytes went into a connection that nobody "
                     "reads")
        sent = [end.sent for end in ends]
        time.sleep(LONG / 2)
        for end in ends:
            end.deaf = True
            end.step(0)
            end.deaf = False
        expect("bytes sent meanwhile", [end.sent for end in ends], sent)
        finish(ends)


families("neither end reads for a while", "sub", "srv")(closed)
families("neither end reads for a while, the server opens",
         "srv", "sub")(closed)


@case("neither end reads for two minutes", seconds=AGES + 200)
def ages():
    """On several connections, which all wait at the same time."""
    with grows(flow_established=4, flow_closed=4, flow_reset=0):
        waiting = [[End(sock, MUCH) for sock in pair(family, *ends)]
                   for family in (4, 6)
                   for ends in (("sub", "srv"), ("srv", "sub"))]
        fill([end for both in waiting for end in both])
        time.sleep(AGES)
        expect("flows", pep.stat("flows"), 4)
        for both in waiting:
            finish(both)


def renewed(family):
    """Payload that had to wait for the link leaves it after the last
    acknowledgment to the server; the request that follows carries the window
    of then."""
    offers = []
    with impaired(WIRELESS, *LINK, single=True), \
            impaired(SERVER, "delay", "10ms", single=True):
        sub, srv = pair(family)
        for _ in range(ANSWERS):
            one_way(sub, srv, 100)
            offers.append(send_window(srv))
            one_way(srv, sub, ANSWER)
        sub.close()
        srv.close()
        pep.flows_end()
    note("on offer:", *offers)
    expect_least("bytes on offer to an answer", min(offers[SLOW:]), ANSWER)


# The window depends on rates, which only such a clock repeats.
if EXACT:
    families("a request carries the room for an answer as the last one")(
        renewed)


@families("a window that opens is sent at once to a far server")
def told(family):
    """The acknowledgment of a payload goes before the relay has taken it; the
    window that this opens follows by itself."""
    wire = Wire("srv", peer=("pep", "sv0"))
    with impaired(WIRELESS, *LINK, single=True), \
            impaired(SERVER, "delay", FAR, single=True):
        near, far = pep.split_pair(family)
        one_way(far, near, DOWNLOAD)
        seen = wire.segments(outgoing=False)
        near.close()
        far.close()
        pep.flows_end()
    opened = sum(a.ack == b.ack and b.window > a.window and not b.data
                 for a, b in itertools.pairwise(seen))
    note(f"{opened} of {len(seen)} packets only open the window")
    expect_least("packets that open the window", opened, 10)


@families("12 connections that nobody reads")
def many(family):
    with grows(flow_established=12, flow_closed=12, flow_reset=0):
        ends = [[End(sock, amount(2000000)) for sock in both]
                for both in start(family, 12)]
        flat = [end for both in ends for end in both]
        fill(flat)
        pump(flat)
        for one, other in ends:
            expect_same(one, other)
            expect_same(other, one)


def updates(family, sender, receiver):
    """The receiver reads some at a time, and each time the sender may go on,
    until everything that did not fit at first has arrived."""
    ends = pair(family)
    names = "sub", "srv"
    a = End(ends[names.index(sender)], MUCH)
    b = End(ends[names.index(receiver)], 0, fin=False)
    fill([a, b])
    wanted = a.sent + amount(5000000)
    while b.received < wanted:
        got = b.received
        pump([a, b], until=lambda: b.received > got + amount(2000000))
        fill([a])
    a.size = a.sent
    pump([a, b], until=lambda: b.eof)
    expect_same(a, b)


families("window updates reach the server", "srv", "sub")(updates)
families("window updates reach the subscriber", "sub", "srv")(updates)


def unbound(family, sender, receiver):
    """With full buffers, each time the receiver reads some, the sender can
    send some; no step of the receiver is lost."""
    pep.pepadm("profile", "set", "default", "residence", "0")
    try:
        ends = pair(family)
    finally:
        pep.pepadm("profile", "set", "default", "residence", "50")
    names = "sub", "srv"
    a = End(ends[names.index(sender)], MUCH)
    b = End(ends[names.index(receiver)], 0, fin=False)
    fill([a, b])
    for _ in range(5):
        sent, got = a.sent, b.received
        pump([a, b], until=lambda: b.received > got + amount(2000000))
        fill([a])
        expect_least("bytes sent since", a.sent - sent, amount(1000000))
    a.size = a.sent
    pump([a, b], until=lambda: b.eof)
    expect_same(a, b)


families("each step reaches the server", "srv", "sub")(unbound)
families("each step reaches the subscriber", "sub", "srv")(unbound)


@families("nobody reads, then both close")
def close_full(family):
    """Each closes with the other's payload unread: a reset, not an endless
    wait."""
    with grows(flow_established=1):
        ends = [End(sock, MUCH) for sock in pair(family)]
        fill(ends)
        for end in ends:
            end.sock.close()


@families("nobody reads, then one ends its direction")
def shutdown_full(family):
    """The FIN is queued behind the payload and arrives after it."""
    for first in 0, 1:
        with grows(flow_established=1, flow_closed=1, flow_reset=0):
            ends = [End(sock, MUCH) for sock in pair(family)]
            fill(ends)
            ends[first].size = ends[first].sent
            ends[first].step(0)
            expect("its end is sent", ends[first].shut, True)
            time.sleep(0.5)
            finish(ends)


def urgent(family, opener, opened, inline):
    """Urgent bytes among others, in bursts and alone. After pep they are
    ordinary bytes in their place, even for an end that would otherwise have
    to read them out of band."""
    netem("pep", "wl0", "delay", "1ms")
    with grows(flow_established=1, flow_closed=1):
        near, far = pair(family, opener, opened)
        if inline:
            far.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        data = bytes(i * 7 % 251 for i in range(40000))
        got = bytearray()
        near.settimeout(20)
        for at in range(0, len(data), 400):
            near.sendall(data[at:at + 399])
            near.send(data[at + 399:at + 400], socket.MSG_OOB)
            if at % 1600 == 0:
                while len(got) < at + 400:
                    got += far.recv(65536)
        near.shutdown(socket.SHUT_WR)
        while len(got) < len(data):
            piece = far.recv(65536)
            if not piece:
                break
            got += piece
        expect("bytes received", len(got), len(data))
        expect("the payload is the same", bytes(got) == data, True)
        one_way(far, near, 10000, fin=True)
        near.close()
        far.close()
    netem("pep", "wl0", "off")


families("urgent data stays in line", "sub", "srv", True)(urgent)
families("urgent data stays in line, the server opens",
         "srv", "sub", True)(urgent)
families("urgent data to an end that wants it out of band",
         "sub", "srv", False)(urgent)


def keepalive(sock):
    """Enable keepalive: one probe a second, three without an answer."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, number in ((socket.TCP_KEEPIDLE, 1),
                           (socket.TCP_KEEPINTVL, 1),
                           (socket.TCP_KEEPCNT, 3)):
        sock.setsockopt(socket.IPPROTO_TCP, option, number)


@families("keepalives of the ends and of the legs on idle connections")
def idle(family):
    """For longer than any of them would wait for an answer."""
    sysctl("pep", "net.ipv4.tcp_keepalive_time=1",
           "net.ipv4.tcp_keepalive_intvl=1", "net.ipv4.tcp_keepalive_probes=2")
    with grows(flow_established=6, flow_closed=6, flow_reset=0):
        pairs = start(family, 3) + start(family, 3, "srv", "sub")
        for number, both in enumerate(pairs):
            exchange_part(both, 2000)
            if number % 3:
                keepalive(both[number % 3 - 1])
        time.sleep(LONG)
        expect("flows", pep.stat("flows"), 6)
        for both in pairs:
            exchange(both, 2000)
