# SPDX-License-Identifier: GPL-2.0
"""A connection of which one direction bypasses the gateway works unsplit, as
without pep, and pep keeps no state of it. A connection whose path has changed
since its handshake is not split either, until it comes back. One that is split
already is handed back. Packets bypass it by the link of peptest/bypass.py.
"""

import errno
import itertools
import socket
import threading
import time

from peptest import bypass, pep
from peptest.bypass import OTHER, around, split
from peptest.env import KERNEL
from peptest.firewall import ruled
from peptest.ktap import expect, families, wait_for
from peptest.netns import WIRELESS, impaired, ip, nstat
from peptest.pep import grows, least
from peptest.raw import SYN, Wire, renumbered
from peptest.tcp import (PORT, client, close_all, exchange, exchange_part,
                         expect_eof, expect_stream, one_way, outcome, pair,
                         send_stream)

TRAITS = {"waits", "simulated"}

BYTES = 100000
LITTLE = 5000           # bytes, below the trigger
FAR = 20000000          # bytes, more than any window
BULK = 5000000          # bytes, for 2 s of the link
FLIGHT = 0.5            # seconds
FORGED = 1000, FAR      # bytes that nobody has sent
# Seconds behind a forged packet: the second comes soon after a question,
# the third more than a second later.
PAUSES = 5 * (0.7, 1.2)
DEVICE = {"sub": "wl0", "srv": "sv0"}
RESET = 30              # seconds within which ends are reset
SPLIT = "12000"
HEARD = 2               # seconds, after which an end counts as silent
FORGOTTEN = 160         # seconds, limit for forgetting an unanswered SYN
SILENT = {4: "198.18.13.9", 6: "2001:db8:13::9"}


def setup():
    """The link beside the gateway; networks 13 are silent."""
    pep.warmed()
    bypass.linked()
    ip("srv", "route add blackhole 198.18.13.0/24",
       "route add blackhole 2001:db8:13::/64")
    ip("pep", "route add 198.18.13.0/24 via 198.18.1.2",
       "route add 2001:db8:13::/64 via 2001:db8:1::2")


def answers(family, opener, opened):
    """No answer passes the gateway, for the first connection as for the next
    ones; connections to the same destination are split as soon as they do."""
    with around(family, opened):
        for _ in range(3):
            with grows(follow_new=1, pass_followed=least(3),
                       follow_established=0, flow_established=0,
                       delivered=0):
                exchange(pair(family, opener, opened), BYTES)
    with grows(split_handshake=1, flow_closed=1):
        exchange(pair(family, opener, opened), BYTES)


def opening(family, opener, opened):
    """The SYN and all packets of the opener bypass the gateway, only answers
    pass it: they belong to no connection."""
    with around(family, opener):
        for _ in range(3):
            with grows(follow_new=0, pass_no_flow=least(3),
                       flow_established=0, delivered=0):
                exchange(pair(family, opener, opened), BYTES)
    with grows(split_handshake=1, flow_closed=1):
        exchange(pair(family, opener, opened), BYTES)


for _opener, _opened in ("sub", "srv"), ("srv", "sub"):
    families(f"answers around the gateway, {_opener} opens", _opener,
             _opened)(answers)
    families(f"the opener's packets around the gateway, {_opener} opens",
             _opener, _opened)(opening)


def changed(family, moved):
    """The handshake and some payload pass the gateway; later the packets of
    one end do not. The other end's payload exceeds the trigger and would be
    lost in a leg that receives nothing."""
    pep.follow(SPLIT)
    try:
        with grows(follow_established=1, flow_established=0, flow_reset=0,
                   delivered=0):
            near, far = pair(family)
            ends = {"sub": near, "srv": far}
            exchange_part((near, far), LITTLE)
            with around(family, moved):
                time.sleep(HEARD)
                one_way(ends[OTHER[moved]], ends[moved], BYTES)
                one_way(ends[moved], ends[OTHER[moved]], BYTES)
                one_way(ends[OTHER[moved]], ends[moved], BYTES)
                exchange((near, far), BYTES)
    finally:
        pep.follow("handshake")


for _ns in OTHER:
    families(f"since the handshake {_ns}'s packets take another way",
             _ns)(changed)


@families("the server's packets take another way and come back")
def returned(family):
    """Payload and acknowledgments have bypassed the gateway. The next ones
    show how far the ends are: from there the connection is split."""
    pep.follow(SPLIT)
    try:
        with grows(follow_established=1, flow_established=1, flow_reset=0,
                   flow_closed=1, follow_unseen=least(1)):
            both = pair(family)
            exchange_part(both, LITTLE)
            with around(family, "srv"):
                time.sleep(HEARD)
                exchange_part(both, LITTLE)
            expect("flows", pep.stat("flows"), 0)
            exchange_part(both, BYTES)
            exchange(both, BYTES)
    finally:
        pep.follow("handshake")


def one_direction(family, moved):
    """One end's packets do not come to its leg any more, and the other end
    acknowledges to a leg that has not sent them."""
    with grows(follow_detour=1, flow_released=1, flow_reset=0,
               flow_killed=0):
        ends = split(family)
        with around(family, moved):
            one_way(ends[moved], ends[OTHER[moved]], BYTES)
            one_way(ends[OTHER[moved]], ends[moved], BYTES)
            exchange(tuple(ends.values()), BYTES)


def old(ns):
    """Number of packets that an end has dropped for their clock (PAWS)."""
    newer = ("TcpExtPAWSOldAck",) if KERNEL == "next" else ()
    return nstat(ns, "TcpExtPAWSEstab", *newer)


def both_directions(family, sender, size):
    """Both ends' packets bypass the gateway and come back. One end has sent
    payload meanwhile, and sends more when they are back; the other end has
    nothing to send but acknowledgments. No question to it is older than what
    it has seen: since 6.14 it would not answer."""
    with grows(follow_detour=1, flow_released=1, flow_established=2,
               flow_closed=1, flow_reset=0, flow_killed=0):
        ends = split(family)
        with around(family, "sub"), around(family, "srv"):
            one_way(ends[sender], ends[OTHER[sender]], size)
        before = old(OTHER[sender])
        one_way(ends[sender], ends[OTHER[sender]], BYTES)
        expect("packets older than what the other end has seen",
               old(OTHER[sender]) - before, 0)
        one_way(ends[OTHER[sender]], ends[sender], BYTES)
        exchange(tuple(ends.values()), BYTES)


for _ns in OTHER:
    families(f"{_ns}'s packets of a split connection take another way",
             _ns)(one_direction)
    families("a split connection takes another way and comes back, "
             f"{_ns} has sent little", _ns, LITTLE)(both_directions)
    families("a split connection takes another way and comes back, "
             f"{_ns} has sent much", _ns, FAR)(both_directions)


@families("a split connection takes another way again and again")
def flapping(family):
    """After the third time it is not split any more."""
    with grows(follow_detour=3, flow_released=3, flow_established=3,
               split_pass_route=1, flow_reset=0, flow_killed=0):
        ends = split(family)
        both = tuple(ends.values())
        for _ in range(3):
            with around(family, "sub"), around(family, "srv"):
                one_way(ends["sub"], ends["srv"], LITTLE)
            exchange_part(both, BYTES)
        exchange(both, BYTES)


@families("a split connection takes another way and comes back, both send")
def both_sent(family):
    """Neither end sends what its leg expects."""
    with grows(follow_detour=1, flow_released=1, flow_established=2,
               flow_closed=1, flow_reset=0, flow_killed=0):
        both = tuple(split(family).values())
        with around(family, "sub"), around(family, "srv"):
            exchange_part(both, FAR)
        exchange_part(both, BYTES)
        exchange(both, BYTES)


@families("a split connection takes another way and comes back in full flight")
def in_flight(family):
    """Payload and acknowledgments of both directions are under way both
    times."""
    def away():
        time.sleep(FLIGHT)
        with around(family, "sub"), around(family, "srv"):
            time.sleep(FLIGHT)

    with grows(flow_reset=0, flow_killed=0), \
            impaired(WIRELESS + bypass.LINK, "delay", "20ms", "rate",
                     "20mbit"):
        both = tuple(split(family).values())
        moving = threading.Thread(target=away)
        moving.start()
        exchange_part(both, BULK)
        moving.join()
        exchange(both, BYTES)


@families("a half-closed split connection takes another way and comes back")
def half_closed(family):
    """A leg cannot hand the FIN back, and nothing would move: both ends are
    reset."""
    with grows(follow_detour=1, flow_killed=1, flow_released=0):
        ends = split(family)
        ends["sub"].shutdown(socket.SHUT_WR)
        expect_eof(ends["srv"])
        with around(family, "sub"), around(family, "srv"):
            one_way(ends["srv"], ends["sub"], BYTES)
        ends["srv"].sendall(bytes(LITTLE))
        expect("subscriber", outcome(ends["sub"], RESET), "ECONNRESET")
        expect("server", wait_for(
            "its reset", lambda: ends["srv"].getsockopt(
                socket.SOL_SOCKET, socket.SO_ERROR), RESET), errno.EPIPE)
        close_all()


@families("forged packets of the subscriber hand nothing back", "sub")
@families("forged packets of the server hand nothing back", "srv")
@families("forged packets of both ends hand nothing back", "sub", "srv")
def forged(family, *froms):
    """They acknowledge what nobody has sent, within the window and beyond, and
    those of both ends fit each other. The ends are asked, and answer."""
    with grows(follow_detour=0, flow_closed=1, flow_reset=0, flow_killed=0):
        wires = {ns: Wire(ns, "eth0", ("pep", DEVICE[ns])) for ns in froms}
        ends = split(family)
        acks = {ns: [seen for seen in wire.segments(outgoing=True)
                     if not seen.data][-1] for ns, wire in wires.items()}
        for ahead, pause in itertools.product(FORGED, PAUSES):
            for ns, wire in wires.items():
                wire.send(renumbered(
                    acks[ns], seq=ahead * (len(froms) - 1), ack=ahead))
            time.sleep(pause)
        exchange(tuple(ends.values()), BYTES)


@families("forged packets of an end that does not answer hand nothing back")
def forged_silent(family):
    """Its payload is under way. Their number is not the one that its leg
    expects, which others cannot know, nor are their clocks."""
    wire = Wire("sub", "eth0", ("pep", "wl0"))
    with grows(follow_detour=0, flow_closed=1, flow_reset=0, flow_killed=0):
        ends = split(family)
        seen = wire.segments(outgoing=True)[-1]
        with ruled("sub", "output", "meta l4proto tcp drop"):
            answer = send_stream(ends["srv"], LITTLE)
            for pause in PAUSES:
                wire.send(renumbered(seen, seq=LITTLE, ack=FAR))
                wire.send(renumbered(seen, seq=-LITTLE, ack=FAR,
                                     clock=1 << 30))
                time.sleep(pause)
        expect_stream(ends["sub"], answer, LITTLE)
        exchange(tuple(ends.values()), BYTES)


def syns(wire, source):
    """Number of SYNs from an address, captured by a wire."""
    return sum(bool(seen.flags & SYN) and seen.src == source
               for seen in wire.segments())


@families("a client that gives up is forgotten, nothing is sent for it",
          seconds=FORGOTTEN + 60)
def gives_up(family):
    """Exactly one SYN reaches the server's wire, and the gateway's stack sends
    none."""
    wire = Wire("srv", "eth0", ("pep", "sv0"))
    sock = client("sub", family)
    sock.setblocking(False)
    sent = nstat("pep", "TcpOutSegs", "TcpRetransSegs")
    followed = pep.stat("followed")
    with grows(follow_new=1, follow_silent=least(1), follow_established=0,
               flow_established=0) as before:
        sock.connect_ex((SILENT[family], PORT))
        first = wire.find(lambda seen: seen.flags & SYN)
        sock.close()
        wait_for("the connection to be forgotten",
                 lambda: pep.stat("follow_silent") >
                 before["follow_silent"] and
                 pep.stat("followed") <= followed, FORGOTTEN)
    expect("SYNs behind the first", syns(wire, first.src), 0)
    expect("segments of the gateway",
           nstat("pep", "TcpOutSegs", "TcpRetransSegs"), sent)
