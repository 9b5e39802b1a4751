# SPDX-License-Identifier: GPL-2.0
"""The gateway retransmits a server's SYN-ACK that is lost on the subscriber's
link, if it knows the link and may split the connection."""

import contextlib
import json
import time

from peptest import pep
from peptest.ktap import (after_case, case, expect, expect_least, fail,
                          families, wait_for)
from peptest.netns import (addr, impaired, link_packets, netem, run,
                           spaces)
from peptest.pep import grows, least, pepadm, split_pair
from peptest.tcp import PORT, accept, client, exchange, listen, one_way

TRAITS = {"simulated", "clocked"}

DELAY = 50              # ms each way, on the wireless link
FAR = 200               # ms, at which the opener repeats its SYN no later
WIRELESS = ("sub", "eth0"), ("pep", "wl0")
LEARNED = 100_000       # bytes, after which the link is known
BYTES = 30_000
SECOND = 1.0            # seconds after which an opener repeats its SYN
SHARE = 16              # kept SYN-ACKs per subscriber
PLAIN = "resume", "on", "control", "off", "split", "handshake"


def setup():
    """Connections are split at their handshake."""
    pep.warmed()


@after_case
def plain():
    """Undo the settings of a case."""
    if pep.loaded() and "pep" in spaces():
        pepadm("profile", "set", "default", *PLAIN)


def link(delay=DELAY):
    """Within, the link has a delay."""
    return impaired(WIRELESS, "delay", f"{delay}ms", "limit", "1000")


def learn(family):
    """Make the link known with its present properties."""
    pepadm("path", "flush", "all")
    sub, srv = split_pair(family)
    one_way(srv, sub, LEARNED, fin=True)
    sub.close()
    srv.close()
    pep.flows_end()


def stages():
    """Stages of the connections in the table."""
    shown = json.loads(pepadm("-j", "conn", "show").stdout)
    return [conn["stage"] for conn in shown]


def begin(family, opener="sub"):
    """A socket with a SYN sent."""
    sock = client(opener, family)
    sock.setblocking(False)
    sock.connect_ex((addr({"sub": "srv", "srv": "sub"}[opener], family),
                     PORT))
    return sock


@contextlib.contextmanager
def lost(count=1, delay=DELAY):
    """Drop all packets to the subscriber, until the gateway has the SYN-ACKs
    of count connections that are begun within."""
    netem("pep", "wl0", "loss", "100%")
    yield
    wait_for("SYN-ACKs", lambda: stages().count("answered") == count)
    netem("pep", "wl0", "delay", f"{delay}ms", "limit", "1000")


def opened(family, opener="sub", delay=DELAY, size=BYTES):
    """Open a connection whose first SYN-ACK is lost on the wireless link, and
    exchange size bytes; return the seconds until it is open."""
    listener = listen({"sub": "srv", "srv": "sub"}[opener], family)
    begun = time.monotonic()
    with lost(delay=delay):
        near = begin(family, opener)
    near.settimeout(60)
    far = accept(listener)
    took = time.monotonic() - begun
    exchange((near, far), size)
    return took


@families("one that is lost is sent again")
def repeated(family):
    """After two round trips and 50 ms, and only once. The leg begins with the
    known properties when it has a sample of the round trip."""
    with link():
        learn(family)
        with grows(synack_repeated=1, follow_established=1,
                   split_handshake=1, resume_jump=least(1), flow_closed=1):
            took = opened(family, size=LEARNED)
    expect_least("seconds", took, 5 * DELAY / 1e3)
    if took > SECOND:
        fail(f"it took {took:.3f} s")


@families("the copy is lost, too: the opener's SYN comes again")
def twice(family):
    listener = listen("srv", family)
    with link():
        learn(family)
        before = pep.stats()["synack_repeated"]
        with grows(synack_repeated=1, follow_established=1, flow_closed=1):
            netem("pep", "wl0", "loss", "100%")
            begun = time.monotonic()
            near = begin(family)
            wait_for("the copy", lambda: pep.stats()["synack_repeated"] >
                     before)
            netem("pep", "wl0", "delay", f"{DELAY}ms", "limit", "1000")
            near.settimeout(60)
            far = accept(listener)
            took = time.monotonic() - begun
            exchange((near, far), BYTES)
    expect_least("seconds", took, SECOND)


@families("none is lost: none is sent again")
def arrives(family):
    """Not even after the timeout."""
    with link():
        learn(family)
        with grows(synack_repeated=0, flow_closed=1):
            ends = split_pair(family)
            time.sleep(SECOND)
            exchange(ends, BYTES)


def unlike(family, prepare, opener="sub", delay=DELAY, **counted):
    """The first SYN-ACK is lost, and the waiting end repeats its SYN."""
    with link(delay):
        learn(family)
        prepare()
        with grows(synack_repeated=0, **counted):
            took = opened(family, opener, delay)
    expect_least("seconds", took, SECOND)


@families("resume off: none is sent again")
def without(family):
    unlike(family, lambda: pepadm("profile", "set", "default", "resume",
                                  "off"), flow_closed=1)


@families("the link is not known: none is sent again")
def unknown(family):
    unlike(family, lambda: pepadm("path", "flush", "all"), flow_closed=1)


@families("the connection is never split: none is sent again")
def never(family):
    unlike(family, lambda: pepadm("profile", "set", "default", "split",
                                  "never"), flow_established=0,
           follow_closed=1)


@families("too long a round trip: none is sent again")
def far_away(family):
    """The opener would repeat its SYN by then."""
    unlike(family, lambda: None, delay=FAR, flow_closed=1)


@families("the opener has given up: its reset of the copy ends the connection")
def given_up(family):
    listen("srv", family)
    with link():
        learn(family)
        with grows(synack_repeated=1, follow_reset=1):
            with lost():
                near = begin(family)
            near.close()
            wait_for("the end", lambda: "answered" not in stages())


def several(family, count):
    """Open connections whose first SYN-ACKs are lost, and use them; return the
    growth of counters, (SYN-ACKs sent again, connections split)."""
    listener = listen("srv", family)
    before = pep.stats()
    with link():
        with lost(count):
            near = [begin(family) for _ in range(count)]
        by_name = {}
        for _ in range(count):
            sock = accept(listener)
            by_name[sock.getpeername()[:2]] = sock
        for sock in near:
            sock.settimeout(60)
            exchange((sock, by_name[sock.getsockname()[:2]]), 100)
        pep.flows_end()
    after = pep.stats()
    return [after[name] - before[name]
            for name in ("synack_repeated", "split_handshake")]


@families("no more than its share of a subscriber's")
def share(family):
    with link():
        learn(family)
    expect("sent again, and split", several(family, SHARE + 8),
           [SHARE, SHARE + 8])


@families("the control group: none is sent again")
def control(family):
    """Half of the connections are in it, by chance."""
    with link():
        learn(family)
    pepadm("profile", "set", "default", "control", "50%")
    again, split = several(family, SHARE)
    expect("sent again", again, split)
    expect_least("connections of the control group", SHARE - split, 1)
    expect_least("others", split, 1)


@case("the module goes while one is kept")
def unloaded():
    """Unloading waits for the kept SYN-ACK; the connection goes on without
    the module."""
    listener = listen("srv", 4)
    with link():
        learn(4)
        with lost():
            near = begin(4)
        pep.detach()
        pep.unload()
        near.settimeout(60)
        exchange((near, accept(listener)), BYTES)
    pep.load()
    pep.attach()


@case("the namespace goes while one is kept")
def vanished():
    """Its deletion waits for the kept SYN-ACK, and completes."""
    listen("srv", 4)
    with link():
        learn(4)
        netem("pep", "wl0", "loss", "100%")
        begin(4)
        wait_for("the SYN-ACK", lambda: "answered" in stages())
        run("ip", "netns", "del", "pep")
        wait_for("its end", lambda: "eth0" not in link_packets("sub"))
