# SPDX-License-Identifier: GPL-2.0
"""Connections that were taken over are handed back to their ends in
mid-stream, and go on without a reset: by a command, and when a device is
detached."""

import contextlib
import json
import socket
import threading
import time

from peptest import pep
from peptest.env import EXACT, amount
from peptest.firewall import strict
from peptest.ktap import (Failure, expect, expect_between, expect_least,
                          fail, families, wait_for)
from peptest.netns import (SERVER, WIRELESS, addr, impaired, ip, netem_drops,
                           nstat, paws, resets, run, sysctls, tc)
from peptest.pep import grows, least, pepadm, released
from peptest.raw import Wire, segment
from peptest.tcp import (PORT, Load, exchange, exchange_part, expect_reset,
                         expect_stream, one_way, pair, reset, send_stream,
                         start)

TRAITS = {"simulated"}

FORGED = 1 << 28        # bytes beyond the window
CLOSE = 7               # TCP_CLOSE
RATE = amount(2000000)  # bytes per second
# The gateway's own packets to the subscriber are lost.
NOT_SENT = """table inet lost {
chain output {
type filter hook output priority 0
oifname "wl0" meta l4proto tcp drop
}
}
"""
# A deep queue that fills.
SLOW = "delay 10ms rate 20mbit limit 5000".split()
# Small packets to an end get lost.
DEAF = """table inet deaf {
chain input {
type filter hook input priority 0
meta length < 100 drop
}
}
"""
# A path with room for more than an end's window, and a transfer that fills it.
FAR = "delay 50ms rate 100mbit limit 20000".split()
BULK = amount(8000000)
TIMEOUTS = "TcpExtTCPTimeouts"


def setup():
    """Attached, with connections that are taken over at once."""
    pep.attached()
    pep.follow("handshake")


def split(family, count, opener="sub", opened="srv"):
    """Connections that pep has taken over."""
    ends = start(family, count, opener, opened)
    for both in ends:
        exchange_part(both, 10)
    pep.wait_flows(count)
    return ends


@families("idle connections go back at once")
def idle(family):
    before = resets()
    with grows(flow_released=5, flow_reset=0, flow_killed=0):
        ends = split(family, 5)
        pep.quiet()
        expect("released", released(), 5)
        pep.flows_end()
        for both in ends:
            exchange_part(both, 30000)
    expect("resets", resets(), before)
    for both in ends:
        exchange(both, 1000)


@families("by number, once")
def single(family):
    near, far = split(family, 1)[0]
    pep.quiet()
    flow, = pep.flows()
    expect("released", released(str(flow["id"])), 1)
    pep.flows_end()
    expect("of the same", released("all"), 0)
    exchange((near, far), 100000)


def hand_back(load, some):
    """Release all connections of a load between some payload and some more."""
    wait_for("payload", lambda: load.moved > some)
    # With payload out of order it takes a little longer.
    wait_for("all to be released", lambda: released() == 0 and
             pep.stat("flows") == 0)
    load.more(some)


def midstream(family, args=(), opener="sub", opened="srv"):
    """Transfers in both directions while they are handed back."""
    before = resets()
    ends = split(family, 12, opener, opened)
    devices = WIRELESS if args else ()
    with impaired(devices, *args, single=True):
        with grows(flow_released=12, flow_reset=0, flow_killed=0,
                   ended=False):
            load = Load(ends, RATE // 12)
            hand_back(load, RATE // 50)
        # A closed end answers the second repetition of a FIN with a reset.
        expect("resets", resets(), before)
        load.finish()
    load.expect_whole()
    expect("resets of the gateway", resets("pep"), {"pep": before["pep"]})


families("transfers both ways")(midstream)
families("transfers both ways, the server opens", (), "srv",
         "sub")(midstream)
families("transfers over a link with a delay",
         "delay 20ms limit 5000".split())(midstream)
families("transfers over a link that loses",
         "delay 10ms loss random 1% limit 5000".split())(midstream)


@families("transfers both ways that fill the link")
def download(family):
    with impaired(WIRELESS, *SLOW), grows(flow_released=1, flow_reset=0):
        near, far = split(family, 1)[0]
        load = Load([(near, far)], None, amount(4000000))
        wait_for("payload", lambda: load.ends[0].received > 300000)
        wait_for("it to be released", lambda: released() == 0 and
                 pep.stat("flows") == 0)
        load.join(60)
        load.expect_whole()


@families("detached, unloaded, loaded and attached again in mid-transfer")
def reload(family):
    before = resets()
    ends = split(family, 20)
    load = Load(ends, RATE // 20)
    for step in ((pep.detach, pep.unload),
                 (pep.load, pep.attach)):
        load.more(RATE // 50)
        for change in step:
            change()
    load.more(RATE // 50)
    load.finish()
    load.expect_whole()
    expect("resets", resets(), before)
    pep.follow("handshake")


@families("devices that come back split again what went on without them")
def back(family):
    before = resets()
    ends = split(family, 4)
    with grows(flow_released=4, split_handshake=4, pass_followed=least(8),
               flow_reset=0, flow_killed=0):
        pep.detach()
        for both in ends:
            exchange_part(both, 100000)
        pep.attach()
        # The first payload shows the position of both ends by now.
        for both in ends * 2:
            exchange_part(both, 1000)
        pep.wait_flows(4)
        for both in ends:
            exchange_part(both, 100000)
        # An end that has closed resets packets that arrive late.
        expect("resets", resets(), before)
        for both in ends:
            exchange(both, 1000)


@families("a reset after payload that nobody saw")
def unseen(family):
    near, far = split(family, 1)[0]
    before = pep.stat("followed")
    pep.detach()
    exchange_part((near, far), 100000)
    pep.attach()
    reset(near)
    expect_reset(far)
    wait_for("the connection to go",
             lambda: pep.stat("followed") < before)
    far.close()


@families("what was handed back may end as ever")
def ends_after(family):
    near, far = split(family, 1)[0]
    pep.quiet()
    expect("released", released(), 1)
    with grows(follow_closed=1):
        one_way(near, far, 1000, fin=True)
        one_way(far, near, 1000, fin=True)
        near.close()
        far.close()


@families("an end that is done keeps its legs")
def half(family):
    near, far = split(family, 1)[0]
    one_way(near, far, 1000, fin=True)
    expect("released", released(), 0)
    with grows(flow_closed=1, flow_released=0):
        one_way(far, near, 200000, fin=True)
        near.close()
        far.close()


@families("drained, in mid-transfer")
def drained(family):
    before = resets()
    ends = split(family, 4)
    load = Load(ends, RATE // 4)
    wait_for("payload", lambda: load.moved > RATE // 2)
    with grows(flow_released=4, split_pass_drain=1, flow_established=0):
        pepadm("drain", "release")
        expect("flows", pep.stat("flows"), 0)
        exchange(pair(family), 1000)
        load.more(RATE // 2)
    load.finish()
    load.expect_whole()
    expect("resets", resets(), before)
    pepadm("drain", "off")
    pep.follow("handshake")


@families("drained, over a link whose round trip takes four seconds")
def far_away(family):
    """pepadm waits until the payload in the legs is acknowledged."""
    before = resets()
    both = split(family, 1)[0]
    with impaired(WIRELESS, "delay", "2s"):
        with grows(ended=False, flow_released=1):
            both[1].sendall(bytes(1000))
            pepadm("drain", "release")
            expect("flows", pep.stat("flows"), 0)
        both[0].settimeout(20)
        expect("payload", len(both[0].recv(2000)), 1000)
    exchange(both, 1000)
    expect("resets", resets(), before)
    pepadm("drain", "off")
    pep.follow("handshake")


@families("an end's packets take two seconds longer than before")
def delayed(family):
    """Its leg's clock is ahead by as much: the server drops what is on its way
    by then, and gets it again. The leg has answered the server meanwhile."""
    before = resets(), paws()["srv"]
    near, far = split(family, 1)[0]
    time.sleep(10)      # a slow clock would be further behind by then
    with impaired(WIRELESS[1:], "delay", "2s"):
        one_way(near, far, 1000)
        for end in near, far:
            end.settimeout(20)
        near.sendall(bytes(500))
        time.sleep(.1)
        far.sendall(bytes(700))
        expect("payload", len(near.recv(1000)), 700)
        with grows(ended=False, flow_released=1):
            pepadm("drain", "release")
            expect("flows", pep.stat("flows"), 0)
        expect("payload that was late", len(far.recv(1000)), 500)
    exchange((near, far), 1000)
    expect("resets", resets(), before[0])
    if paws()["srv"] == before[1]:
        fail("the server has dropped nothing for its clock")
    pepadm("drain", "off")
    pep.follow("handshake")


@families("a subscriber that has slept while its leg answered")
def slept(family):
    """The server has seen a clock that goes on, and a phone's stands still: it
    is handed back when it has shown its own, for which its leg asks."""
    before = resets()
    near, far = split(family, 1)[0]
    for option, value in ((socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPIDLE, 1)):
        far.setsockopt(socket.IPPROTO_TCP, option, value)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with impaired(WIRELESS[:1], "loss", "100%"):
        time.sleep(10)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
        asked = netem_drops(*WIRELESS[0])
        with grows(ended=False, flow_released=0, flow_killed=0):
            pepadm("drain", "release")
            expect("flows", pep.stat("flows"), 1)
        expect_between("questions in ten seconds",
                       netem_drops(*WIRELESS[0]) - asked, 5, 15)
    with grows(ended=False, flow_released=1):
        wait_for("it to be released", lambda: released() == 0 and
                 pep.stat("flows") == 0)
    exchange((near, far), 1000)
    expect("resets", resets(), before)
    pepadm("drain", "off")
    pep.follow("handshake")


def far_ends(family):
    """Each link, as its devices at the gateway and at the end, with the number
    of that end and a connection. The neighbours on it stay known to each
    other."""
    for devices, gateway, number in (WIRELESS, "pep", 0), (SERVER, "sv", 1):
        both = split(family, 1)[0]
        near, far = devices
        for (ns, dev), other in (near, far[0]), (far, gateway):
            ip(ns, f"neigh change {addr(other, family)} dev {dev} "
                   "nud permanent")
        yield near, far, number, both


@families("ended where an end is out of reach, after ten seconds")
def unreachable(family):
    """The other end accepts its reset, which is behind payload that the end
    has sent meanwhile; the end itself gets one when it sends again."""
    for near, _, lost, both in far_ends(family):
        reached = both[1 - lost]
        with impaired((near,), "loss", "100%"):
            reached.sendall(bytes(50000))
            pep.quiet()
            since = time.monotonic()
            with grows(ended=False, flow_killed=1, flow_released=0):
                expect("released", released(), 1)
                both[lost].sendall(bytes(500))
                expect("payload", len(reached.recv(1000)), 500)
                expect_reset(reached, 30)
            # A sweep would find it after 16 seconds more.
            expect_between("seconds", time.monotonic() - since, 10,
                           12 if EXACT else 26.5)
            pep.flows_end()
        # That is when it repeats its payload, if it does so just now.
        with contextlib.suppress(ConnectionResetError):
            both[lost].sendall(bytes(1))
            expect_reset(both[lost])


def passed(family, seconds, *command):
    """Both ends accept their resets: the one whose acknowledgments are on
    their way has received more than its leg has sent."""
    for _, far, slow, both in far_ends(family):
        with impaired((far,), "delay", "60s"):
            both[1 - slow].sendall(bytes(1000))
            expect("payload", len(both[slow].recv(2000)), 1000)
            pep.quiet()
            with grows(ended=False, flow_killed=1, flow_released=0):
                expect("released", released(), 1)
                both[1 - slow].sendall(bytes(500))
                expect("more", len(both[slow].recv(2000)), 500)
                if command:
                    pepadm(*command)
                expect_reset(both[slow], seconds)
            expect_reset(both[1 - slow], 1)


families("ended where an end's acknowledgments are late", 30)(passed)
families("killed while an end's acknowledgments are late", 1, "flow", "kill",
         "all")(passed)


@families("beside others of the device, which stay with their ends")
def leaving(family):
    """A device that is being detached takes no connection over."""
    before = resets()
    pep.follow("12000")
    beside, (near, far) = pair(family), pair(family)
    exchange_part(beside, 10)
    exchange_part((near, far), 20000)
    pep.wait_flows(1)
    detaching = threading.Thread(target=pepadm, args=("dev", "del", "wl0"))
    try:
        # The other connection's trigger comes before the release is over.
        with impaired(WIRELESS, "delay", "3s"), \
                grows(ended=False, flow_released=1, split_pass_device=1):
            far.sendall(bytes(1000))
            detaching.start()
            wait_for("the release", lambda: json.loads(pepadm(
                "-j", "conn", "show", "stage", "releasing").stdout))
            one_way(*beside[::-1], 50000)
            detaching.join()
    except Failure:
        pepadm("dev", "add", "wl0", "side", "wireless", check=False)
        raise
    expect("payload", len(near.recv(2000, socket.MSG_WAITALL)), 1000)
    pepadm("dev", "add", "wl0", "side", "wireless")
    for both in (near, far), beside:
        exchange(both, 50000)
    expect("resets", resets(), before)
    pep.follow("handshake")


@families("each of several devices that are to be detached")
def several(family):
    """The latest request is not the only one that counts."""
    pep.follow("12000")
    beside = pair(family)
    exchange_part(beside, 10)
    with grows(ended=False, split_pass_device=1):
        for dev in "wl0", "lo":
            released("dev", dev)
        exchange_part(beside, 50000)
    pepadm("dev", "del", "wl0")
    pepadm("dev", "add", "wl0", "side", "wireless")
    with grows(ended=False, split_bytes=1):
        exchange_part(beside, 50000)
        pep.wait_flows(1)
    exchange(beside, 10)
    pep.follow("handshake")


@families("packets that a third party may guess")
def guessed(family):
    """A packet far beyond the window, and an acknowledgment of it, do not end
    the legs: they still have payload that the server thinks delivered."""
    near, far = split(family, 1)[0]
    ends = (addr("sub", family), addr("srv", family),
            near.getsockname()[1], PORT)
    wires = Wire("sub"), Wire("srv", "eth0", ("pep", "sv0"))
    exchange_part((near, far), 10)
    pep.quiet()
    last = [seen for seen in wires[1].segments(outgoing=True)][-1]
    with impaired(WIRELESS[:1], "loss", "100%"):
        far.sendall(bytes(1000))
        pep.quiet()
        expect("released", released(), 1)
        seq = last.ends + 1000 + FORGED
        wires[1].send(segment(*ends[1::-1], *ends[:1:-1], seq=seq,
                              ack=last.ack, payload=b"x"))
        wires[0].send(segment(*ends, seq=last.ack, ack=seq + 1))
        pep.quiet()
        expect("flows", pep.stat("flows"), 1)
    near.settimeout(20)
    expect("payload", len(near.recv(2000, socket.MSG_WAITALL)), 1000)
    pep.flows_end()
    exchange((near, far), 1000)


@families("an acknowledgment of what a leg has yet to send")
def unsent(family):
    """Whoever does not see the packets may guess a number in the window."""
    near, far = split(family, 1)[0]
    ends = (addr("sub", family), addr("srv", family),
            near.getsockname()[1], PORT)
    wires = Wire("sub"), Wire("srv", "eth0", ("pep", "sv0"))
    exchange_part((near, far), 10)
    with impaired(WIRELESS[:1], "loss", "100%"):
        size = 100000
        offset = send_stream(far, size)
        pep.quiet()
        last = [seen for seen in wires[1].segments(outgoing=True)
                if seen.data and seen.dport == ends[2]][-1]
        leg, = [flow["legs"]["wireless"] for flow in pep.flows()]
        expect_least("bytes to be sent", leg["unsent"], 1)
        expect("released", released(), 1)
        wires[0].send(segment(*ends, seq=last.ack + 100, ack=last.ends))
        pep.quiet()
        expect("flows", pep.stat("flows"), 1)
    near.settimeout(20)
    expect_stream(near, offset, size)
    pep.flows_end()
    exchange((near, far), 1000)


@families("reset by an end while they are handed back")
def meanwhile(family):
    """The other end, two seconds away, gets the payload and then the reset."""
    for devices, far in (WIRELESS, 0), (SERVER, 1):
        both = split(family, 1)[0]
        with impaired(devices, "delay", "2s"):
            both[1 - far].sendall(bytes(1000))
            pep.quiet()
            with grows(ended=False, flow_reset=1, flow_released=0):
                expect("released", released(), 1)
                reset(both[1 - far])
                wait_for("the end", lambda: not pep.stat("flows"))
            both[far].settimeout(20)
            expect("payload", len(both[far].recv(2000)), 1000)
            expect_reset(both[far], 20)


def closed(sock):
    """Is a connection over at an end, but for TIME_WAIT?"""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == CLOSE


@families("payload passes unseen meanwhile")
def astray(family):
    """It follows payload that the subscriber still needs, and acknowledges
    together with it."""
    near, far = split(family, 1)[0]
    unordered = nstat("sub", "TcpExtTCPOFOQueue")
    with grows(flow_released=1, flow_killed=0, flow_reset=0):
        run("nft", "-f", "-", ns="pep", stdin=NOT_SENT)
        far.sendall(bytes(1000))
        pep.quiet()
        expect("released", released(), 1)
        tc("pep", "filter add dev sv0 ingress pref 1 protocol all matchall "
           "action pass")
        far.sendall(bytes(500))
        wait_for("payload out of order", lambda: nstat(
            "sub", "TcpExtTCPOFOQueue") > unordered)
        run("nft", "flush", "ruleset", ns="pep")
        near.settimeout(20)
        expect("payload", len(near.recv(1500, socket.MSG_WAITALL)), 1500)
        wait_for("the release", lambda: not pep.stat("flows"))
        tc("pep", "filter del dev sv0 ingress pref 1")
        exchange((near, far), 1000)


@families("closed by both ends while they are handed back")
def closing(family):
    before = resets()
    for devices, far in (WIRELESS, 0), (SERVER, 1):
        both = split(family, 1)[0]
        slow, near = both[far], both[1 - far]
        with impaired(devices, "delay", "1s"), \
                grows(flow_released=1, follow_closed=1, flow_killed=0):
            near.sendall(bytes(1000))
            pep.quiet()
            expect("released", released(), 1)
            for sender, receiver, size in (near, slow, 1000), (slow, near, 0):
                sender.shutdown(socket.SHUT_WR)
                receiver.settimeout(20)
                got = receiver.recv(2000, socket.MSG_WAITALL)
                expect("payload before the FIN", len(got), size)
            wait_for("the last acknowledgment", lambda: closed(slow) and
                     closed(near))
            near.close()
            slow.close()
    expect("resets", resets(), before)


@families("connections that pep has answered itself cannot be handed back")
def early(family):
    pepadm("profile", "set", "default", "connect", "early")
    near, far = pair(family)
    exchange_part((near, far), 100)
    expect("released", released(), 0)
    exchange((near, far), 100)
    pepadm("profile", "set", "default", "connect", "follow")


@families("through a firewall that drops what is invalid")
def conntrack(family):
    before = resets()
    with strict("pep"):
        ends = split(family, 4)
        load = Load(ends, RATE // 4)
        hand_back(load, RATE // 2)
        load.finish()
        load.expect_whole()
    expect("resets", resets(), before)


@families("both ends send more at once than the other one has room for", BULK)
@families("both ends send as much, and end", 480000)
@families("both ends send as much, and the subscriber hears nothing at first",
          BULK, "sub")
@families("both ends send as much, and the server hears nothing at first",
          BULK, "srv")
def promised(family, size, deaf=None):
    """Their legs have more. Each goes on with a number that the other one
    takes for an old one, and no loss probe shows another."""
    settings = ("net.ipv4.tcp_rmem=4096 131072 393216",
                "net.ipv4.tcp_early_retrans=0",
                "net.ipv4.tcp_slow_start_after_idle=0")
    pepadm("profile", "set", "default", "residence", "0",
           "wireless-rcvbuf", "4194304", "server-rcvbuf", "4194304")
    with sysctls("sub", *settings), sysctls("srv", *settings):
        both = split(family, 1)[0]
        with impaired(WIRELESS + SERVER, *FAR):
            exchange_part(both, BULK)
            pep.quiet()
            pep.hand_back()
            if deaf:
                run("nft", "-f", "-", ns=deaf, stdin=DEAF)
            load = Load([both], None, size)
            if deaf:
                before = nstat(deaf, TIMEOUTS)
                wait_for("it to repeat payload", lambda: nstat(
                    deaf, TIMEOUTS) > before)
                run("nft", "flush", "ruleset", ns=deaf)
            load.join(100)
            load.expect_whole()
    pepadm("profile", "set", "default", "residence", "50",
           "wireless-rcvbuf", "auto", "server-rcvbuf", "auto")
