# SPDX-License-Identifier: GPL-2.0
"""The opener is answered at once while the target is being connected (connect
mode "early"): payload, ends of the stream and resets are delivered just the
same, even when sent before the target has answered."""

import socket

from peptest import pep
from peptest.env import amount
from peptest.ktap import (case, expect, expect_least, expect_most, families,
                          steady, wait_for)
from peptest.netns import addr, ip, netem, run, sysctl, sysctls
from peptest.pep import grows, least
from peptest.raw import ACK, RST, SYN, Wire, segment
from peptest.tcp import (PORT, End, accept, client, connect, exchange,
                         exchange_all, expect_reset, expect_same,
                         expect_stream, fill, listen, one_way, pair, pump,
                         reset, send_stream, start)

BYTES = amount(5000000)
FLOWS = 50
ACKS = 50               # number of failing ACKs
SYN_OFFERS = 65535      # bytes, without a window scale
ROUNDED = 5000          # bytes that TCP may add to that
WAYS = (("", "sub", "srv"), (", the server opens", "srv", "sub"))


def setup():
    """Attached, with the mode."""
    pep.attached()
    pep.pepadm("profile", "set", "default", "connect", "early")


def both_ways(family, opener, opened):
    with grows(syn_answered=1, flow_established=1, flow_closed=1):
        exchange(pair(family, opener, opened), BYTES)


def half_closed(family, opener, opened):
    """One direction ends before the other begins."""
    with grows(flow_established=2, flow_closed=2, flow_reset=0):
        for first in 0, 1:
            both = pair(family, opener, opened)
            ends = both[first], both[1 - first]
            one_way(*ends, BYTES // 10, fin=True)
            one_way(*ends[::-1], BYTES // 10, fin=True)


def resets(family, opener, opened):
    with grows(flow_established=2, flow_closed=0, flow_reset=2):
        for end in 0, 1:
            both = pair(family, opener, opened)
            one_way(*both, 1000)
            reset(both[end])
            expect_reset(both[1 - end])


def many(family, opener, opened):
    with grows(flow_established=FLOWS, flow_closed=FLOWS):
        exchange_all(start(family, FLOWS, opener, opened), 20000)


def ahead(family, opener, opened):
    """The opener sends while the target's answer is in flight."""
    exchange(pair(family, opener, opened), 100)
    listener = listen(opened, family)
    netem(opened, "eth0", "delay", "500ms")
    try:
        with grows(flow_established=1, flow_closed=1):
            near = connect(opener, family, addr(opened, family))
            near.sendall(b"first")
            far = accept(listener)
            expect("the first payload", far.recv(100), b"first")
            exchange((near, far), 10000)
    finally:
        netem(opened, "eth0", "off")


def eager(family, opener, opened, ack):
    """The opener sends without end while the target is silent: of many openers
    no more is kept than a SYN can offer, whatever their buffers are. All of it
    arrives when the target answers. The first payload may come with the
    opener's acknowledgment."""
    exchange(pair(family, opener, opened), 100)
    buffers = "wireless-rcvbuf", "server-rcvbuf"
    pep.pepadm("profile", "set", "default",
               *(word for name in buffers for word in (name, "8388608")))
    silence = (f"blackhole {addr(opener, family)}/"
               f"{'32' if family == 4 else '128'}")
    listener = listen(opened, family)
    ip(opened, "route add " + silence)
    try:
        near = client(opener, family)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, ack)
        near.connect((addr(opened, family), PORT))
        first = send_stream(near, 1000)
        wait_for("the opener", lambda: len(pep.flows()[0]["legs"]) == 2)
        near = End(near, BYTES, wanted=0)
        fill([near])
        side = "wireless" if opener == "sub" else "server"
        unread = pep.flows()[0]["legs"][side]["unread"]
        expect_most("payload that waits, bytes", unread,
                    SYN_OFFERS + ROUNDED)
        expect_least("payload that waits, bytes", unread, SYN_OFFERS // 4)
    finally:
        ip(opened, "route del " + silence)
        pep.pepadm("profile", "set", "default",
                   *(word for name in buffers for word in (name, "auto")))
    far = accept(listener)
    expect_stream(far, first, 1000)
    far = End(far, 0, wanted=None)
    pump([near, far])
    expect_same(near, far)


def gone(family, opener, opened):
    """Openers whose reset arrives together with the end of their handshake,
    while the target is silent: nothing waits for it in vain."""
    exchange(pair(family, opener, opened), 100)
    silence = (f"blackhole {addr(opener, family)}/"
               f"{'32' if family == 4 else '128'}")
    ip(opened, "route add " + silence)
    netem(opener, "eth0", "slot", "100ms", "100ms")
    try:
        with grows(opener_lost=10, flow_established=0) as before:
            for _ in range(10):
                reset(connect(opener, family, addr(opened, family)))
            wait_for("the last of them", lambda: pep.stat("opener_lost") ==
                     before["opener_lost"] + 10, 10)
    finally:
        netem(opener, "eth0", "off")
        ip(opened, "route del " + silence)


def cancelled(family, opener, opened):
    """Openers that are gone when the SYN-ACK comes, one answered from a
    request and one by SYN cookie."""
    exchange(pair(family, opener, opened), 100)
    silence = (f"blackhole {addr(opener, family)}/"
               f"{'32' if family == 4 else '128'}")
    ip(opened, "route add " + silence)
    netem(opener, "eth0", "delay", "200ms")
    try:
        for cookies in 1, 2:
            with sysctls("pep", f"net.ipv4.tcp_syncookies={cookies}"), \
                    grows(syn_answered=1, opener_lost=1, reset_over=0,
                          flow_established=0) as before:
                near = client(opener, family)
                near.setblocking(False)
                near.connect_ex((addr(opened, family), PORT))
                near.close()
                wait_for("its reset", lambda: pep.stat("opener_lost") >
                         before["opener_lost"], 10)
    finally:
        netem(opener, "eth0", "off")
        ip(opened, "route del " + silence)


def one_side(family, opener, opened):
    """The other side has no device: pep would not see the target's answer.
    With split never the reason is counted at the SYN."""
    dev, side = {"srv": ("sv0", "server"), "sub": ("wl0", "wireless")}[opened]
    pep.pepadm("dev", "del", dev)
    try:
        for split, counted in ("12000", 0), ("never", 1):
            pep.pepadm("profile", "set", "default", "split", split)
            with grows(syn_answered=0, follow_new=1,
                       split_pass_device=counted):
                exchange(pair(family, opener, opened), 1000)
    finally:
        pep.pepadm("profile", "set", "default", "split", "handshake")
        pep.pepadm("dev", "add", dev, "side", side)


def leaving(family, opener, opened):
    """The SYN of a leg that would send by a device which is to be detached
    does not leave: the target answers the options of the first SYN it sees."""
    exchange(pair(family, opener, opened), 100)
    dev, side = {"srv": ("sv0", "server"), "sub": ("wl0", "wireless")}[opened]
    tap = Wire(opened, "eth0", ("pep", dev))
    pep.released("dev", dev)
    with grows(syn_answered=0, syn_pass_connect=1, follow_new=1):
        exchange(pair(family, opener, opened), 1000)
    expect("SYNs", len([seen for seen in tap.segments(outgoing=False)
                        if seen.flags & (SYN | ACK) == SYN]), 1)
    tap.close()
    pep.pepadm("dev", "del", dev)
    pep.pepadm("dev", "add", dev, "side", side)


for _text, *_ends in WAYS:
    families("both ways" + _text, *_ends)(both_ways)
    families("half-closed" + _text, *_ends)(half_closed)
    families("a reset of either end" + _text, *_ends)(resets)
    families(f"{FLOWS} flows at once" + _text, *_ends)(many)
    families("payload before the target's answer" + _text, *_ends)(ahead)
    families("much payload before the target's answer" + _text, *_ends,
             1)(eager)
    families("much payload with the handshake" + _text, *_ends, 0)(eager)
    families("openers that are gone when accepted" + _text, *_ends)(gone)
    families("openers that are gone when answered" + _text, *_ends)(cancelled)
    families("a device on one side only" + _text, *_ends)(one_side)
    families("a device that is to be detached" + _text, *_ends)(leaving)


def control_users():
    """Sockets that use the congestion control of the wireless side."""
    with open("/sys/module/pep_bbr/refcnt", encoding="ascii") as file:
        return int(file.read())


def spoof(source, port):
    """A SYN with a spoofed source is neither answered nor forwarded."""
    near, far = Wire("sub"), Wire("srv", peer=("pep", "sv0"))
    with grows(syn_pass_source=1, syn_answered=0, follow_new=1,
               flow_established=0) as before:
        near.send(segment(source, addr("srv", 4), port, PORT, flags=SYN,
                          seq=1))
        wait_for("the SYN to pass", lambda: pep.stat("pass_syn") >
                 before["pass_syn"])
    exchange(pair(4), 1000)
    expect("SYNs at the server", [seen for seen in far.segments()
                                  if seen.sport == port], [])
    for wire in near, far:
        wire.close()


@families("draining, and a profile that splits nothing later")
def draining(family):
    """The refusal is counted at once: there is no later."""
    pep.pepadm("profile", "set", "default", "split", "never")
    pep.pepadm("drain", "on")
    try:
        with grows(syn_answered=0, follow_new=1, split_pass_drain=1):
            exchange(pair(family), 1000)
    finally:
        pep.pepadm("drain", "off")
        pep.pepadm("profile", "set", "default", "split", "handshake")


@case("a source that rp_filter refuses")
def refused_source():
    """From the server's network."""
    sysctl("pep", "net.ipv4.conf.wl0.rp_filter=1")
    spoof(addr("srv", 4).rsplit(".", 1)[0] + ".77", 3001)
    sysctl("pep", "net.ipv4.conf.wl0.rp_filter=0")


@case("the gateway's own address as a source")
def own_source():
    """Refused without rp_filter, too."""
    spoof(addr("sv", 4), 3002)


@case("a prefix that is local as a whole is not the server's")
def any_ip():
    """The connection ends at a program of the gateway."""
    net = "2001:db8:99::"
    ip("pep", f"route add local {net}/64 dev lo", family=6)
    with grows(syn_pass_local=1, syn_answered=0, flow_established=0):
        listener = listen("pep", 6, 5009)
        near = connect("sub", 6, net + "5", 5009)
        far = accept(listener)
        one_way(near, far, 10000, fin=True)
        near.close()
        far.close()
    ip("pep", f"route del local {net}/64 dev lo", family=6)


@case("an anycast address of the gateway's is not the server's")
def anycast():
    """That of routers on the servers' link, RFC 4291, section 2.6.1."""
    with client("sub", 6) as sock, \
            grows(syn_pass_local=1, syn_answered=0) as before:
        sock.setblocking(False)
        sock.connect_ex(("2001:db8:1::", 5009))
        wait_for("the SYN", lambda: pep.stat("syn_pass_local") >
                 before["syn_pass_local"])


@case("no way back to the opener when it completes")
def no_way():
    """When it finds no route for a child, TCP over IPv4 drops a reference to
    the congestion control that it has not taken: after some of these the
    module could be removed while in use. The opener gets through when there
    is a route again."""
    near = "198.18.0.50"
    ends = near, addr("srv", 4)
    wire = Wire("sub")
    ip("sub", f"address add {near} dev eth0")
    exchange(pair(4, bind=(near, 0)), 100)
    pep.flows_end()
    run("nft", "add table inet deaf; add chain inet deaf input "
        "{ type filter hook prerouting priority 0; }; "
        f"add rule inet deaf input ip daddr {near} drop", ns="sub")
    listener = listen("srv", 4)
    with grows(flow_established=1, dropped=least(ACKS)) as before:
        wire.send(segment(*ends, 999, PORT, flags=SYN, seq=100))
        answer = wire.find(lambda seen: seen.dport == 999 and
                           seen.flags == SYN | ACK, outgoing=False)
        # Sockets of the flow before are released a little after its end.
        users = steady("sockets", control_users)
        numbers = {"seq": 101, "ack": answer.seq + 1}
        ip("pep", f"route add blackhole {near}")
        for _ in range(ACKS):
            wire.send(segment(*ends, 999, PORT, flags=ACK, **numbers))
        wait_for("the last of them", lambda: pep.stat("dropped") >=
                 before["dropped"] + ACKS)
        expect("sockets that use it", control_users(), users)
        ip("pep", f"route del blackhole {near}")
        wire.send(segment(*ends, 999, PORT, flags=ACK, payload=b"late",
                          **numbers))
        expect("payload", accept(listener).recv(100), b"late")
        numbers["seq"] += 4
        wire.send(segment(*ends, 999, PORT, flags=RST, **numbers))
    run("nft", "delete table inet deaf", ns="sub")
