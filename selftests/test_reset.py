# SPDX-License-Identifier: GPL-2.0
"""A reset of one end reaches the other as a reset, never as a clean end:
during a transfer and on an idle connection, from each end, whichever side
opened. The payload before it arrives first."""

import contextlib
import errno
import fcntl
import select
import socket
import struct
import time
from concurrent import futures

from peptest import pep
from peptest.env import amount
from peptest.ktap import Failure, expect, expect_least, families, wait_for
from peptest.netns import addr, impaired, ip, nstat, run
from peptest.pep import grows, split_pair
from peptest.raw import ACK, FIN, RST, Wire, segment
from peptest.tcp import (End, client, exchange_part, expect_reset,
                         expect_stream, next_offset, one_way, outcome, pair,
                         pieces, pump, reset, start)

BYTES = amount(2000000)
FLOWS = 30
RATE = BYTES // FLOWS // 2     # bytes per second and end
TAIL = 60000            # bytes, half a second of a slow link
SLOW = "rate", "1mbit", "delay", "20ms", "limit", "1000"
FAR = {"sub": ("pep", "wl0"), "srv": ("pep", "sv0")}
SLOWLY = 1000           # bytes per second
SECONDS = 60            # for all of that
SOON = 3                # for an end to be reset when there is a route
DEADLINE = 30           # seconds for an end to take payload before a reset
PIECE = 1000            # bytes, less than a segment
CLOSED = 9              # a port on which nobody listens
PAUSE = 1               # seconds between needless FINs
setup = pep.warmed


def expect_resets(*ends):
    """Fail unless ends that continue to send are reset; their packets make pep
    repeat a lost reset."""
    pump(ends)
    for end in ends:
        expect("error", errno.errorcode.get(end.error), "ECONNRESET")


def busy(family, opener, opened, end):
    """During a transfer."""
    with grows(flow_established=1, flow_reset=1, flow_closed=0):
        both = pair(family, opener, opened)
        ends = [End(sock, BYTES * 100) for sock in both]
        pump(ends, until=lambda: min(e.received for e in ends) > BYTES)
        reset(both[end])
        expect_resets(ends[1 - end])


def idle(family, opener, opened, end):
    """On an idle connection."""
    with grows(flow_established=1, flow_reset=1, flow_closed=0):
        both = split_pair(family, opener, opened)
        one_way(both[0], both[1], 1000)
        reset(both[end])
        expect_reset(both[1 - end])


for _opener, _opened in ("sub", "srv"), ("srv", "sub"):
    for _end, _name in enumerate((_opener, _opened)):
        families(f"{_opener} opens, {_name} resets amidst a transfer",
                 _opener, _opened, _end)(busy)
        families(f"{_opener} opens, {_name} resets when idle",
                 _opener, _opened, _end)(idle)


@families(f"{FLOWS} clients reset", 0)
@families(f"{FLOWS} times the server resets", 1)
def many(family, end):
    """At once, so that resets arrive while the relay runs on another CPU."""
    with grows(flow_established=FLOWS, flow_reset=FLOWS):
        pairs = start(family, FLOWS)
        ends = [[End(sock, 1 << 30, rate=RATE) for sock in both]
                for both in pairs]
        flat = [e for both in ends for e in both]
        pump(flat, until=lambda: sum(e.received for e in flat) > BYTES)
        for both in pairs:
            reset(both[end])
        expect_resets(*(both[1 - end] for both in ends))


@families("a reset behind data that is unread", "sub", "srv")
@families("a reset behind data that is unread, the server opens",
          "srv", "sub")
def unread(family, opener, opened):
    """Payload in flight, then a reset: no clean end."""
    with grows(flow_established=1, flow_reset=1, flow_closed=0):
        near, far = split_pair(family, opener, opened)
        far.send(bytes(30000))
        near.send(bytes(30000))
        reset(near)
        expect("the other end's end", outcome(far), "ECONNRESET")


@contextlib.contextmanager
def two_lost(*names):
    """Within, the first two resets from each port are lost on their way to an
    end."""
    rst = "add rule inet lost input tcp flags & rst != 0 "
    for ns in names:
        run("nft", "-f", "-", ns=ns, stdin=f"""
            add table inet lost
            add chain inet lost input {{
                type filter hook prerouting priority 0;
            }}
            add set inet lost one {{
                type inet_service; size 64; flags dynamic;
            }}
            add set inet lost two {{
                type inet_service; size 64; flags dynamic;
            }}
            {rst} tcp sport @two accept
            {rst} tcp sport @one add @two {{ tcp sport }} drop
            {rst} add @one {{ tcp sport }} drop
            """)
    try:
        yield
    finally:
        for ns in names:
            run("nft", "delete table inet lost", ns=ns)


@families("two resets of a flow that is killed get lost, nobody speaks")
def killed_twice_lost(family):
    """The third one is enough for each end."""
    with two_lost("sub", "srv"), grows(flow_established=1, flow_killed=1):
        both = split_pair(family)
        one_way(*both, 1000)
        pep.pepadm("flow", "kill", "all")
        for end in both:
            expect_reset(end, 10)


@families("connect early: two resets of a target's refusal get lost",
          ("srv", "eth0"), 0)
@families("connect early: two resets of a refusal before the opener's ACK get "
          "lost", ("sub", "eth0"), 1)
def refused_twice_lost(family, late, unpaired):
    """The opener has nothing to send, and waits for the target to speak."""
    pep.early()
    try:
        with impaired((late,), "delay", "200ms"), two_lost("sub"), \
                grows(syn_answered=1, connect_refused=1, flow_established=0,
                      accept_unpaired=unpaired, pass_no_flow=0):
            near = client("sub", family)
            near.connect((addr("srv", family), CLOSED))
            expect_reset(near, 10)
            near.close()
    finally:
        pep.follow("handshake")


@families("both directions have ended, the last payload is under way")
def ended(family):
    """The flow is killed then: the end that waits for the rest is reset. Only
    resets reach the subscriber meanwhile."""
    run("nft", "add table inet lost; add chain inet lost input "
        "{ type filter hook prerouting priority 0; }", ns="sub")
    with grows(flow_established=1, flow_killed=1):
        near, far = split_pair(family)
        one_way(near, far, 1000, fin=True)
        run("nft", "add", "rule", "inet", "lost", "input",
            "tcp flags & rst == 0 drop", ns="sub")
        far.sendall(bytes(3000))
        far.shutdown(socket.SHUT_WR)
        wait_for("LAST_ACK", lambda: run("ss", "-tnH", "state", "last-ack",
                                         ns="pep").stdout)
        pep.pepadm("dev", "del", "wl0")
        expect("the end", outcome(near, 20), "ECONNRESET")
    run("nft", "delete", "table", "inet", "lost", ns="sub")
    pep.pepadm("dev", "add", "wl0", "side", "wireless")


@families("two resets of a subscriber's are lost behind pep", 0)
@families("two resets of a server's are lost behind pep", 1)
def passed_twice_lost(family, end):
    """On this host's own links, with many CPUs; the third one is enough."""
    with two_lost("sub", "srv"), grows(flow_established=1, flow_reset=1):
        both = split_pair(family)
        one_way(*both, 1000)
        reset(both[end])
        expect_reset(both[1 - end], 10)


@contextlib.contextmanager
def silence(ns):
    """Within, a host has a table for rules on all received and sent
    packets."""
    run("nft", "-f", "-", ns=ns, stdin="""
        add table inet silence
        add chain inet silence input {
            type filter hook prerouting priority 0;
        }
        add chain inet silence output { type filter hook output priority 0; }
        """)
    try:
        yield
    finally:
        run("nft", "delete table inet silence", ns=ns)


@families("an end lacks payload before a reset, its question gets lost", 0)
@families("an end lacks payload, its last acknowledgments get lost, too",
          2 * PIECE)
@families("an end lacks payload, its last acknowledgments get lost, no route",
          2 * PIECE, True)
def unanswered(family, arrives, away=False):
    """The reset has the sequence number after the payload, and the end sends a
    challenge ACK; a repetition has the number that the end has acknowledged,
    and others those of the pieces in flight."""
    with silence("sub"), grows(flow_established=1, flow_killed=1):
        near, far = split_pair(family)
        one_way(near, far, 1000)
        one_way(far, near, 1000)
        run("nft", "add rule inet silence output meta l4proto tcp drop",
            ns="sub")
        if arrives:
            one_way(far, near, arrives)
        run("nft", "add rule inet silence input tcp flags & rst == 0 drop",
            ns="sub")
        far.sendall(bytes(3 * PIECE))
        pep.quiet()
        with unrouted("sub", family) if away else contextlib.nullcontext():
            pep.pepadm("flow", "kill", "all")
            pep.flows_end()
        expect_reset(near, 10)


@families("the gateway's own rules drop a reset and its repetitions")
def filtered(family):
    """Three of each leg; none reaches an end."""
    run("nft", "-f", "-", ns="pep", stdin="""
        add table inet own
        add chain inet own out { type filter hook output priority 0; }
        add rule inet own out tcp flags & rst != 0 counter drop
        """)
    with grows(flow_established=1, flow_killed=1):
        both = split_pair(family)
        one_way(*both, 1000)
        pep.pepadm("flow", "kill", "all")
        wait_for("six resets", lambda: "packets 6 " in run(
            "nft", "list table inet own", ns="pep").stdout, 10)
        expect("ends that heard", select.select(both, [], [], 0)[0], [])
    run("nft", "delete", "table", "inet", "own", ns="pep")


@contextlib.contextmanager
def fins_lost(ns):
    """Within, FINs to a host get lost."""
    run("nft", "add table inet lost; add chain inet lost input "
        "{ type filter hook prerouting priority 0; }; add rule inet lost "
        "input tcp flags & fin != 0 drop", ns=ns)
    try:
        yield
    finally:
        run("nft", "delete", "table", "inet", "lost", ns=ns)


def awaits(ns, state, peer):
    """Wait until a socket whose peer is the one given is in a state."""
    wait_for(f"{state} in {ns}", lambda: run(
        "ss", "-tnH", "state", state, "dport", "=",
        str(peer.getsockname()[1]), ns=ns).stdout)


@families("a leg that waits for the answer to its FIN is destroyed",
          "LAST-ACK")
@families("a leg that has got a FIN, but no answer to its own, is destroyed",
          "CLOSING")
def destroyed(family, state):
    """With ss -K; TCP sends no reset then, and the server, which waits for the
    FIN, sends nothing."""
    with grows(flow_established=1, flow_reset=1):
        near, far = split_pair(family)
        one_way(near, far, 1000)
        with fins_lost("srv"):
            if state == "CLOSING":
                near.shutdown(socket.SHUT_WR)
            far.shutdown(socket.SHUT_WR)
            expect("the end of the server's direction", outcome(near), "FIN")
            awaits("srv", "FIN-WAIT-2", near)
            if state == "LAST-ACK":
                near.shutdown(socket.SHUT_WR)
            awaits("pep", state, far)
            run("ss", "-KtnH", "state", state, ns="pep")
            expect_reset(far, SOON)


def own_reset(ns, before, repeat):
    """Repeat a FIN until its end, which is closed, has reset the answer. A leg
    in TIME_WAIT answers twice a second, and on a slow machine the end has had
    an answer already."""
    sent = -PAUSE

    def done():
        nonlocal sent
        if time.monotonic() - sent >= PAUSE:
            sent = time.monotonic()
            repeat()
        return nstat(ns, "TcpOutRsts") > before
    wait_for("the socket's own reset", done)


@families("late resets of an end that is closed", "sub", "srv")
@families("late resets of an end that is closed, the server", "srv", "sub")
@families("late resets of an end that is closed, its FIN comes twice", "sub",
          "srv", True)
def late(family, closed, opened, twice=False):
    """A closed socket resets late packets. The first reset ends the leg's
    TIME_WAIT, the next one finds no socket; the other end, which waits for a
    FIN that is lost, must not receive it. Where the leg acknowledges a FIN
    twice, on a slow machine, the socket itself resets the second one."""
    gateway = {"sub": ("pep", "wl0"), "srv": ("pep", "sv0")}[closed]
    own = nstat(closed, "TcpOutRsts")
    with grows(flow_established=1, flow_closed=1, flow_reset=0) as before:
        near, far = split_pair(family, closed, opened)
        one_way(near, far, 20000)
        wire = Wire(closed, peer=gateway)
        with fins_lost(opened):
            far.shutdown(socket.SHUT_WR)
            expect("the end of the other direction", outcome(near), "FIN")
            sport = near.getsockname()[1]
            near.close()
            fin = wire.find(lambda seen: seen.flags & FIN and
                            seen.sport == sport, outgoing=True)
            wait_for("the closed socket", lambda: not run(
                "ss", "-tnH", "sport", "=", str(sport), ns=closed).stdout)
            if twice:
                own_reset(closed, own, lambda: wire.send(segment(
                    addr(closed, family), addr(opened, family), sport,
                    fin.dport, flags=FIN | ACK, seq=fin.seq, ack=fin.ack)))
            for number in fin.ends, fin.ends - 1:
                wire.send(segment(addr(closed, family), addr(opened, family),
                                  sport, fin.dport, flags=RST, seq=number))
            wire.close()
            wait_for("the second reset", lambda: pep.stat("reset_over") >
                     before["reset_over"])
        expect("the other end's end", outcome(far, 20), "FIN")
        far.close()
        pep.flows_end()
    own = nstat(closed, "TcpOutRsts") - own
    expect("resets without a socket",
           pep.stat("reset_over") - before["reset_over"], 1 + own)
    if twice:
        expect_least("resets of the socket itself", own, 1)


@families("two resets get lost when the last device goes, nobody speaks")
def detached_twice_lost(family):
    """Resets to a subscriber that waits for the rest. This comes after the
    cases that need a leg's TIME_WAIT socket: the module removes these for a
    second after a device has been detached."""
    with two_lost("sub"), grows(flow_established=1, flow_killed=1):
        near, far = split_pair(family)
        one_way(near, far, 1000, fin=True)
        wait_for("FIN_WAIT2", lambda: run("ss", "-tnH", "state", "fin-wait-2",
                                          ns="sub").stdout)
        pep.pepadm("dev", "del", "wl0")
        expect_reset(near, 10)
    pep.pepadm("dev", "add", "wl0", "side", "wireless")


def unacked(sock):
    """Number of bytes that an end has sent and its leg has not
    acknowledged."""
    return struct.unpack("i", fcntl.ioctl(sock, 0x5411, bytes(4)))[0]


def send_tail(sock):
    """Send more than the other end's link carries at once, and wait until the
    leg has all of it; return its offset in the stream."""
    offset = next_offset()
    sock.settimeout(SECONDS)
    for piece in pieces(offset, TAIL):
        sock.sendall(piece)
    wait_for("acknowledgments", lambda: not unacked(sock))
    return offset


def tail(family, opener, opened, loss="0%", fin=False):
    """The opener's link is slow; the other end sends and resets."""
    with impaired((FAR[opener],), *SLOW, "loss", loss, single=True):
        with grows(flow_established=1, flow_reset=1, flow_closed=0):
            near, far = split_pair(family, opener, opened)
            one_way(near, far, 100)
            offset = send_tail(far)
            if fin:
                far.shutdown(socket.SHUT_WR)
            reset(far)
            near.settimeout(SECONDS)
            expect_stream(near, offset, TAIL)
            if loss != "0%":
                # The reset may get lost, too.
                end = End(near, BYTES, rate=SLOWLY)
                expect_resets(end)
                return
            expect("the end behind it", outcome(near, 10) in
                   (("FIN", "ECONNRESET") if fin else ("ECONNRESET",)), True)


def early(family, opener, opened):
    """The same for an opener that is answered early."""
    pep.pepadm("profile", "set", "default", "connect", "early")
    try:
        tail(family, opener, opened)
    finally:
        pep.follow("handshake")


families("payload of a server before its reset arrives", "sub", "srv")(tail)
families("payload of a subscriber before its reset arrives", "srv",
         "sub")(tail)
families("connect early: payload before a reset arrives", "sub",
         "srv")(early)
families("before a reset, over a link that loses packets", "sub", "srv",
         "10%")(tail)
families("before a FIN and a reset", "sub", "srv", "0%", True)(tail)


def overtaken(family, opener, opened):
    """They come at the same time, by two queues. The other end must not
    receive the payload past its leg: it would ignore the leg's reset, whose
    number were too old."""
    with impaired(((opened, "eth0"),), "slot", "100ms", "100ms"), \
            grows(flow_established=1, flow_reset=1, reset_over=1,
                  pass_no_flow=0):
        near, far = split_pair(family, opener, opened)
        wire = Wire(opened, peer=FAR[opened])
        one_way(far, near, 1000)
        pep.quiet()
        wire.reset_overtaken()
        expect_reset(near, 10)


families("payload of a server comes behind its reset", "sub",
         "srv")(overtaken)
families("payload of a subscriber comes behind its reset", "srv",
         "sub")(overtaken)


@families("an end that sends behind a FIN and a reset is reset")
def vain(family):
    """Nobody would receive its payload: it must not get a clean end itself."""
    with impaired((FAR["sub"],), *SLOW, single=True):
        with grows(flow_established=1, flow_reset=1, flow_closed=0):
            near, far = split_pair(family)
            one_way(near, far, 100)
            send_tail(far)
            far.shutdown(socket.SHUT_WR)
            wait_for("FIN_WAIT1", lambda: run(
                "ss", "-tnH", "state", "fin-wait-1", ns="pep").stdout)
            reset(far)
            near.settimeout(SECONDS)
            near.sendall(bytes(100))
            near.shutdown(socket.SHUT_WR)
            # The reset may follow the FIN, which recv() reports first.
            if outcome(near, 10) == "FIN":
                wait_for("a reset", lambda: near.getsockopt(
                    socket.SOL_SOCKET, socket.SO_ERROR))


@families("an end that does not read has a deadline")
def deadline(family):
    """The flow then ends by a reset."""
    with grows(flow_established=1, flow_reset=1):
        near, far = split_pair(family)
        one_way(near, far, 100)
        far.setblocking(False)
        try:
            while True:
                far.send(bytes(10000))
        except BlockingIOError:
            pass
        pep.quiet()
        reset(far)
        begun = time.monotonic()
        pep.flows_end(2 * DEADLINE)
        expect_least("seconds", time.monotonic() - begun, DEADLINE - 1)
        expect("the end", outcome(near), "ECONNRESET")


@families("dev del does not wait for payload before a reset")
def deleted(family):
    try:
        with impaired((FAR["sub"],), *SLOW, single=True), \
                grows(flow_established=1, flow_killed=1):
            near, far = split_pair(family)
            one_way(near, far, 100)
            send_tail(far)
            reset(far)
            wait_for("the reset", lambda: "srv" not in run(
                "ss", "-tnH", "state", "established", ns="srv").stdout)
            pep.pepadm("dev", "del", "wl0")
            expect("the end", outcome(near, 20), "ECONNRESET")
    except Failure:
        pep.pepadm("dev", "add", "wl0", "side", "wireless", check=False)
        raise
    pep.pepadm("dev", "add", "wl0", "side", "wireless")


@contextlib.contextmanager
def unrouted(ns, family):
    """The gateway has no route to an end."""
    route = f"unreachable {addr(ns, family)}"
    ip("pep", f"route add {route}", family=family)
    try:
        yield
    finally:
        ip("pep", f"route del {route}", family=family)


@families("no route to an end when its flow is killed", "sub")
@families("no route to an end when its flow is killed, the server", "srv")
def no_route(family, ns):
    """The end sends nothing: the reset reaches it when there is a route."""
    both = pair(family)
    exchange_part(both, 1000)
    lost = both[ns == "srv"]
    with grows(flow_killed=1):
        with unrouted(ns, family):
            pep.pepadm("flow", "kill", "all")
            expect_reset(both[ns == "sub"])
            expect("error without a route",
                   lost.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
        expect_reset(lost, SOON)


@families("no route to an end when the module goes, two resets get lost")
def no_route_unload(family):
    """The module waits for a while with the reset, and repeats it."""
    near, far = pair(family)
    exchange_part((near, far), 1000)
    with two_lost("sub"), futures.ThreadPoolExecutor() as pool:
        with unrouted("sub", family):
            pep.pepadm("flow", "kill", "all")
            pep.flows_end()
            pep.detach()
            unload = pool.submit(pep.unload)
            wait_for("the module to go", going)
        unload.result()
        expect_reset(near, SOON)
    expect_reset(far, SOON)
    anew()


@families("killed while it is handed back, the subscriber is away", "sub")
@families("killed while it is handed back, the server is away", "srv")
def given_up(family, lost):
    """An end to which payload has passed the legs since, and that sends
    nothing, gets a reset with the number that it expects by now."""
    socks = dict(zip(("sub", "srv"), pair(family)))
    away, other = socks.pop(lost), *socks.values()
    exchange_part((away, other), 1000)
    pep.wait_flows(1)
    counter = "bytes_to_wireless" if lost == "sub" else "bytes_to_server"
    held = pep.stat(counter) + 1000
    with grows(flow_killed=1), impaired([FAR[lost]], "loss", "100%"):
        other.sendall(bytes(1000))
        wait_for("payload in a leg", lambda: pep.stat(counter) == held)
        pep.order("flow_release")()
        one_way(away, other, 8000)      # an initial window
        pep.order("flow_kill")()
        expect_reset(other, SOON)
    away.close()


def anew():
    """The module is loaded and attached again."""
    pep.load()
    pep.pepadm("profile", "set", "default", "split", "handshake")
    pep.attach()
    pep.ready()


def going():
    """Does the module wait in its exit function?"""
    try:
        with open("/sys/module/pep/initstate", encoding="ascii") as file:
            return file.read() == "going\n"
    except FileNotFoundError:       # it has gone
        return False
