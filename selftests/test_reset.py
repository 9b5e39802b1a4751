# SPDX-License-Identifier: GPL-2.0
"""A reset of one end reaches the other as a reset, never as a clean end:
amidst a transfer and on an idle connection, from each end, whichever side
opened."""

import errno
import socket

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, families, wait_for
from peptest.netns import addr, run
from peptest.pep import grows
from peptest.raw import FIN, RST, Wire, segment
from peptest.tcp import (End, expect_reset, one_way, outcome, pair, pump,
                         reset, start)

BYTES = amount(2000000)
FLOWS = 30
RATE = BYTES // FLOWS // 2     # bytes per second and end
setup = pep.warmed


def expect_resets(*ends):
    """Fail unless ends that go on sending are reset; that way a reset that
    got lost is sent again."""
    pump(ends)
    for end in ends:
        expect("error", errno.errorcode.get(end.error), "ECONNRESET")


def busy(family, opener, opened, end):
    """Amidst a transfer."""
    with grows(flow_established=1, flow_reset=1, flow_closed=0):
        both = pair(family, opener, opened)
        ends = [End(sock, BYTES * 100) for sock in both]
        pump(ends, until=lambda: min(e.received for e in ends) > BYTES)
        reset(both[end])
        expect_resets(ends[1 - end])


def idle(family, opener, opened, end):
    """On an idle connection."""
    with grows(flow_established=1, flow_reset=1, flow_closed=0):
        both = pair(family, opener, opened)
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
    """At once, so that resets meet the relay at work on another CPU."""
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
    """Payload on its way, then a reset: no clean end."""
    with grows(flow_established=1, flow_reset=1, flow_closed=0):
        near, far = pair(family, opener, opened)
        far.send(bytes(30000))
        near.send(bytes(30000))
        reset(near)
        expect("the other end's end", outcome(far), "ECONNRESET")


@families("both directions have ended, the last payload is under way")
def ended(family):
    """The flow is killed then: who waits for the rest hears of it. Nothing
    but resets gets to the subscriber meanwhile."""
    run("nft", "add table inet lost; add chain inet lost input "
        "{ type filter hook prerouting priority 0; }", ns="sub")
    with grows(flow_established=1, flow_killed=1):
        near, far = pair(family)
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


@families("late resets of an end that is closed", "sub", "srv")
@families("late resets of an end that is closed, the server", "srv", "sub")
def late(family, closed, opened):
    """A closed socket resets what comes late. The first reset takes the leg's
    TIME_WAIT, the next one has nobody; the other end, which waits for a FIN
    that gets lost, must not hear of it."""
    gateway = {"sub": ("pep", "wl0"), "srv": ("pep", "sv0")}[closed]
    with grows(flow_established=1, flow_closed=1, flow_reset=0,
               reset_over=1) as before:
        near, far = pair(family, closed, opened)
        one_way(near, far, 20000)
        run("nft", "add table inet lost; add chain inet lost input "
            "{ type filter hook prerouting priority 0; }", ns=opened)
        wire = Wire(closed, peer=gateway)
        run("nft", "add", "rule", "inet", "lost", "input",
            "tcp flags & fin != 0 drop", ns=opened)
        far.shutdown(socket.SHUT_WR)
        expect("the end of the other direction", outcome(near), "FIN")
        sport = near.getsockname()[1]
        near.close()
        fin = wire.find(lambda seen: seen.flags & FIN and seen.sport == sport,
                        outgoing=True)
        wait_for("the closed socket", lambda: not run(
            "ss", "-tnH", "sport", "=", str(sport), ns=closed).stdout)
        for number in fin.ends, fin.ends - 1:
            wire.send(segment(addr(closed, family), addr(opened, family),
                              sport, fin.dport, flags=RST, seq=number))
        wire.close()
        wait_for("the second reset", lambda: pep.stat("reset_over") >
                 before["reset_over"])
        run("nft", "delete", "table", "inet", "lost", ns=opened)
        expect("the other end's end", outcome(far, 20), "FIN")
        far.close()
        pep.flows_end()
