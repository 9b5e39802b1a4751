# SPDX-License-Identifier: GPL-2.0
"""Ports that are reused repeatedly, or for many connections at once;
simultaneous opens; SYNs that are duplicated or reordered."""

import errno
import os
import select
import socket
import struct
import time

from peptest import pep
from peptest.env import SLOW, WITHOUT
from peptest.ktap import expect, fail, families, note, wait_for
from peptest.netns import (Within, addr, ip, netem, netem_end, nstat,
                           offloads, run, sysctls)
from peptest.pep import grows, least
from peptest.tcp import (NO_TIME_WAIT, PORT, accept, client, close_all,
                         exchange, exchange_all, exchange_part, listen, pair,
                         reset)

TRAITS = {"waits", "simulated"}

ROUNDS = 500 if SLOW else 2000
SERVERS = 100
EACH = 20 if SLOW else 40
ETH_P_ALL = 3
PACKET_OUTGOING = 4


def setup():
    """One subscriber opens thousands of connections a second."""
    pep.warmed()
    if not WITHOUT:
        pep.pepadm("limit", "set", "subscriber-rate", "1000000")


def transact(near, far, number):
    """A few bytes each way that differ from those of other connections; then
    both ends close, alternately the one or the other first."""
    word = struct.pack("!Q", number) * 4
    near.sendall(word)
    expect("the request", far.recv(100), word)
    far.sendall(word[::-1])
    expect("the answer", near.recv(100), word[::-1])
    first, last = (near, far) if number & 1 else (far, near)
    first.close()
    expect("the end of the stream", last.recv(100), b"")
    last.close()


@families(f"{ROUNDS} times the same ports", seconds=300)
def back_to_back(family):
    """From one address and port to one address and port, the next as soon as
    both ends have closed. The opener's own TIME_WAIT, which would prevent
    that, is not tested: it has none. One CPU does everything: with two, the
    opener's last ACK and its next SYN could overtake each other."""
    bind = addr("sub", family), 34580
    passive = nstat("srv", "TcpPassiveOpens")
    begun = time.monotonic()
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    try:
        with sysctls("sub", *NO_TIME_WAIT), grows(
                split_handshake=ROUNDS, flow_established=ROUNDS,
                flow_closed=ROUNDS, time_wait_reused=least(ROUNDS // 4)):
            for number in range(ROUNDS):
                transact(*pep.split_pair(family, bind=bind), number)
    finally:
        os.sched_setaffinity(0, cpus)
    expect("connections of the server",
           nstat("srv", "TcpPassiveOpens") - passive, ROUNDS)
    note(f"{ROUNDS / (time.monotonic() - begun):.0f} connections a second")


def addresses(family, count):
    """Additional addresses of the server."""
    form = "198.18.1.%d" if family == 4 else "2001:db8:1::1:%d"
    return [form % (10 + i) for i in range(count)]


@families(f"one port to {SERVERS} servers at once")
def many_servers(family):
    servers = addresses(family, SERVERS)
    ip("srv", *(f"address add {server}/{32 if family == 4 else 128} dev eth0 "
                + ("" if family == 4 else "nodad") for server in servers))
    bind = addr("sub", family), 34581
    listener = listen("srv", family)
    with grows(split_handshake=SERVERS, flow_established=SERVERS,
               flow_closed=SERVERS):
        near = []
        for server in servers:
            sock = client("sub", family, bind=bind)
            sock.connect((server, 5000))
            near.append(sock)
        far = {}
        for _ in servers:
            sock = accept(listener)
            far[sock.getsockname()[0]] = sock
        pep.wait_flows(SERVERS)
        exchange_all([(sock, far[server])
                      for sock, server in zip(near, servers)], 3000)


def crossing(family, first, second, gap):
    """Both ends connect to each other; the second does so in the middle of the
    first one's handshake."""
    names = {"sub": (addr("sub", family), 34582),
             "srv": (addr("srv", family), 34583)}
    one = client(first, family, bind=names[first])
    two = client(second, family, bind=names[second])
    for sock, to in (one, names[second]), (two, names[first]):
        sock.setblocking(False)
        err = sock.connect_ex(to)
        expect("the call", errno.errorcode[err], "EINPROGRESS")
        time.sleep(gap)
    for sock in one, two:
        if not select.select([], [sock], [], 20)[1]:
            fail("no connection within 20 s")
        err = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        expect("the error", errno.errorcode.get(err, 0), 0)
        sock.settimeout(60)
    return one, two


def kept_alive():
    """Do both legs have a keepalive timer?"""
    shown = run("ss", "-tnoH", "state", "established", ns="pep").stdout
    return [("keepalive" in line) for line in shown.splitlines()] == [True] * 2


def simultaneous(family, first, second):
    """Both ends establish one connection, regardless of the link on which the
    SYNs cross."""
    exchange(pair(family), 100)
    pep.flows_end()
    opens = [nstat(ns, "TcpPassiveOpens") for ns in ("sub", "srv")]
    netem("sub", "eth0", "delay", "60ms")
    netem("srv", "eth0", "delay", "60ms")
    try:
        for gap in 0, 0, 0, 0, 0.03, 0.09:
            with grows(flow_established=1, flow_closed=1, flow_reset=0):
                both = crossing(family, first, second, gap)
                wait_for("keepalive timers of both legs", kept_alive)
                exchange(both, 20000)
            close_all()
    finally:
        netem("sub", "eth0", "off")
        netem("srv", "eth0", "off")
    expect("connections through listeners",
           [nstat(ns, "TcpPassiveOpens") for ns in ("sub", "srv")], opens)


families("both ends open at once, the subscriber a little earlier",
         "sub", "srv")(simultaneous)
families("both ends open at once, the server a little earlier",
         "srv", "sub")(simultaneous)


def doubled(family, opener, opened):
    """All packets are duplicated, with delays of their own: a second SYN
    arrives before the answer, during the connection, and after its end. A late
    one does not open a split connection."""
    exchange(pair(family, opener, opened), 100)
    pep.flows_end()
    for ns in "sub", "srv":
        netem(ns, "eth0", "delay 30ms 30ms duplicate 100% limit 10000")
    try:
        with grows(flow_established=EACH, flow_reset=0, flow_killed=0,
                   ended=False):
            for _ in range(4):
                exchange_all([pair(family, opener, opened)
                              for _ in range(EACH // 4)], 3000)
    finally:
        for ns in "sub", "srv":
            netem(ns, "eth0", "off")
    pep.flows_end()


families(f"{EACH} flows with every packet twice and out of order",
         "sub", "srv")(doubled)
families(f"{EACH} flows with every packet twice and out of order, the server "
         "opens", "srv", "sub")(doubled)


class Recorder:
    """Records the frames that a namespace sends on a device, to repeat
    them."""

    def __init__(self, ns, dev):
        with Within(ns):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                      socket.htons(ETH_P_ALL))
        self.sock.bind((dev, ETH_P_ALL))
        self.sock.settimeout(20)

    def syn(self):
        """The next frame with only SYN set in its TCP flags."""
        while True:
            frame, where = self.sock.recvfrom(2048)
            at = 14 + (20 if frame[12:14] == b"\x08\x00" else 40)
            if where[2] == PACKET_OUTGOING and frame[at + 13] & 0x3f == 2:
                return frame


def stale(family, opener, opened):
    """A copy of the SYN during the connection changes nothing. One after its
    end looks like a new connection to pep; the opener resets it, and pep
    forwards the reset."""
    offloads(opener, "eth0", "tx", "off")
    recorder = Recorder(opener, "eth0")
    with grows(flow_established=1, flow_closed=1):
        both = pep.split_pair(family, opener, opened)
        frame = recorder.syn()
        exchange_part(both, 20000)
        recorder.sock.send(frame)
        exchange_part(both, 20000)
        recorder.sock.send(frame)
        exchange(both, 20000)
    resets = nstat(opener, "TcpOutRsts")
    with grows(flow_established=0, follow_new=1, follow_reset=1):
        recorder.sock.send(frame)
        wait_for("the opener's reset",
                 lambda: nstat(opener, "TcpOutRsts") > resets)
    wait_for("the end of the target's half", lambda: not run(
        "ss", "-tnH", "state", "syn-recv", ns=opened).stdout)
    recorder.sock.close()


families("a SYN that comes again, amidst its connection and after it",
         "sub", "srv")(stale)
families("a SYN that comes again, amidst its connection and after it, the "
         "server opens", "srv", "sub")(stale)


def dead(family, first_reset):
    """The subscriber drops a connection whose server has died with payload in
    flight, and opens another one with the same ports: the SYN passes within
    seconds, not when the leg has given the server up."""
    bind = addr("sub", family), 3999
    near, far = pep.split_pair(family, bind=bind)
    exchange_part((near, far), 1000)
    netem("pep", "sv0", "loss", "100%")
    near.sendall(bytes(1000))
    with grows(flow_killed=1, follow_new=1, ended=False):
        if first_reset == "lost":
            netem("sub", "eth0", "loss", "100%")
        reset(near)
        netem_end("sub", "eth0")
        again = client("sub", family, bind=bind)
        again.setblocking(False)
        again.connect_ex((addr("srv", family), PORT))
        new = pep.stat("follow_new")
        wait_for("its SYN to pass", lambda: pep.stat("follow_new") > new, 10)
        netem_end("pep", "sv0")
        again.setblocking(True)
    far.close()
    again.settimeout(20)
    listener = listen("srv", family)
    wait_for("the connection", lambda: not again.getsockopt(
        socket.SOL_SOCKET, socket.SO_ERROR) and connected(again), 60)
    exchange((again, accept(listener)), 20000)


def connected(sock):
    """Is a socket connected?"""
    try:
        return bool(sock.getpeername())
    except OSError:
        return False


families("the ports of a connection whose server has died, after a reset",
         "arrives")(dead)
families("the ports of a connection whose server has died, after a reset that "
         "is lost", "lost")(dead)
