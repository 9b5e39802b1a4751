# SPDX-License-Identifier: GPL-2.0
"""An end that vanishes: the other end receives a reset, never a clean end, and
the flow is gone within the time that its profile allows.

The profile: a probe after 1 s of silence, then every second, the second
unanswered one ends a leg; payload may wait 2.5 s for its acknowledgement. All
times are 3 times as long on the debug kernel.
"""

import contextlib
import errno
import socket
import time

from peptest import env, pep
from peptest.absent import Absent
from peptest.ktap import case, expect, expect_least, fail, families, wait_for
from peptest.netns import (ip, netem, netem_end, spaces_down, sysctl,
                           topology_up)
from peptest.pep import grows, least, pepadm, split_pair
from peptest.raw import RST, icmp
from peptest.tcp import (exchange, exchange_part, expect_eof, one_way,
                         outcome)

TRAITS = {"waits", "simulated"}

UNIT = 3 if env.SLOW else 1
SHORT = ("keepalive-idle", str(UNIT), "keepalive-interval", str(UNIT),
         "keepalive-count", "2", "user-timeout", str(2500 * UNIT))
SECONDS = 20 * UNIT
LEGS = {"sub": "wl0", "srv": "sv0"}
REFUSED = {4: (3, 3), 6: (1, 4)}    # port unreachable


def setup():
    """Attached, with the profile, and with small buffers."""
    pep.attached()
    for ns in "sub", "pep", "srv":
        sysctl(ns, "net.ipv4.tcp_rmem=4096 32768 65536",
               "net.ipv4.tcp_wmem=4096 32768 65536")
    pepadm("profile", "set", "default", *SHORT)


@contextlib.contextmanager
def gone(ns):
    """Within, no packet reaches or leaves a namespace."""
    netem("pep", LEGS[ns], "loss", "100%")
    netem(ns, "eth0", "loss", "100%")
    try:
        yield
    finally:
        netem("pep", LEGS[ns], "off")
        netem(ns, "eth0", "off")


def told(what, sock):
    """Fail unless an end gets an error when the other vanishes; it may have
    received an end of the stream before. With a closed window it ignores a
    reset, but triggers one when it is read."""
    if what == "queue_from":
        expect(what, outcome(sock, SECONDS), "ECONNRESET")
        return
    got = wait_for(f"an error of the end that is left: {what}",
                   lambda: sock.getsockopt(socket.SOL_SOCKET,
                                           socket.SO_ERROR), SECONDS)
    if got not in (errno.ECONNRESET, errno.ETIMEDOUT, errno.EPIPE):
        fail(f"{what}: the end that is left sees {errno.errorcode[got]}")


def queue_to(near, far):
    """Payload will be in flight to the end that vanishes."""
    return lambda: far.send(bytes(30000))


def queue_fin(near, far):
    """The same, followed by a FIN: it was acknowledged, and is lost."""
    def send():
        far.send(bytes(30000))
        far.shutdown(socket.SHUT_WR)
    return send


def queue_from(near, far):
    """The other end does not read the payload of the lost one."""
    near.setblocking(False)
    quiet = time.monotonic() + 0.2
    while time.monotonic() < quiet:
        try:
            near.send(bytes(65536))
            quiet = time.monotonic() + 0.2
        except BlockingIOError:
            time.sleep(0.01)
    return lambda: None


def silent(near, far):
    """Nothing is in flight."""
    return lambda: None


def after_fin(near, far):
    """Its leg is half closed, and the other one in FIN_WAIT2, which has no
    time-out of its own."""
    near.shutdown(socket.SHUT_WR)
    expect_eof(far)
    return lambda: None


def half_closed(near, far):
    """The leg of the lost end is in FIN_WAIT2."""
    far.shutdown(socket.SHUT_WR)
    expect_eof(near)
    return lambda: None


SITUATIONS = (queue_to, queue_fin, queue_from, silent, after_fin, half_closed)


@families("the subscriber vanishes", "sub")
@families("the server vanishes", "srv")
def vanishes(family, lost):
    """In all situations at once."""
    count = len(SITUATIONS)
    with grows(flow_reset=count, flow_closed=0):
        both = [split_pair(family) for _ in SITUATIONS]
        for socks in both:
            exchange_part(socks, 1000)
        if lost == "srv":
            both = [socks[::-1] for socks in both]
        then = [prepare(*socks) for prepare, socks in zip(SITUATIONS, both)]
        with gone(lost):
            for do in then:
                do()
            for situation, (_, far) in zip(SITUATIONS, both):
                told(situation.__name__, far)
            pep.flows_end(SECONDS)
        for near, _ in both:
            near.close()


@families("both vanish after FINs")
def both_gone(family):
    """Legs in all states of closing: nothing is left. No leg misses its end
    before both are gone."""
    pepadm("profile", "set", "default", "keepalive-idle", str(5 * UNIT))
    with grows(flow_closed=0, flow_reset=least(2)):
        pairs = [split_pair(family) for _ in range(4)]
        for both in pairs:
            exchange_part(both, 1000)
        pairs[0][0].shutdown(socket.SHUT_WR)
        pairs[1][1].shutdown(socket.SHUT_WR)
        expect_eof(pairs[0][1])
        expect_eof(pairs[1][0])
        with gone("sub"), gone("srv"):
            for both in pairs[2:]:
                both[0].shutdown(socket.SHUT_WR)
                both[1].shutdown(socket.SHUT_WR)
            pairs[3][0].close()
            pep.flows_end(SECONDS)
        for both in pairs:
            for sock in both:
                sock.close()
    pepadm("profile", "set", "default", *SHORT)


@families("an end's link goes down", "sub")
@families("the server's link goes down", "srv")
def link_down(family, lost):
    """Seen as a loss of carrier at the gateway."""
    with grows(flow_reset=1, flow_closed=0):
        both = split_pair(family)
        exchange_part(both, 1000)
        near, far = both if lost == "sub" else both[::-1]
        ip(lost, "link set eth0 down")
        try:
            far.send(bytes(10000))
            told("link down", far)
            pep.flows_end(SECONDS)
        finally:
            link_up(lost)
        near.close()


def link_up(ns):
    """Restore IPv6 addresses and routes, which were lost with the link. Ends
    of earlier cases send all the time: the gateway may have solicited in vain
    for long, and a packet queued meanwhile would fail with the others."""
    net = 0 if ns == "sub" else 1
    prefix = "2001:db8::" if ns == "sub" else "2001:db8:1::"
    ip(ns, "link set eth0 up", f"address replace {prefix}2/64 dev eth0 nodad",
       f"route replace default via 198.18.{net}.1",
       f"route replace default via {prefix}1")
    ip("pep", f"neigh flush dev {LEGS[ns]}")


@case("the links of a namespace are gone at once")
def killed():
    """They might come back: the flows end as those whose ends vanish."""
    topology_up("B")
    pepadm("profile", "set", "default", "split", "handshake", *SHORT,
           ns="pepB")
    pep.attach("pepB")
    with grows("pepB", flow_reset=2, flow_killed=0):
        both = [split_pair(family, "subB", "srvB", ns="pepB")
                for family in (4, 6)]
        for socks in both:
            exchange_part(socks, 1000)
        for _, far in both:
            far.send(bytes(30000))
        ip("subB", "link del eth0")
        for _, far in both:
            told("gone", far)
        for near, _ in both:
            near.close()
    spaces_down("subB", "pepB", "srvB")


@families("an end that does not read for too long is reset")
def unread(family):
    """It need not read to notice."""
    with grows(flow_reset=1, flow_closed=0):
        near, far = split_pair(family)
        exchange_part((near, far), 1000)
        queue_from(near, far)
        for sock in far, near:
            told("unread", sock)


def refuse(family):
    """The subscriber's host refuses, when it has been split."""
    hosts = Absent(family)
    hosts.open()
    with grows(flow_reset=1, icmp_delivered=1):
        for at in 10, 1010:
            hosts.down(seq=at, ack=1000, payload=bytes(1000))
        pep.wait_flows(1)
        seen = hosts.near.find(lambda seen: seen.data, outgoing=False)
        hosts.near.send(icmp(*hosts.ends, *REFUSED[family], 0, seen.packet))
        hosts.near.find(lambda seen: seen.flags & RST, outgoing=False,
                        seconds=SECONDS)


@families("an end that has refused by ICMP is reset")
def refused(family):
    """TCP remembers the error until it loses patience, and reports it then as
    if the end had reset."""
    pepadm("profile", "set", "default", "split", "2000")
    try:
        refuse(family)
    finally:
        pepadm("profile", "set", "default", "split", "handshake")


@families("both live: probes are answered and harm nothing")
def alive(family):
    """For longer than a dead end would last."""
    with grows(flow_closed=1, flow_reset=0):
        both = split_pair(family)
        exchange_part(both, 1000)
        time.sleep(4 * UNIT)
        exchange(both, 1000)


@case("set no user-timeout")
def set_no_user():
    """It would end a closed window, too, as on any socket."""
    pepadm("profile", "set", "default", "user-timeout", "0")


@families("a closed window is no dead end")
def zero_window(family):
    """The receiver reads nothing for longer than keepalive lasts; then all
    payload arrives."""
    with grows(flow_closed=1, flow_reset=0, relay_stall=least(1)):
        near, far = split_pair(family)
        exchange_part((near, far), 1000)
        near.setblocking(False)
        sent = 0
        quiet = time.monotonic() + 3 * UNIT
        while time.monotonic() < quiet:
            try:
                sent += near.send(bytes(65536))
            except BlockingIOError:
                time.sleep(0.02)
        far.settimeout(60)
        got = 0
        while got < sent:
            got += len(far.recv(1 << 20))
        expect("bytes", got, sent)
        exchange((near, far), 1000)


@case("set an idle-timeout of 2 seconds")
def set_idle():
    pepadm("profile", "set", "default", "keepalive-idle", "0",
           "keepalive-interval", "0", "keepalive-count", "0",
           "user-timeout", "0", "idle-timeout", "2")


@families("idle for longer than allowed")
def idle_timeout(family):
    """Both ends are reset, and not before the time."""
    with grows(flow_idle=1, flow_closed=0, flow_reset=0):
        both = split_pair(family)
        exchange_part(both, 1000)
        begun = time.monotonic()
        for sock in both:
            expect("the end", outcome(sock, SECONDS), "ECONNRESET")
        expect_least("seconds", time.monotonic() - begun, 1.4)


@families("idle in FIN_WAIT2")
def idle_half_closed(family):
    with grows(flow_idle=1, flow_closed=0):
        both = split_pair(family)
        exchange_part(both, 1000)
        both[0].shutdown(socket.SHUT_WR)
        expect_eof(both[1])
        told("half closed", both[1])


@families("not idle: a byte now and then, one way")
def not_idle(family):
    with grows(flow_idle=0, flow_closed=1):
        both = split_pair(family)
        for _ in range(4):
            one_way(*both, 1)
            time.sleep(1)
        exchange(both, 1000)


@families("slow: what is queued counts as it is acknowledged")
def slow(family):
    """The sender has finished long before; the link takes 5 seconds for the
    payload. It sends a segment at a time: a packet of 64 KB alone would take
    longer than the limit."""
    ip("pep", "link set sv0 gso_max_segs 1")
    try:
        with grows(flow_idle=0, flow_closed=1):
            near, far = split_pair(family)
            one_way(near, far, 1000)
            netem("pep", "sv0", "rate", "200kbit")
            near.settimeout(60)
            near.sendall(bytes(100000))
            near.shutdown(socket.SHUT_WR)
            far.settimeout(60)
            got = 0
            while got < 100000:
                got += len(far.recv(1 << 20))
            # Not before the FIN has arrived, which may still be queued.
            expect_eof(far)
            netem("pep", "sv0", "off")
            far.close()
            expect_eof(near)
            near.close()
    finally:
        netem_end("pep", "sv0")
        ip("pep", "link set sv0 gso_max_segs 65535")


@case("settings that were replaced keep no sockets", seconds=250)
def replaced():
    """Flows keep their old settings, but the ready sockets of these go once no
    handshake can be in progress any more: 64 seconds later. Sockets created in
    advance then have the present settings."""
    pepadm("profile", "set", "default", "idle-timeout", "0")
    flows = [split_pair(4)]
    pep.quiet()
    one = pep.stat("pool_sockets")
    for mark in 1, 2, 3, 0:
        pepadm("profile", "set", "default", "mark", str(mark))
        flows.append(split_pair(4))
    pep.quiet()
    most = pep.stat("pool_sockets")
    expect_least("sockets", most, one + 1)
    wait_for("the sockets of old settings to go",
             lambda: pep.stat("pool_sockets") < (one + most) // 2, 150)
    for both in flows:
        exchange(both, 1000)
