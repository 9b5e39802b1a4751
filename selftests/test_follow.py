# SPDX-License-Identifier: GPL-2.0
"""A followed connection is forwarded as without pep: its packets leave
unchanged, and failures look the same. No state of a finished one is left. A
connection that a leg could not take over is never split. When triggers come is
in test_adopt.py."""

import contextlib
import select
import socket

from peptest import pep
from peptest.env import amount
from peptest.ktap import (case, expect, expect_least, families, wait_for)
from peptest.netns import addr, ip, run, sysctl
from peptest.pep import grows, least, pepadm
from peptest.raw import ACK, FIN, RST, SYN, Wire, segment
from peptest.tcp import (PORT, accept, client, connect, connect_errno,
                         exchange, exchange_part, expect_reset, listen,
                         mptcp_socket, one_way, outcome, pair, reset)

BYTES = amount(2000000)
SPLIT = "12000"
MSG_FASTOPEN = 0x20000000
TCP_FASTOPEN = 23


def setup():
    """Attached, with followed connections."""
    pep.load()
    pep.topology_up()
    pep.attach()
    pep.follow(SPLIT)
    for ns in "sub", "srv":
        sysctl(ns, "net.ipv4.tcp_fastopen=3")


@contextlib.contextmanager
def forgotten():
    """Fail unless the connections within leave the table soon."""
    before = pep.stat("followed")
    yield
    wait_for("connections to go", lambda: pep.stat("followed") <= before)


def same_but_ttl(packet):
    """A packet without the fields that a router changes."""
    data = bytearray(packet)
    if data[0] >> 4 == 4:
        data[8] = 0
        data[10:12] = bytes(2)
    else:
        data[7] = 0
    return bytes(data)


@families("a reset behind both FINs is no other end")
def late(family):
    """It ends the entry, which has been counted."""
    pep.follow("never")
    wire = Wire("sub")
    with grows(follow_established=1, follow_closed=1, follow_reset=0), \
            forgotten():
        sub, srv = pair(family)
        srv.close()
        expect("the end", outcome(sub), "FIN")
        sub.close()
        wait_for("both FINs", lambda: "closing" in pepadm(
            "conn", "show", "stage", "closing").stdout)
        latest = wire.segments(outgoing=True)[-1]
        wire.send(segment(addr("sub", family), addr("srv", family),
                          latest.sport, PORT, flags=RST, seq=latest.ends))
    wire.close()


@families("packets leave as they came")
def untouched(family):
    pep.follow("never")
    taps = [Wire("pep", "wl0", ("sub", "eth0")),
            Wire("pep", "sv0", ("srv", "eth0"))]
    with grows(follow_established=1, follow_closed=1, delivered=0):
        near, far = pair(family)
        for sender, receiver in (near, far), (far, near):
            one_way(sender, receiver, 300000)
        near.close()
        expect("the end", outcome(far), "FIN")
        far.close()
    wireless, server = (sorted(same_but_ttl(one.packet)
                               for one in tap.segments()) for tap in taps)
    expect_least("packets", len(wireless), 20)
    expect("packets at the server's device", server, wireless)
    pep.follow(SPLIT)


@families("a target that refuses")
def refused(family):
    with grows(follow_new=1, follow_reset=1, follow_established=0), \
            forgotten():
        expect("error", connect_errno("sub", family, addr("srv", family),
                                      5999), "ECONNREFUSED")


@families("a target that cannot be reached")
def unreachable(family):
    to = "198.18.99.9" if family == 4 else "2001:db8:99::9"
    net = to[:-1] + "0/24" if family == 4 else "2001:db8:99::/64"
    ip("pep", f"route add unreachable {net}", family=family)
    with grows(follow_new=1, follow_established=0):
        expect("error", connect_errno("sub", family, to),
               "EHOSTUNREACH" if family == 4 else "ENETUNREACH")
    ip("pep", f"route del unreachable {net}", family=family)


@families("an end that resets, before and after the split")
def resets(family):
    for size, counter in (100, "follow_reset"), (100000, "flow_reset"):
        with grows(**{counter: 1}), forgotten():
            near, far = pair(family)
            one_way(near, far, size)
            reset(near)
            expect_reset(far)


@families("an end that has closed resets with the number of its FIN")
def reset_at_fin(family):
    """As its answer to packets in flight; TCP accepts the reset, although the
    FIN is acknowledged."""
    with grows(follow_reset=1, follow_closed=0, flow_established=0), \
            forgotten():
        near, far = pair(family)
        one_way(near, far, 100)
        wire = Wire("sub")
        near.shutdown(socket.SHUT_WR)
        fin = wire.find(lambda seen: seen.flags & FIN and
                        seen.sport == near.getsockname()[1], outgoing=True)
        wait_for("FIN_WAIT2", lambda: run("ss", "-tnH", "state", "fin-wait-2",
                                          ns="sub").stdout)
        expect("the end of the direction", outcome(far), "FIN")
        wire.send(segment(addr("sub", family), addr("srv", family), fin.sport,
                          fin.dport, flags=RST, seq=fin.ends - 1))
        wait_for("a reset", lambda: far.getsockopt(
            socket.SOL_SOCKET, socket.SO_ERROR))
        wire.close()
        near.close()


@families("options that a socket cannot carry: Multipath TCP")
def multipath(family):
    with grows(follow_established=1, split_pass_option=1, syn_pass_mptcp=1,
               flow_established=0):
        listener = listen("srv", family)
        near = mptcp_socket("sub", family)
        near.connect((addr("srv", family), PORT))
        far = accept(listener)
        one_way(near, far, 200000, fin=True)
        near.close()
        far.close()


@families("Fast Open, for a cookie, with one, and refused")
def fastopen(family):
    """A server that refuses payload of a SYN acknowledges the SYN alone."""
    listener = listen("srv", family, 5003)
    listener.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 16)
    for mode in 3, 3, 1:
        sysctl("srv", f"net.ipv4.tcp_fastopen={mode}")
        with grows(follow_established=1, split_pass_option=1,
                   flow_established=0):
            near = client("sub", family)
            near.settimeout(None)
            near.sendto(b"x" * 1000, MSG_FASTOPEN, (addr("srv", family), 5003))
            far = accept(listener)
            got = b""
            while len(got) < 1000:
                got += far.recv(1000)
            one_way(far, near, 100000)
            near.close()
            expect("the end", outcome(far), "FIN")
            far.close()
    sysctl("srv", "net.ipv4.tcp_fastopen=3")


@families("one direction that takes another way")
def one_direction(family):
    pepadm("dev", "del", "sv0")
    try:
        with grows(follow_new=1, follow_established=0, flow_established=0):
            exchange(pair(family), BYTES)
    finally:
        pepadm("dev", "add", "sv0", "side", "server")


@families("urgent data")
def urgent(family):
    with grows(follow_established=1, split_pass_end=1, flow_established=0):
        near, far = pair(family)
        near.send(b"!", socket.MSG_OOB)
        one_way(far, near, 100000)
        expect("urgent byte", far.recv(1, socket.MSG_OOB), b"!")
        near.close()
        far.close()


@families("a port that is used again, by connections that were split")
def again(family):
    port = 40000 + family
    for _ in range(4):
        with grows(split_bytes=1, flow_closed=1):
            near, far = pair(family, bind=("", port))
            exchange_part((near, far), 50000)
            far.close()
            expect("the end", outcome(near), "FIN")
            near.close()


@families("small messages, however many, are not worth a split")
def chatty(family):
    with grows(follow_established=1, split_bytes=0):
        near, far = pair(family)
        for _ in range(40):
            one_way(near, far, 1000)
            one_way(far, near, 9000)
    with grows(split_bytes=1, flow_closed=1):
        one_way(far, near, 13000)
        near.close()
        far.close()


@families("two ends that open towards each other")
def crossing(family):
    bound = {}
    for ns, port in ("sub", 41000 + family), ("srv", 42000 + family):
        bound[ns] = client(ns, family, bind=("", port))
        bound[ns].setblocking(False)
    ports = {"sub": 41000 + family, "srv": 42000 + family}
    for ns, other in ("sub", "srv"), ("srv", "sub"):
        with contextlib.suppress(BlockingIOError):
            bound[ns].connect_ex((addr(other, family), ports[other]))
    poll = select.poll()
    for sock in bound.values():
        poll.register(sock, select.POLLOUT)
    wait_for("both to open", lambda: len(poll.poll(100)) == 2)
    if all(not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
           for sock in bound.values()):
        exchange((bound["sub"], bound["srv"]), 200000)


@families("a SYN with the gateway's own source makes no flow")
def spoofed(family):
    wire, far = Wire("sub"), Wire("srv", "eth0", ("pep", "sv0"))
    with grows(flow_established=0, follow_established=1):
        wire.send(segment(addr("sv", family), addr("srv", family), 12345, PORT,
                          flags=SYN, seq=1000))
        exchange(pair(family), 100)
    got = [one for one in far.segments(outgoing=False) if one.sport == 12345]
    if family == 4:
        expect("segments at the server", len(got), 0)
    wire.close()
    far.close()


@families("rules of FORWARD decide, as without pep")
def filtered(family):
    run("nft", "-f", "-", ns="pep", stdin="""
        table inet follow {
            chain forward {
                type filter hook forward priority 0;
                tcp dport 5001 drop
                tcp dport 5002 reject with tcp reset
            }
        }
    """)
    try:
        with grows(follow_established=0, flow_established=0):
            for port in 5001, 5002:
                listen("srv", family, port)
            expect("dropped", connect_errno("sub", family,
                                            addr("srv", family), 5001,
                                            seconds=3), "late")
            expect("rejected", connect_errno("sub", family,
                                             addr("srv", family), 5002),
                   "ECONNREFUSED")
    finally:
        run("nft", "delete", "table", "inet", "follow", ns="pep")


@families("segments out of nowhere pass and make nothing")
def stray(family):
    wire = Wire("sub")
    before = pep.stats()
    for bits in ACK, ACK | FIN, RST, SYN | ACK:
        wire.send(segment(addr("sub", family), addr("srv", family), 12345,
                          PORT, flags=bits, seq=1, ack=1))
    wait_for("segments to pass", lambda: pep.stat("pass_no_flow") >=
             before["pass_no_flow"] + 4)
    expect("connections", pep.stat("followed"), before["followed"])
    wire.close()


@families("a connection that is followed outlives the module")
def outlives(family):
    near, far = pair(family)
    one_way(near, far, 5000)
    pep.detach()
    pep.unload()
    exchange_part((near, far), 50000)
    pep.load()
    pep.follow(SPLIT)
    pep.attach()
    with grows(flow_established=0, pass_no_flow=least(10)):
        exchange((near, far), 200000)


@case("an address of the gateway's own is none of its connections")
def local():
    """Nor is one whose SYN has payload."""
    with grows(follow_new=0, syn_pass_local=2, syn_pass_data=0):
        wire = Wire("sub")
        wire.send(segment(addr("sub", 4), addr("pep", 4), 5010, 5009,
                          flags=SYN, payload=b"x"))
        wire.close()
        listener = listen("pep", 4, 5009)
        near = connect("sub", 4, addr("pep", 4), 5009)
        far = accept(listener)
        one_way(near, far, 100000)
        near.close()
        far.close()
