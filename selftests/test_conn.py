# SPDX-License-Identifier: GPL-2.0
"""Followed connections, as pepadm conn shows them: their stages, the state of
each end from its packets, filters, dumps in many parts, and their records at
the end."""

import errno
import json
import os
import re
import struct
import time

from peptest import env, genl, pep
from peptest.absent import SERVER as NOBODY, SUBSCRIBER, Absent, neighbours
from peptest.env import amount
from peptest.ktap import (case, expect, expect_between, expect_least,
                          expect_most, fail, families, note, wait_for)
from peptest.monitor import monitor
from peptest.netns import (addr, delayed, netem, netem_end, run,
                           single_packets)
from peptest.pep import pepadm
from peptest.raw import ACK, FIN, RST, SYN, Wire, inet, segment
from peptest.tcp import (PORT, connect_errno, exchange, exchange_part,
                         one_way, outcome, pair, reset)

TRAITS = {"simulated"}

COMMANDS = {name: number for number, name in genl.names("PEP_CMD_").items()}
ATTRS = {name: number for number, name in genl.names("PEP_A_CONN_").items()}
NETS = {4: "198.18.0.0/16", 6: "2001:db8::/64"}
# MSS 1400, SACK, timestamps, a window scale of 9
OPTIONS = (b"\2\4\5\x78" b"\4\2" b"\x08\x0a\0\0\0\1\0\0\0\0" b"\1"
           b"\3\3\x09")
# Number of connections that stay during a dump.
CRUMBS = 1500           # packets of one byte
CRUMB_MEMORY = 256      # bytes of a copy of one
STAY = max(amount(600), 300)
FILE = "/tmp/pep-flows"


def setup():
    """Attached, with followed connections and no split ones; SYNs to some
    addresses of the server's network are never answered."""
    pep.load()
    pep.topology_up()
    neighbours()
    single_packets("srv", "eth0")
    pep.attach()
    for family in 4, 6:
        exchange(pair(family), 1)
    pep.follow("never")


def shown(*words):
    """Connections from pepadm's JSON output."""
    return json.loads(pepadm("-j", "conn", "show", *words).stdout)


def ports(*words):
    """Ports of the subscribers of the shown connections."""
    return sorted(conn["subscriber"]["port"] for conn in shown(*words))


def names(conns):
    """Both ends' addresses and ports of each connection."""
    return {tuple(conn[end][part] for end in ("subscriber", "server")
                  for part in ("addr", "port")) for conn in conns}


def port_of(both):
    """Port of the opener."""
    return both[0].getsockname()[1]


def one(family, port, *words):
    """The only connection of a family with a port of the subscriber."""
    found, = shown("subscriber", NETS[family],
                   "subscriber-port", str(port), *words)
    return found


def about(what, us, milliseconds):
    """Fail unless a time is as long as expected, and not much longer."""
    expect_between(f"us of {what}", us, milliseconds * 990,
                   milliseconds * 1000 + 100000)


@families("one whose SYN has passed")
def opening(family):
    port = 2000 + family
    wire = Wire("sub")
    wire.send(segment(addr("sub", family), NOBODY[family], port, 5009,
                      flags=SYN, seq=77, options=OPTIONS))
    wait_for("the SYN", lambda: ports("subscriber-port", str(port)))
    conn = one(family, port)
    for key, value in {
            "family": "inet" if family == 4 else "inet6",
            "subscriber": {"addr": addr("sub", family), "port": port},
            "server": {"addr": NOBODY[family], "port": 5009},
            "stage": "opening", "opener": "wireless", "trigger": [],
            "due": [], "copies": 0}.items():
        expect(key, conn[key], value)
    expect("is there a flow", "flow" in conn, False)
    end, = conn["ends"].values()
    # One is measured in ticks, the other is not.
    if not 0 <= conn["idle_ms"] <= conn["age_ms"] + 20 < 30000:
        fail(f"it is {conn['age_ms']} ms old")
    del end["ifindex"]
    expect("the opener", conn["ends"], {"wireless": {
        "dev": "wl0", "bytes": 0, "repeated": 0, "unacked": 0, "mss": 1400,
        "wscale": 9, "flags": ["wscale", "sack", "timestamps"]}})
    wire.send(segment(addr("sub", family), NOBODY[family], port, 5009,
                      flags=RST, seq=78))
    wait_for("its end", lambda: not ports("subscriber-port", str(port)))


@families("one that is followed, opened by the subscriber", "sub", "srv")
@families("one that is followed, opened by the server", "srv", "sub")
def followed(family, opener, opened):
    """Packets of the subscriber take 30 ms, those of the server 80; the opener
    sends 3000 bytes and the other end 50000."""
    netem("sub", "eth0", "delay", "30ms")
    netem("srv", "eth0", "delay", "80ms")
    try:
        both = pair(family, opener, opened)
        exchange_part(both, 3000, 50000)
    finally:
        netem_end("sub", "eth0")
        netem_end("srv", "eth0")
    up = opener == "sub"
    near, far = both if up else both[::-1]
    port = near.getsockname()[1]
    word = "subscriber-port"
    wait_for("acknowledgments", lambda: not any(
        end["unacked"] for conn in shown(word, str(port), "server", addr(
            "srv", family)) for end in conn["ends"].values()))
    conn = one(family, port, "server-port", str(far.getsockname()[1]))
    expect("stage", conn["stage"], "followed")
    expect("opener", conn["opener"], "wireless" if up else "server")
    expect("triggers", conn["trigger"], [])
    if conn["age_ms"] < 110:
        fail(f"it is {conn['age_ms']} ms old")
    sent = (3000, 50000) if up else (50000, 3000)
    for side, dev, size, delay in (("wireless", "wl0", sent[0], 30),
                                   ("server", "sv0", sent[1], 80)):
        end = conn["ends"][side]
        about(f"{side}: round trip", end["rtt_us"], delay)
        expect(f"{side}", [end[key] for key in ("dev", "unacked", "flags")],
               [dev, 0, ["wscale", "sack", "timestamps"]])
        # The end may have sent a tail loss probe.
        expect(f"{side}: bytes", end["bytes"] - end["repeated"], size)
        expect_most(f"{side}: repeated", end["repeated"], 1500)
        expect(f"{side}: MSS", end["mss"], 1460 if family == 4 else 1440)
        expect_least(f"{side}: window scale", end["wscale"], 1)
    near.close()
    far.close()


@families("payload that is lost behind the gateway, and sent again")
def repeated(family):
    size = 400000
    netem("pep", "wl0", "loss", "10%")
    try:
        both = pair(family)
        one_way(both[1], both[0], size)
    finally:
        netem_end("pep", "wl0")
    ends = one(family, port_of(both))["ends"]
    again = ends["server"]["repeated"]
    expect_least("bytes sent again", again, 1000)
    expect_least("bytes", ends["server"]["bytes"], size + again)
    expect("of the subscriber", (ends["wireless"]["bytes"],
                                 ends["wireless"]["repeated"]), (0, 0))
    for sock in both:
        sock.close()


@families("no round trip of a handshake that was repeated")
def no_sample(family):
    """With a round trip of 20 ms to either end; with one SYN, then with
    two."""
    for syns in 1, 2:
        hosts = Absent(family)
        for _ in range(syns):
            hosts.up(flags=SYN, seq=999)
        time.sleep(0.02)
        hosts.down(flags=SYN | ACK, seq=10, ack=1000)
        wait_for("the answer", lambda h=hosts: h.shown()["stage"] ==
                 "answered")
        expect("ends", sorted(hosts.shown()["ends"]), ["server", "wireless"])
        time.sleep(0.02)
        hosts.up(seq=1000, ack=11)
        wait_for("the handshake", lambda h=hosts: h.shown()["stage"] ==
                 "followed")
        for end in hosts.shown()["ends"].values():
            expect("is there a round trip", "rtt_us" in end, syns == 1)
            expect("MSS", end["mss"], 536)
            expect("options", (end["flags"], end["wscale"]), ([], 0))
        hosts.end()


@families("payload that begins in the window and ends beyond it")
def beyond(family):
    """The receiver may take the part that it has room for."""
    hosts = Absent(family)
    with pep.grows(ended=False, follow_unseen=0):
        hosts.open(window=500)
        hosts.down(seq=10, ack=1000, payload=bytes(1000))
        hosts.until("server", bytes=1000, unacked=1000)
        hosts.up(seq=1000, ack=510, window=500)
        hosts.until("server", unacked=500)
        hosts.down(seq=510, ack=1000, payload=bytes(500))
        hosts.until("server", bytes=1500, repeated=500)
        hosts.up(seq=1000, ack=1010)
        hosts.until("server", unacked=0)
    hosts.end()


def stamp(value):
    """An option with a clock."""
    return b"\x01\x01\x08\x0a" + struct.pack("!II", value, 1)


def clock(hosts):
    """The server's clock as a file of pepadm flow save has it."""
    pepadm("flow", "save", FILE)
    with open(FILE, encoding="ascii") as file:
        line, = (line for line in file if f" {hosts.port} " in line)
    os.unlink(FILE)
    return int(re.search(r"server-tsval (\d+)", line)[1])


@families("a clock that begins with 0")
def zero(family):
    """TCP takes that for no clock, and another one is not older than it."""
    hosts = Absent(family)
    hosts.open(options=stamp(7), syn=stamp(5), synack=stamp(0))
    for value, wanted in (3 << 30, 3 << 30), (2 << 30, 3 << 30):
        sent = hosts.shown()["ends"]["server"]["bytes"]
        hosts.down(seq=10 + sent, ack=1000, payload=b"x", options=stamp(value))
        hosts.until("server", bytes=sent + 1)
        expect("clock", clock(hosts), wanted)
    hosts.end()


@families("a clock that is older than one that was imported")
def older(family):
    hosts = Absent(family)
    hosts.open(options=stamp(7), syn=stamp(5), synack=stamp(70))
    pepadm("flow", "save", FILE)
    hosts.end()
    pepadm("flow", "restore", FILE)
    hosts.down(seq=10, ack=1000, payload=b"x", options=stamp(60))
    hosts.until("server", bytes=1)
    expect("clock", clock(hosts), 70)
    hosts.end()


@families("a report of a duplicate is no sign of a loss")
def duplicate(family):
    """A subscriber sends one, RFC 2883, for what a server has repeated."""
    def sack(begin, end):
        return b"\x01\x01\x05\x0a" + struct.pack("!II", begin, end)

    pep.follow("loss")
    hosts = Absent(family)
    permitted = b"\x01\x01\x04\x02"
    hosts.open(syn=permitted, synack=permitted)
    with pep.grows(ended=False, split_loss=0):
        for at in 10, 110:
            hosts.down(seq=at, ack=1000, payload=bytes(100))
            hosts.until("server", unacked=100)
            hosts.up(seq=1000, ack=at + 100, options=sack(at, at + 100))
            hosts.until("server", unacked=0)
    with pep.grows(ended=False, split_loss=1, flow_established=1) as before:
        for at in 210, 310:
            hosts.down(seq=at, ack=1000, payload=bytes(100))
        hosts.until("server", unacked=200)
        hosts.up(seq=1000, ack=210, options=sack(310, 410))
        wait_for("a flow", lambda: pep.stat("split_loss") >
                 before["split_loss"])
    hosts.end()
    pep.follow("never")


@families("payload that an acknowledgment has overtaken")
def overtaken(family):
    """Its own acknowledgment is older than the first that the leg has seen:
    TCP takes payload with one that is as old as a window."""
    pep.follow("2000")
    hosts = Absent(family)
    hosts.open()
    hosts.down(seq=10, ack=1000, payload=bytes(1000))
    hosts.until("server", unacked=1000)
    hosts.up(seq=1000, ack=1010)
    hosts.until("server", unacked=0)
    hosts.down(seq=1010, ack=1000, payload=bytes(1400))
    wait_for("a flow", lambda: pep.stat("flows"))
    hosts.up(seq=1000, ack=10, payload=bytes(50))
    wait_for("payload", lambda: pep.flows()[0]["legs"]["wireless"][
        "bytes_received"] == 50)
    expect("acknowledged to the leg", pep.flows()[0]["legs"]["wireless"][
        "bytes_acked"], 0)
    pepadm("flow", "kill", "all")
    pep.flows_end()
    pep.follow("never")


@families("payload behind a hole that nobody acknowledges")
def unclaimed(family):
    """Its copy goes after half a minute, and a sweep."""
    pep.follow("1000000")
    hosts = Absent(family)
    hosts.open()
    hosts.down(seq=2010, ack=1000, payload=bytes(1000))
    hosts.until("server", bytes=1000)
    expect_least("memory of copies", hosts.shown()["copies"], 1000)
    since = time.monotonic()
    wait_for("its end", lambda: not hosts.shown()["copies"], 60)
    expect_between("seconds", time.monotonic() - since, 29, 50)
    hosts.end()
    pep.follow("never")


@families("small payload behind a hole, thousands of times")
def crumbs(family):
    """Copies are bounded in their number, too."""
    pep.follow("1000000")
    hosts = Absent(family)
    hosts.open()
    for at in range(1, CRUMBS):
        hosts.down(seq=10 + 2 * at, ack=1000, payload=b"x")
    hosts.until("server", bytes=CRUMBS - 1)
    expect_most("memory of copies", hosts.shown()["copies"],
                1024 * CRUMB_MEMORY)
    hosts.end()
    pep.follow("never")


@families("a FIN behind a hole, which is not sent again")
def fin_ahead(family):
    hosts = Absent(family)
    hosts.open()
    hosts.down(flags=FIN | ACK, seq=1010, ack=1000)
    hosts.down(seq=10, ack=1000, payload=bytes(1000))
    hosts.until("server", bytes=1000)
    with pep.grows(ended=False, follow_closed=1, follow_unseen=0):
        hosts.up(seq=1000, ack=1011)
        hosts.up(flags=FIN | ACK, seq=1000, ack=1011)
        wait_for("both FINs", lambda: hosts.shown()["stage"] == "closing")


@families("packets that a third party may guess")
def guessed(family):
    """An acknowledgment that is older than any window, or a clock with an old
    one, is nobody's: TCP ignores such packets."""
    hosts = Absent(family)
    hosts.open(window=1000)
    hosts.down(seq=10, ack=1000, payload=bytes(500))
    hosts.up(seq=1000, ack=510)
    hosts.until("server", bytes=500, unacked=0)
    for ack in 1000 - (1 << 20), 1000 - (1 << 30):
        hosts.down(seq=510, ack=ack, payload=bytes(300))
    hosts.down(seq=510, ack=1000, payload=bytes(200))
    hosts.until("server", bytes=700)
    hosts.end()


@families("one host in the name of two ends")
def spoofed(family):
    """Its connection is not followed, and nothing is learned of a subscriber;
    where a device leads to both ends it is."""
    wire = Wire("sub")
    ends = SUBSCRIBER[family], NOBODY[family], 41000, PORT
    back = NOBODY[family], SUBSCRIBER[family], PORT, 41000
    pepadm("path", "flush", "all")
    with pep.grows(ended=False, follow_new=1, follow_spoofed=1,
                   follow_established=0):
        wire.send(segment(*ends, flags=SYN, seq=999))
        wire.send(segment(*back, flags=SYN | ACK, seq=9, ack=1000))
        wire.send(segment(*ends, flags=ACK, seq=1000, ack=10))
        wait_for("its end", lambda: not ports("subscriber-port", "41000"))
    expect("subscribers", json.loads(pepadm(
        "-j", "path", "show", "subscriber", SUBSCRIBER[family]).stdout), [])


@families("payload that has passed unseen is acknowledged")
def unseen(family):
    """It counts, unless it is outside of the window, and may be forged. The
    connection goes on with the next payload that passes."""
    pep.follow("5000")
    hosts = Absent(family)
    hosts.open()
    hosts.down(seq=10, ack=1000, payload=bytes(1000))
    hosts.until("server", bytes=1000)
    with pep.grows(ended=False, follow_unseen=0):
        hosts.up(seq=200000, ack=3010)
        hosts.up(seq=1000, ack=1010)
        hosts.until("server", unacked=0)
    expect("triggers", hosts.shown()["trigger"], ["bytes"])
    with pep.grows(ended=False, follow_unseen=1, split_bytes=1):
        hosts.up(seq=1000, ack=3010)
        hosts.down(seq=3010, ack=1000, payload=bytes(1000))
        hosts.until("server", bytes=2000)
        hosts.up(seq=1000, ack=4010)
        hosts.until("server", unacked=0)
        for at in range(4010, 10010, 1000):
            hosts.down(seq=at, ack=1000, payload=bytes(1000))
        hosts.up(seq=1000, ack=10010)
        pep.wait_flows(1)
    hosts.end()
    pep.flows_end()
    pep.follow("never")


@families("payload passes unseen of ends that take turns")
def turns(family):
    """Each acknowledges with payload of its own, which counts as well: the
    reply to it would be beyond all that is known."""
    pep.follow("5000")
    hosts = Absent(family)
    hosts.open()
    with pep.grows(ended=False, follow_unseen=1, split_bytes=1):
        hosts.down(seq=10, ack=1000, payload=bytes(500))
        hosts.until("server", bytes=500)
        hosts.up(seq=1000, ack=70010, payload=bytes(100))
        hosts.down(seq=70010, ack=1100, payload=bytes(500))
        hosts.until("server", bytes=1000)
        for at in range(70510, 74510, 1000):
            hosts.down(seq=at, ack=1100, payload=bytes(1000))
        hosts.up(seq=1100, ack=74510)
        hosts.until("server", bytes=5000, unacked=0)
        expect("flows after 4500 bytes in a turn", pep.stat("flows"), 0)
        hosts.down(seq=74510, ack=1100, payload=bytes(1000))
        hosts.up(seq=1100, ack=75510)
        pep.wait_flows(1)
    hosts.end(1100)
    pep.flows_end()
    pep.follow("never")


@families("payload passes unseen before ends finish")
def finish(family):
    hosts = Absent(family)
    hosts.open()
    with pep.grows(follow_unseen=1, follow_closed=1):
        hosts.up(flags=FIN | ACK, seq=1000, ack=510)
        hosts.down(flags=FIN | ACK, seq=510, ack=1001)
        hosts.up(seq=1001, ack=511)
        wait_for("the end", lambda: pep.stat("follow_closed"))
        hosts.end(1001)


@families("a repetition follows such an acknowledgment")
def unplaced(family):
    """A due trigger waits for payload that shows how far its sender is: a leg
    would wait in vain for what has passed unseen."""
    pep.follow("loss")
    hosts = Absent(family)
    hosts.open()
    hosts.down(seq=10, ack=1000, payload=bytes(1000))
    hosts.up(seq=1000, ack=510)
    hosts.until("server", bytes=1000, unacked=500)
    time.sleep(1)       # longer than a round trip, so what comes was lost
    with pep.grows(ended=False, follow_unseen=1, split_loss=1) as before:
        hosts.up(seq=1000, ack=510)
        hosts.up(seq=1000, ack=3010)
        wait_for("the acknowledgment", lambda: pep.stat("follow_unseen") >
                 before["follow_unseen"])
        for number, at in enumerate((510, 1010)):
            hosts.down(seq=at, ack=1000, payload=bytes(500))
            hosts.until("server", bytes=1500 + number * 500)
            expect("stage", hosts.shown()["stage"], "followed")
        hosts.down(seq=3010, ack=1000, payload=bytes(1000))
        hosts.until("server", bytes=3000)
        hosts.up(seq=1000, ack=4010)
        pep.wait_flows(1)
    hosts.end()
    pep.flows_end()
    pep.follow("never")


@families("an end is ahead of its payload that has passed")
def ahead(family):
    """Its payload is lost in front of the gateway, or has passed unseen. The
    connection is split when it has come."""
    pep.follow("5000")
    hosts = Absent(family)
    hosts.open()
    hosts.up(seq=1500, ack=10)
    with pep.grows(ended=False, split_bytes=1):
        for at in range(10, 6010, 1000):
            hosts.down(seq=at, ack=1000, payload=bytes(1000))
        hosts.up(seq=1500, ack=6010)
        hosts.until("server", bytes=6000, unacked=0)
        for at in 1000, 1250:
            expect("stage", hosts.shown()["stage"], "followed")
            hosts.up(seq=at, ack=6010, payload=bytes(250))
            hosts.until("wireless", bytes=at - 750)
        hosts.down(seq=6010, ack=1500)
        pep.wait_flows(1)
    hosts.end(1500)
    pep.flows_end()
    pep.follow("never")


@families("window scales behind options that keep it from being split")
def scaled(family):
    """More than 64 KB are under way: they pass, as the window is known."""
    hosts = Absent(family)
    scale = b"\x4d\4\0\0\3\3\7\1"
    hosts.open(syn=scale, synack=scale)
    ends = hosts.shown()["ends"]
    expect("flags", [ends[side]["flags"] for side in ("wireless", "server")],
           [["wscale", "unsplit"]] * 2)
    with pep.grows(ended=False, follow_unseen=0):
        for at in range(10, 100010, 1000):
            hosts.down(seq=at, ack=1000, payload=bytes(1000))
        hosts.until("server", bytes=100000, unacked=100000)
        hosts.up(seq=1000, ack=100010)
        hosts.until("server", unacked=0)
    hosts.end()


@families("a trigger has come, and the connection waits")
def due(family):
    """Payload has a hole, and is split when that has been filled."""
    pep.follow("5000,loss")
    hosts = Absent(family)
    hosts.open()
    hosts.down(seq=10, ack=1000, payload=bytes(1000))
    hosts.until("server", bytes=1000)
    expect("none has come", hosts.shown()["due"], [])
    for at in range(2010, 7010, 1000):
        hosts.down(seq=at, ack=1000, payload=bytes(1000))
    hosts.until("server", bytes=6000)
    conn = hosts.shown()
    expect("one has come", (conn["stage"], conn["trigger"], conn["due"]),
           ("followed", ["bytes", "loss"], ["bytes"]))
    with pep.grows(ended=False, split_bytes=1):
        hosts.down(seq=1010, ack=1000, payload=bytes(1000))
        hosts.up(seq=1000, ack=7010)
        pep.wait_flows(1)
    expect("when it is split", hosts.shown()["due"], [])
    hosts.end()
    pep.flows_end()
    pep.follow("never")


@families("payload passes unseen while detached, an older packet comes after")
def outdated(family):
    """The older packet fits all that is known. A leg would wait in vain for
    the payload that the other end has got from its sender."""
    pep.follow("5000")
    hosts = Absent(family)
    hosts.open()
    hosts.down(seq=10, ack=1000, payload=bytes(1000))
    hosts.up(seq=1000, ack=1010)
    hosts.until("server", unacked=0)
    pep.detach()
    pep.attach()
    hosts.up(seq=1000, ack=1010, payload=bytes(1000))
    hosts.until("wireless", bytes=1000)
    expect("triggers", hosts.shown()["trigger"], [])
    with pep.grows(ended=False, split_bytes=1):
        for at in range(3010, 11010, 1000):
            hosts.down(seq=at, ack=2000, payload=bytes(1000))
            hosts.up(seq=2000, ack=at + 1000)
        pep.wait_flows(1)
    hosts.end(2000)
    pep.flows_end()
    pep.follow("never")


@families("one that may be split, and one that is")
def split(family):
    pep.follow("20000,loss")
    try:
        with pep.grows(ended=False, split_bytes=1):
            both = pair(family)
            one_way(*both, 1000)
            conn = one(family, port_of(both))
            expect("triggers", conn["trigger"], ["bytes", "loss"])
            exchange_part(both, 18999, 0)
            expect("stage before", one(family, port_of(both))["stage"],
                   "followed")
            # The CPU may still have to make sockets.
            exchange_part(both, 1, 0)
            wait_for("the take-over", lambda: shown("stage", "split"))
        conn = one(family, port_of(both), "stage", "split")
        flow, = pep.flows()
        expect("its flow", conn["flow"], flow["id"])
        expect("what both show", [conn[key] for key in (
            "family", "subscriber", "server", "opener")],
               [flow[key] for key in ("family", "subscriber", "server",
                                      "opener")])
        expect("triggers", (conn["trigger"], conn["copies"]), ([], 0))
        expect("bytes before it", conn["ends"]["wireless"]["bytes"], 20000)
        exchange_part(both, 50000, 0)
        expect("bytes later", one(family, port_of(both))["ends"][
            "wireless"]["bytes"], 20000)
        for sock in both:
            sock.close()
        pep.flows_end()
        wait_for("its end", lambda: not shown("stage", "split"))
    finally:
        pep.follow("never")


@families("unacknowledged payload, and copies of it")
def unacked(family):
    pep.follow("1000000")
    netem("sub", "eth0", "delay", "2s")
    try:
        both = pair(family)
        both[1].send(bytes(5000))
        wait_for("payload", lambda: one(family, port_of(both))["ends"].get(
            "server", {}).get("bytes") == 5000)
        conn = one(family, port_of(both))
        expect("stage", conn["stage"], "followed")
        expect("triggers", conn["trigger"], ["bytes"])
        expect("bytes", conn["ends"]["server"]["unacked"], 5000)
        expect_least("memory of copies", conn["copies"], 5000)
        wait_for("the acknowledgment", lambda: one(family, port_of(both))[
            "ends"]["server"]["unacked"] == 0)
        expect("memory of copies", one(family, port_of(both))["copies"], 0)
    finally:
        netem_end("sub", "eth0")
        pep.follow("never")
    for sock in both:
        sock.close()


@families("one that closes")
def closing(family):
    both = pair(family)
    port = port_of(both)
    exchange_part(both, 100)
    both[0].close()
    expect("the end", outcome(both[1]), "FIN")
    conn = one(family, port)
    expect("one FIN", (conn["stage"], [
        "fin" in conn["ends"][side]["flags"] for side in
        ("wireless", "server")]), ("followed", [True, False]))
    both[1].close()
    wait_for("both", lambda: one(family, port)["stage"] ==
             "closing")
    conn = one(family, port)
    for end in conn["ends"].values():
        expect("bytes", end["bytes"], 100)
        expect("FIN", end["flags"][-1], "fin")


@families("filters")
def filters(family):
    """Each word selects the connections that match it. Those of the cases
    before may go at any time."""
    other = 10 - family
    some = [pair(family), pair(other), pair(family, port=5001),
            pair(family, "srv", "sub")]
    exchange_part(some[2], 7000, 0)
    some[0][0].close()
    expect("the end", outcome(some[0][1]), "FIN")
    some[0][1].close()
    wait_for("its end", lambda: shown("stage", "closing"))
    inet_name = "inet" if family == 4 else "inet6"
    expect_least("connections", len(shown()), 4)
    port = port_of(some[2])
    for line, test in (
            ("all", lambda c: True),
            ("subscriber " + NETS[family],
             lambda c: c["family"] == inet_name),
            ("server 0.0.0.0/0", lambda c: c["family"] == "inet"),
            ("server ::/0", lambda c: c["family"] == "inet6"),
            ("server 203.0.113.0/24", lambda c: False),
            (f"subscriber {addr('sub', family)}",
             lambda c: c["subscriber"]["addr"] == addr("sub", family)),
            (f"server {addr('srv', family)} server-port 5001",
             lambda c: c["family"] == inet_name and
             c["server"]["port"] == 5001),
            (f"subscriber-port {port}",
             lambda c: c["subscriber"]["port"] == port),
            ("subscriber-port 5000",
             lambda c: c["subscriber"]["port"] == 5000),
            ("stage followed", lambda c: c["stage"] == "followed"),
            ("stage closing", lambda c: c["stage"] == "closing"),
            ("stage split", lambda c: False),
            ("opener server", lambda c: c["opener"] == "server"),
            ("opener wireless", lambda c: c["opener"] == "wireless"),
            ("dev wl0", lambda c: True), ("dev lo", lambda c: False),
            ("older 0", lambda c: True), ("older 100000", lambda c: False),
            ("bytes 7000", lambda c: sum(
                end["bytes"] for end in c["ends"].values()) >= 7000),
            ("bytes 7000000", lambda c: False),
            (f"stage followed opener wireless subscriber {NETS[family]} "
             "server-port 5001",
             lambda c: c["stage"] == "followed" and
             c["opener"] == "wireless" and c["family"] == inet_name and
             c["server"]["port"] == 5001)):
        found, left = shown(*line.split()), shown()
        expect(line, sorted(names(found) & names(left)),
               sorted(names(c for c in left if test(c))))
    expect("one was opened by the server",
           ports("opener", "server", "stage", "followed"), [5000])
    expect_least("some sent much", len(shown("bytes", "7000")), 1)
    for both in some:
        for sock in both:
            sock.close()


def syn(wire, family, port, flags=SYN):
    """Open an unanswered connection, or reset it."""
    wire.send(segment(addr("sub", family), NOBODY[family], port, 5009,
                      flags=flags, seq=1000 + bool(flags & RST)))


def open_all(wire, family, wanted):
    """Open unanswered connections, some at a time: SYNs in too fast a sequence
    are lost."""
    def opened():
        missing = sorted(set(wanted) - set(ports("server", NOBODY[family])))
        for port in missing[:200]:
            syn(wire, family, port)
        return not missing
    wait_for("SYNs", opened, 100)


def end_all(wire, family):
    """Reset them all."""
    def ended():
        left = ports("server", NOBODY[family])
        for port in left[:200]:
            syn(wire, family, port, RST)
        return not left
    wait_for("all to go", ended, 100)


def ports_in(part):
    """Ports of the subscribers of the connections in a part of a dump."""
    return [struct.unpack("!H", dict(genl.attrs(payload))[
        ATTRS["subscriber_port"]])[0] for _, payload in part]


@families("a dump in parts while others come and go", seconds=300)
def churn(family):
    """Connections that stay are listed once. As many others end, between any
    two parts some already dumped and some not; more new ones are opened than
    existed before, so that the table has to grow."""
    wire = Wire("sub")
    order = range(10000, 10000 + 2 * STAY)
    open_all(wire, family, order)
    stay, doomed = set(order[::2]), list(order[1::2])
    seen, count, new = [], 0, 20000
    payload = genl.attr(ATTRS["server_addr"], inet(NOBODY[family]))
    with genl.ask("pep", genl.family_id("pep", "pep"), COMMANDS["conn_get"],
                  payload, dump=True) as sock:
        for part in genl.parts(sock, 4096):
            seen += ports_in(part)
            count += 1
            for place in (0, -1) * 4:
                if doomed:
                    syn(wire, family, doomed.pop(place), RST)
            for _ in range(2 * STAY // 10):
                if new < 20000 + 3 * STAY:
                    syn(wire, family, new)
                    new += 1
    note(f"{count} parts, {len(seen)} connections, {len(doomed)} left to go, "
         f"{new - 20000} came")
    expect_least("parts", count, 10)
    expect("twice", sorted({each for each in seen if seen.count(each) > 1}),
           [])
    expect("stayed and not there", sorted(stay - set(seen)), [])
    gone = 2 * STAY - len(set(seen) & set(order))
    expect_between("connections gone before their part", gone, 1, STAY - 1)
    end_all(wire, family)


@case("a dump that is given up")
def given_up():
    """It releases all its references: the module can be unloaded after it."""
    wire = Wire("sub")
    open_all(wire, 4, range(10000, 10300))
    with genl.ask("pep", genl.family_id("pep", "pep"), COMMANDS["conn_get"],
                  dump=True) as sock:
        expect_least("connections of a part",
                     len(next(genl.parts(sock, 4096))), 1)
    end_all(wire, 4)
    pep.detach()
    pep.unload()
    pep.load()
    pep.attach()
    pep.follow("never")
    expect("connections", shown(), [])


def record(watch, cause, stage, port, **how):
    """The next record, which must be that of the connection with the given
    subscriber's port."""
    event = watch.event(**how)
    expect("event", event["event"], "closed")
    expect("cause", (event["cause"], event["stage"]), (cause, stage))
    expect("subscriber's port", event["subscriber"]["port"], port)
    return event


@families("the record of one that is reset")
def record_reset(family):
    with monitor("conns") as watch:
        both = pair(family)
        port = port_of(both)
        exchange_part(both, 3000, 2000)
        expect("options", one(family, port)["trigger"], [])
        reset(both[0])
        expect("the other end", outcome(both[1]), "ECONNRESET")
        event = record(watch, "reset", "followed", port)
    expect("bytes", [event["ends"][side]["bytes"] for side in (
        "wireless", "server")], [3000, 2000])
    expect("ends", [event[key] for key in ("subscriber", "server", "opener")],
           [{"addr": addr("sub", family), "port": port},
            {"addr": addr("srv", family), "port": PORT}, "wireless"])
    expect("no flow", "flow" in event, False)


@families("the record of one that is refused")
def record_refused(family):
    with monitor("conns") as watch:
        expect("error", connect_errno("sub", family, addr("srv", family),
                                      5999, bind=("", 3000 + family)),
               "ECONNREFUSED")
        event = record(watch, "reset", "opening", 3000 + family)
    expect("ends", sorted(event["ends"]), ["wireless"])


@families("the record of one whose addresses are used again")
def record_reopened(family):
    wire = Wire("sub")
    port = 2200 + family
    with monitor("conns") as watch:
        for seq in 1000, 7000:
            wire.send(segment(addr("sub", family), NOBODY[family], port, PORT,
                              flags=SYN, seq=seq))
        record(watch, "reopened", "opening", port)
        wire.send(segment(addr("sub", family), NOBODY[family], port, PORT,
                          flags=RST, seq=7001))
        record(watch, "reset", "opening", port)


@case("records of those that nothing is heard of any more", seconds=400)
def record_silent():
    """Closed by both ends, 70 seconds before; or never answered, 130."""
    wire = Wire("sub")
    with monitor("conns") as watch, \
            pep.grows(follow_closed=2, follow_silent=2):
        closed = {}
        for family in 4, 6:
            near, far = pair(family)
            port = near.getsockname()[1]
            closed[port] = family
            exchange((near, far), 500 * family)
            wire.send(segment(addr("sub", family), NOBODY[family],
                              2300 + family, PORT, flags=SYN, seq=1))
        events = [watch.event(200) for _ in range(4)]
    expect("causes", [(event["cause"], event["stage"]) for event in events],
           [("closed", "closing")] * 2 + [("silent", "opening")] * 2)
    for event, least in zip(events, (70000, 70000, 130000, 130000)):
        # pep checks every 16 seconds.
        expect_between(f"ms until {event['cause']}", event["idle_ms"], least,
                       least + 20000)
    for event in events[:2]:
        family = closed.pop(event["subscriber"]["port"])
        for end in event["ends"].values():
            expect("bytes", end["bytes"] - end["repeated"], 500 * family)
            expect("FIN", end["flags"][-1], "fin")


@families("no record of a flow, but of one that was handed back")
def record_flow(family):
    pep.follow("20000")
    try:
        with monitor("conns") as watch:
            for release in False, True:
                both = pair(family)
                port = port_of(both)
                exchange_part(both, 20000, 0)
                wait_for("a flow", lambda: one(family, port)["stage"] ==
                         "split")
                exchange_part(both, 80000, 0)
                if release:
                    wait_for("its release", lambda: pepadm(
                        "flow", "release", "all").stdout == "released 0\n")
                    wait_for("its stage", lambda: one(family, port)[
                        "stage"] == "followed")
                reset(both[0])
                expect("the other end", outcome(both[1]), "ECONNRESET")
                pep.flows_end()
            event = record(watch, "reset", "followed", port)
    finally:
        pep.follow("never")
    expect("bytes", event["ends"]["wireless"]["bytes"], 100000)


@case("a user without the privilege gets no records")
def record_unprivileged():
    done = run("setpriv", "--reuid", "65534", "--clear-groups", env.PEPADM,
               "monitor", "conns", ns="pep", check=False, seconds=10)
    expect("exit code", done.returncode, 1)
    expect("message", done.stderr,
           f"pepadm: monitor conns: {os.strerror(errno.EPERM)}\n")


@case("requests that make no sense")
def nonsense():
    """The error names the wrong attribute."""
    four, six = inet("198.18.0.2"), bytes(16)
    family = genl.family_id("pep", "pep")
    for wanted, bad, *attrs in (
            ("EINVAL", 0, ("subscriber_addr", four[:3])),
            ("EINVAL", 0, ("server_addr", six + b"1")),
            ("EINVAL", 8, ("subscriber_addr", four), ("server_addr", six)),
            ("EINVAL", 0, ("server_prefix", struct.pack("I", 8))),
            ("ERANGE", 8, ("server_addr", four),
             ("server_prefix", struct.pack("I", 33))),
            ("ERANGE", 20, ("server_addr", six),
             ("server_prefix", struct.pack("I", 129))),
            ("ERANGE", 0, ("stage", struct.pack("I", 6))),
            ("ERANGE", 0, ("opener", struct.pack("I", 2))),
            ("ERANGE", 0, ("ifindex", struct.pack("I", 0))),
            ("ERANGE", 0, ("server_port", bytes(2))),
            ("ERANGE", 0, ("subscriber_port", bytes(2))),
            ("EINVAL", 0, ("flow", struct.pack("I", 1)))):
        payload = b"".join(genl.attr(ATTRS[name], value)
                           for name, value in attrs)
        try:
            genl.request("pep", family, COMMANDS["conn_get"], payload,
                         dump=True)
        except genl.Refused as err:
            expect(f"{attrs}: error", errno.errorcode[err.errno], wanted)
            expect(f"{attrs}: where", err.offset, 20 + bad)
        else:
            fail(f"{attrs}: accepted")


@case("words that are wrong")
def wrong():
    for line, message in (
            ("conn show 1", '"1" is not one of: subscriber, '),
            ("conn show subscriber 198.18.0.300",
             'subscriber: "198.18.0.300" is not an address or ADDR/BITS'),
            ("conn show server-port 0",
             'server-port: "0" is not a number from 1 to 65535'),
            ("conn show stage gone", 'stage: "gone" is not one of: opening, '),
            ("conn show opener nobody",
             'opener: "nobody" is not one of: wireless, server'),
            ("conn show profile default", '"profile" is not one of: '),
            ("conn kill", '"kill" is not one of: show, help')):
        done = pepadm(*line.split(), check=False)
        expect(f"{line}: exit code", done.returncode, 2)
        if message not in done.stderr or done.stderr.count("\n") != 1:
            fail(f"{line}: it said {done.stderr!r}")


@case("a user without the privilege")
def unprivileged():
    done = run("setpriv", "--reuid", "65534", "--clear-groups", env.PEPADM,
               "conn", "show", ns="pep", check=False)
    expect("exit code", done.returncode, 1)
    expect("message", done.stderr,
           f"pepadm: conn show: {os.strerror(errno.EPERM)}\n")


@case("as text")
def text():
    with delayed():
        both = pair(4)
        exchange_part(both, 1000, 2000)
    out = pepadm("-sd", "conn", "show", "subscriber-port",
                 str(port_of(both))).stdout
    end = r"dev {} sent {} repeated 0 unacked \d+ rtt " \
        r"\d+\.\d+ms mss 1460 wscale \d+ flags wscale,sack,timestamps"
    if not re.fullmatch(
            rf"conn 198\.18\.0\.2:{port_of(both)} -> 198\.18\.1\.2:{PORT} "
            rf"followed opener wireless age \d+\.\d+s idle \d+\.\d+s "
            rf"trigger - due - copies 0\n"
            rf"    wireless {end.format('wl0', 1000)}\n"
            rf"    server {end.format('sv0', 2000)}\n", out):
        fail(f"it is {out!r}")
    short = pepadm("conn").stdout
    expect("with a word less", "mss" in short or "trigger" in short, False)
    reset(both[0])
    both[1].close()
