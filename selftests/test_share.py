# SPDX-License-Identifier: GPL-2.0
"""Shares of a subscriber: connections in the table, flows, new connections per
second, memory. Connections beyond a share work unsplit, are counted, listed
and reported; another subscriber's are not affected."""

import contextlib
import json
import os
import resource
import tempfile
import time

from peptest import pep
from peptest.absent import Absent
from peptest.env import EXACT
from peptest.ktap import (Failure, after_case, case, expect, expect_between,
                          expect_least, expect_most, families, wait_for)
from peptest.monitor import monitor
from peptest.netns import (SERVER, WIRELESS, addr, impaired, ip, run, sysctls,
                           tc)
from peptest.pep import grows, least, pepadm, split_pair
from peptest.raw import ACK, SYN, Wire, segment
from peptest.tcp import (End, Load, PORT, exchange, exchange_part, fill,
                         one_way, outcome, pair, reset, start)

TRAITS = {"simulated"}

MORE = {4: "198.18.0.77", 6: "2001:db8:0:77::77"}     # another subscriber
NAME = {4: addr("sub", 4), 6: "2001:db8::/64"}
SILENT = {4: "198.18.1.99", 6: "2001:db8:1::99"}
BYTES = 20_000
TRIGGER = 16 << 20      # bytes, the largest
LEAST = 65536           # bytes, the smallest share of memory
PLENTY = 1 << 30        # bytes, more than the default share of a small guest
DEAF = 40               # connections that are not read
FEW = 4                 # connections; they hold less than a MiB
MANY = 100              # connections; they hold more than a MiB
SOME = 60               # connections; they hold two MiB or more
FILES = 4096            # that may be open
LOOK = 6                # seconds, within which pep checks flows
STALL = 30              # seconds without progress
SOON = 12               # seconds, for subscribers that hold at least 4 MiB
DRIP = 4096             # bytes that a slow end reads at a time
PAUSE = 0.4             # seconds between two times
DOWNLOAD = 1 << 20      # bytes
RATE = 20_000           # bytes per second
LITTLE = 5_000          # bytes, below the trigger of anew()
AGAIN = 12              # seconds, within which a limit is reported again
UNDER_WAY = 10_000_000  # bytes in one turn, megabytes of them at once
TURNS = 4
FLIGHT = 14_000         # bytes, the first that a server sends
BURST = 60_000          # bytes, the largest first flight there is room for
SLACK = 1 << 18         # bytes, by which CPUs may count late
SATELLITE = "delay 300ms rate 50mbit limit 10000".split()
FAR = "delay 250ms limit 50000".split()
MARK = 77               # of legs that have no route
DEFAULTS = pep.default_limits()
# A subscriber's link. A gateway holds what a link carries in a part of a
# second, which is megabytes where links are as fast as memory.
LINK = "delay 10ms rate 100mbit limit 5000".split()


def setup():
    """Another subscriber, in the same namespace, whose addresses are used only
    when a case binds them."""
    pep.warmed()
    ip("sub", f"address add {MORE[4]}/32 dev eth0",
       f"address add {MORE[6]}/128 dev eth0 nodad preferred_lft 0")
    ip("pep", f"route add {MORE[4]} dev wl0",
       f"route add {MORE[6]} via {addr('sub', 6)}")


@after_case
def defaults():
    """Undo the settings of a case."""
    if pep.loaded():
        heard()
        pep.flows_end()
        pepadm("limit", "set", *(word for key, most in DEFAULTS.items()
                                 for word in (key, str(most))))
        pepadm("path", "flush", "all")
        pepadm("profile", "set", "default", "release-idle", "120")
        pep.follow("handshake")


def limit(what, number):
    """Change a limit of subscribers."""
    pepadm("limit", "set", f"subscriber-{what}", str(number))


def top(*words):
    """The subscribers with the largest use of a share."""
    return json.loads(pepadm("-j", "limit", "show", "top", *words).stdout)


def shares(family):
    """The first subscriber's (connections, flows, refused)."""
    found = [row for row in top() if row["subscriber"] == NAME[family]]
    if not found:
        return 0, 0, 0
    return tuple(found[0][key] for key in ("connections", "flows", "refused"))


def other(family, open_pair=pair):
    """A connection of the other subscriber."""
    return open_pair(family, bind=(MORE[family], 0))


def known(family):
    """Make the first subscriber known by a complete connection."""
    exchange(pair(family), 100)
    pep.flows_end()


@families("no more flows than its share", "sub", "srv")
@families("no more flows than its share, of servers", "srv", "sub")
def flows(family, opener, opened):
    known(family)
    limit("flows", 3)
    with grows(split_handshake=4, split_pass_subscriber=2, follow_new=6):
        split = [pair(family, opener, opened) for _ in range(3)]
        for both in split:
            exchange_part(both, BYTES)
        beyond = [pair(family, opener, opened) for _ in range(2)]
        for both in beyond:
            exchange_part(both, BYTES)
        expect("flows and refused", shares(family)[1:], (3, 2))
        exchange(other(family, split_pair), BYTES)
        for both in split + beyond:
            exchange(both, BYTES)
    expect("flows", shares(family)[1], 0)


@families("connect early: no more flows than its share")
def early(family):
    """Connections beyond the share are followed, and answered by the
    server."""
    known(family)
    limit("flows", 2)
    pepadm("profile", "set", "default", "connect", "early")
    try:
        for split in "handshake", "never":
            pepadm("profile", "set", "default", "split", split)
            refused = shares(family)[2]
            with grows(syn_answered=3, split_pass_subscriber=1):
                flows_up = [pair(family) for _ in range(2)]
                exchange(pair(family), BYTES)
                exchange(other(family), BYTES)
                for both in flows_up:
                    exchange(both, BYTES)
            expect(f"refused, split {split}", shares(family)[2] - refused, 1)
    finally:
        pep.follow("handshake")


@families("connect early: no more connections than its share")
def early_connections(family):
    """Connections beyond the share are forwarded, and use no socket."""
    known(family)
    limit("connections", shares(family)[0] + 1)
    pepadm("profile", "set", "default", "connect", "early")
    with grows(syn_answered=2, follow_subscriber=2):
        first = pair(family)
        for _ in range(2):
            exchange(pair(family), BYTES)
        exchange(other(family), BYTES)
        exchange(first, BYTES)


@families("no more connections than its share", "sub", "srv")
@families("no more connections than its share, of servers", "srv", "sub")
def connections(family, opener, opened):
    """Connections beyond the share are not followed; one that ends makes
    room."""
    known(family)
    before = shares(family)[0]
    limit("connections", before + 3)
    with grows(follow_subscriber=2, follow_new=5) as stats:
        held = [pair(family, opener, opened) for _ in range(3)]
        for _ in range(2):
            exchange(pair(family, opener, opened), BYTES)
        expect("connections and refused", shares(family)[::2],
               (before + 3, 2))
        exchange(other(family), BYTES)
        expect("not followed", pep.stat("follow_subscriber") -
               stats["follow_subscriber"], 2)
        for both in held[:2]:
            exchange_part(both, BYTES)
        reset(held[2][0])
        wait_for("room", lambda: shares(family)[0] == before + 2)
        held[2] = pair(family, opener, opened)
        for both in held:
            exchange(both, BYTES)


@families("no more new connections per second than its share", "follow")
@families("no more new connections per second than its share, connect early",
          "early")
@families("no more new connections per second than its share, connect early "
          "without routes of legs", "early", MARK)
def rate(family, connect, mark=0):
    """A burst of twice the rate, then one per interval; each that is refused
    counts once, and each that is not costs once."""
    known(family)
    count, per_second = 30, 10
    limit("rate", per_second)
    pepadm("profile", "set", "default", "connect", connect, "mark", str(mark))
    ip("pep", f"rule add fwmark {MARK} unreachable", family=family)
    before = shares(family)[2]
    with grows() as stats:
        both = start(family, count)
        for ends in both:
            exchange(ends, 100)
        exchange(other(family), 100)
    after = pep.stats()
    refused = after["follow_rate"] - stats["follow_rate"]
    expect("refused, as listed", shares(family)[2] - before, refused)
    # Some were granted while the connections were opened.
    expect_least("refused", refused, count - 2 * per_second - 5)
    expect_least("followed", count - refused, 2 * per_second - 1)
    expect("all", sum(after[name] - stats[name]
                      for name in ("follow_new", "syn_answered")),
           count + 1 - refused)
    ip("pep", f"rule del fwmark {MARK} unreachable", family=family)


@families("SYNs of a subscriber who is known are counted, those of others not")
def unanswered(family):
    """To a silent server: a source that has never completed a handshake
    creates no entry."""
    known(family)
    before = shares(family)[0]
    wire = Wire("sub")
    for port in range(2000, 2003):
        wire.send(segment(addr("sub", family), SILENT[family], port, PORT,
                          flags=SYN))
        wire.send(segment(MORE[family], SILENT[family], port, PORT,
                          flags=SYN))
    wire.close()
    wait_for("SYNs", lambda: shares(family)[0] == before + 3)
    names = [row["subscriber"] for row in top()]
    expect("the first one", NAME[family] in names, True)
    expect("the other one", [name for name in names if "77" in name], [])


@families("connections of a subscriber who is unknown until they are complete")
def unknown(family):
    """Those beyond the share leave the table."""
    pep.follow("1000000")
    pepadm("path", "flush", "all")
    limit("connections", 3)
    hosts = [Absent(family) for _ in range(5)]
    for each in hosts:
        each.up(flags=SYN, seq=999)
        each.until("wireless", mss=536)
        each.down(flags=SYN | ACK, seq=9, ack=1000)
        each.until("server", mss=536)
    with grows(ended=False, follow_established=3, follow_subscriber=2):
        for each in hosts:
            each.up(seq=1000, ack=10)
        wait_for("the end of two", lambda: [
            (each.shown() or {}).get("stage") for each in hosts] ==
            ["followed"] * 3 + [None] * 2)
    for each in hosts[:3]:
        each.end()


@families("a connection that is handed back counts")
def moved(family):
    known(family)
    before = shares(family)[0]
    both = pair(family)
    exchange_part(both, BYTES)
    expect("split", shares(family)[:2], (before + 1, 1))
    pep.quiet()
    expect("released", pep.released(), 1)
    pep.flows_end()
    expect("handed back", shares(family)[:2], (before + 1, 0))
    exchange(both, BYTES)
    expect("closed", shares(family)[:2], (before + 1, 0))


def anew():
    """Reload the module: the table is empty. Connections are split after
    12000 bytes."""
    pep.detach()
    pep.unload()
    pep.load()
    pep.follow("12000")
    pep.attach()


@families("a connection that is imported counts")
def imported(family):
    """The module is reloaded in between."""
    anew()
    both = pair(family)
    exchange_part(both, LITTLE)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "flows")
        pepadm("flow", "save", file)
        anew()
        pepadm("flow", "restore", file)
    expect("imported", shares(family), (1, 0, 0))
    exchange(both, BYTES)


@families("listeners are notified of the subscriber of a used up share")
def reported(family):
    known(family)
    limit("flows", 1)
    with monitor("limits") as watch:
        first = pair(family)
        exchange_part(first, 100)
        for _ in range(AGAIN):
            exchange(pair(family), 100)
            try:
                event = watch.event(1)
                break
            except Failure:
                pass
        del event["flows"]
        expect("event", event, {
            "event": "overload", "counter": "split_pass_subscriber",
            "subscriber": NAME[family]})
        exchange(first, 100)


def unread(family, count):
    """Connections whose server sends until no more payload moves, because the
    subscriber does not read."""
    both = [split_pair(family) for _ in range(count)]
    with impaired((("pep", "wl0"),), *LINK):
        fill([End(srv, 1 << 30) for _, srv in both])
    return both


def memory(family):
    """Memory of the first subscriber's flows, bytes."""
    found = [row for row in top() if row["subscriber"] == NAME[family]]
    return found[0]["memory"] if found else 0


@families("memory that is not read is bounded, and comes back")
def held(family):
    """Beyond the share no other connection of the subscriber is split, and
    flows without progress are reset, until the rest fits. A flow of the same
    subscriber that makes progress, and another subscriber's, go on."""
    known(family)
    limit("memory", PLENTY)
    with grows(ended=False, split_handshake=DEAF + 2, split_pass_memory=2,
               flow_evicted=least(1)) as before:
        both = unread(family, DEAF)
        busy = Load([split_pair(family)], RATE)
        free = Load([other(family)], RATE)
        for load in busy, free:
            load.more(RATE)
        # One that may be split, and one without kept payload.
        pepadm("profile", "set", "default", "split", str(TRIGGER))
        late = pair(family)
        exchange_part(late, 100)
        begun = time.monotonic()
        limit("memory", LEAST)
        # Both are decided before their FINs, which may overtake payload.
        beyond = late, pair(family)
        for ends in beyond:
            exchange_part(ends, TRIGGER)
        for ends in beyond:
            exchange(ends, BYTES)
        # By then the recorded memory of idle flows is up to date.
        time.sleep(LOOK)
        share = memory(family) // 2
        expect_least("memory, bytes", share, LEAST // 2)
        limit("memory", max(share, LEAST))
        wait_for("room", lambda: memory(family) <= max(share, LEAST),
                 2 * STALL)
        expect_least("seconds", time.monotonic() - begun, STALL - LOOK)
        for load in busy, free:
            load.more(RATE)
        evicted = pep.stat("flow_evicted") - before["flow_evicted"]
        expect_most("evicted", evicted, DEAF - 1)
        ends = [outcome(sub, 1) for sub, _ in both]
        expect("connections that were reset", ends.count("ECONNRESET"),
               evicted)
        for load in busy, free:
            load.finish()
    for sub, srv in both:
        reset(sub)
        srv.close()


@families("TCP short of memory: the largest holders pay")
def pressed(family):
    """Even within their share. Another subscriber's flow goes on."""
    known(family)
    limit("memory", PLENTY)
    both = unread(family, MANY)
    expect_least("memory, bytes", memory(family), 4 << 20)
    free = Load([other(family, split_pair)], RATE)
    before = pep.stat("flow_evicted")
    busy = split_pair(family)
    with pep.pressure(), grows(ended=False, split_pass_pressure=least(1)):
        # TCP detects the pressure when it allocates.
        exchange_part(busy, 15 * BYTES)
        exchange(pair(family), BYTES)
        wait_for("the first reset, soon for those who hold much",
                 lambda: pep.stat("flow_evicted") > before, SOON)
        free.more(RATE)
    free.finish()
    free.expect_whole()
    exchange(busy, 100)
    for sub, srv in both:
        reset(sub)
        srv.close()


def drip(both):
    """Every second subscriber's end reads a little, the others send a byte
    and read nothing; ends that have been reset are left alone."""
    for number, (sub, _) in enumerate(both):
        with contextlib.suppress(OSError):
            if number % 2:
                sub.recv(DRIP)
            else:
                sub.send(b"x")


def mute(family, match=""):
    """Subscribers' TCP segments that match get lost; neighbours are still
    answered."""
    kind = {4: "ip", 6: "ipv6"}[family]
    tc("sub", "qdisc replace dev eth0 clsact",
       f"filter add dev eth0 egress protocol {kind} flower ip_proto tcp "
       f"{match} action drop")


def heard():
    """Undo mute()."""
    run("tc", "qdisc", "del", "dev", "eth0", "clsact", ns="sub", check=False)


@contextlib.contextmanager
def first_flights(family):
    """Within, servers send up to BURST bytes before an acknowledgment."""
    way = f"default via {addr('sv', family)}"
    ip("srv", f"route change {way} initcwnd {BURST // 1000}", family=family)
    try:
        yield
    finally:
        ip("srv", f"route change {way}", family=family)


def give_up(both):
    """End connections whose packets get lost."""
    for ends in both:
        for sock in ends:
            reset(sock)
    heard()


def duration(both):
    """Seconds of a download over a path of 20 ms to the server."""
    with impaired(SERVER, "delay", "10ms"):
        begun = time.monotonic()
        one_way(*both[::-1], DOWNLOAD)
        return time.monotonic() - begun


def tcp_pages():
    """Memory that TCP uses on all hosts, pages."""
    with open("/proc/net/sockstat", encoding="ascii") as file:
        words = next(text for text in file if text.startswith("TCP:")).split()
    return int(words[words.index("mem") + 1])


@families("TCP short of memory: a trickle of payload protects nobody")
def slow(family):
    """The ends of many connections acknowledge a little, or send a little, all
    the time. Their flows are reset, so that another subscriber's connections
    are split again, and as fast as before."""
    known(family)
    limit("memory", PLENTY)
    honest = other(family, split_pair)
    both = unread(family, MANY)
    expect_least("memory, bytes", memory(family), 4 << 20)
    for sub, _ in both:
        sub.setblocking(False)
    duration(honest)
    usual = duration(honest)
    pages = tcp_pages()
    with pep.pressure(f"{pages * 3 // 4} {pages * 7 // 8} 1000000"), \
            grows(ended=False, split_pass_pressure=least(1),
                  flow_evicted=least(1), split_handshake=least(1)) as before:
        begun = time.monotonic()
        while pep.stat("split_handshake") == before["split_handshake"]:
            expect_most("seconds", time.monotonic() - begun, SOON)
            drip(both)
            exchange(other(family), 100)
            time.sleep(PAUSE)
        duration(honest)        # the windows open again
        # Elsewhere it depends on other work of the machine.
        if EXACT:
            expect_most("seconds of a download", duration(honest), 1.5 * usual)
    exchange(honest, 100)
    for sub, srv in both:
        reset(sub)
        srv.close()


@families("TCP short of memory: holders of little memory pay after half a "
          "minute")
def little(family):
    """One site may be many subscribers."""
    known(family)
    both = unread(family, FEW)
    expect_between("memory, bytes", memory(family), 1 << 16, 1 << 20)
    busy = other(family, split_pair)
    with pep.pressure(), grows(ended=False, split_pass_pressure=least(1),
                               flow_evicted=least(1)) as before:
        exchange_part(busy, 15 * BYTES)
        exchange(pair(family), BYTES)
        time.sleep(STALL - LOOK)
        expect("evicted", pep.stat("flow_evicted"), before["flow_evicted"])
        wait_for("the first reset", lambda: pep.stat("flow_evicted") >
                 before["flow_evicted"], 2 * LOOK)
    exchange(busy, 100)
    for sub, srv in both:
        reset(sub)
        srv.close()


@families("TCP short of memory: copies of payload do not say who pays")
def copies(family):
    """They are no memory of TCP, and a reset frees none of them. Another
    subscriber, with one idle flow, has more of them than the first one's flows
    hold."""
    known(family)
    limit("memory", PLENTY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    both = unread(family, SOME)
    busy, idle = split_pair(family), other(family, split_pair)
    pepadm("profile", "set", "default", "split", str(TRIGGER))
    with first_flights(family):
        deaf = [other(family)
                for _ in range(7 * memory(family) // 2 // BURST)]
        mute(family, f"src_ip {MORE[family]}")
        for sub, srv in deaf:
            one_way(srv, sub, BURST)
    rows = json.loads(pepadm("-j", "conn", "show", "subscriber",
                             MORE[family]).stdout)
    expect_least("memory of the copies, bytes",
                 sum(row.get("copies", 0) for row in rows),
                 3 * memory(family))
    pepadm("profile", "set", "default", "split", "handshake")
    before = pep.stat("flow_evicted")
    with pep.pressure(), grows(ended=False, split_pass_pressure=least(1)):
        exchange_part(busy, 15 * BYTES)
        exchange(pair(family), BYTES)
        wait_for("the first reset",
                 lambda: pep.stat("flow_evicted") > before, SOON + LOOK)
    give_up(both + deaf + [busy, idle])


@families("TCP short of memory: flows that are read over a long link stay")
def satellite(family):
    """Payload is here for seconds, though the subscriber holds much. The
    subscriber's own windows do not shrink where half of the buffer is free."""
    limit("memory", PLENTY)
    pepadm("path", "flush", "all")
    with sysctls("sub", "net.ipv4.tcp_rmem=4096 33554432 33554432"), \
            impaired(WIRELESS, *SATELLITE), impaired(SERVER, "delay", "10ms"):
        known(family)
        load = Load([split_pair(family) for _ in range(4)], None, up=False)
        load.more(10 << 20)
        wait_for("memory", lambda: memory(family) > 6 << 20, 60)
        with pep.pressure(), grows(ended=False, flow_evicted=0,
                                   split_pass_pressure=least(1)):
            exchange(pair(family), 100)
            load.more(BYTES)
            time.sleep(SOON)
        load.finish()
    load.expect_whole()


def long(family, **counters):
    """A connection with more under way than pep keeps of any: keeping begins
    anew, until that is too often. The trigger is one that it never reaches: a
    loss may come where the clock is real."""
    pep.follow(f"{TRIGGER}")
    with sysctls("sub", "net.ipv4.tcp_rmem=4096 131072 16777216"), \
            sysctls("srv", "net.ipv4.tcp_wmem=4096 65536 16777216"), \
            impaired(WIRELESS, *FAR), \
            grows(follow_established=1, flow_established=0, **counters):
        sub, srv = pair(family)
        for _ in range(TURNS):
            one_way(srv, sub, UNDER_WAY)
            one_way(sub, srv, 1)
        sub.close()
        srv.close()


@families("more is under way than is kept")
def beyond(family):
    long(family, split_pass_copies=1)


@families("more is under way than the subscriber's share of memory")
def beyond_share(family):
    """The share is the reason, also when it is reached by copies alone."""
    known(family)
    limit("memory", LEAST)
    long(family, split_pass_memory=1)


@families("a few packets each of many connections count")
def packets(family):
    known(family)
    pep.follow(f"{TRIGGER}")
    both = [pair(family) for _ in range(DEAF)]
    mute(family)
    for sub, srv in both:
        one_way(srv, sub, FLIGHT)
    expect_least("memory, bytes", memory(family), DEAF * FLIGHT)
    give_up(both)
    wait_for("nothing is held", lambda: not memory(family))


@families("a subscriber leaves memory for the copies of others")
def rest(family):
    """It holds as much as is left, and not more, whatever its share is."""
    known(family)
    limit("memory", PLENTY)
    pep.follow(f"{TRIGGER}")
    with open("/proc/meminfo", encoding="ascii") as file:
        most = int(file.readline().split()[1]) * 1024 // 32
    count = most * 3 // 5 // BURST
    resource.setrlimit(resource.RLIMIT_NOFILE, (3 * count, 3 * count))
    with first_flights(family):
        both = [pair(family) for _ in range(count)]
        late = other(family)
        mute(family)
        for sub, srv in both:
            one_way(srv, sub, BURST)
        expect_between("memory, bytes", memory(family), most * 2 // 5,
                       most // 2 + SLACK)
        one_way(*late[::-1], FLIGHT)
    rows = json.loads(pepadm("-j", "conn", "show", "subscriber",
                             MORE[family]).stdout)
    expect_least("memory of the other's copies",
                 sum(row.get("copies", 0) for row in rows), FLIGHT)
    give_up(both + [late])


@families("one that was handed back is split again when there is room")
def later(family):
    known(family)
    pepadm("profile", "set", "default", "release-idle", "2")
    pep.ready()
    both = split_pair(family)
    exchange_part(both, BYTES)
    pep.wait_flows(0)
    deaf = unread(family, DEAF)
    limit("memory", LEAST)
    expect_least("memory, bytes", memory(family), LEAST + 1)
    before = shares(family)[2]
    with grows(ended=False, split_handshake=0, split_pass_memory=1):
        exchange_part(both, BYTES)
    expect("refused, for all packets", shares(family)[2] - before, 1)
    for sub, srv in deaf:
        reset(sub)
        srv.close()
    wait_for("room", lambda: memory(family) <= LEAST)
    with grows(ended=False, split_handshake=1):
        exchange_part(both, BYTES)
        pep.wait_flows(1)
    exchange(both, 100)


@families("one that does not read within its share stays")
def patient(family):
    """For longer than allowed beyond the share, as without pep."""
    known(family)
    with grows(ended=False, flow_evicted=0):
        (sub, srv), = unread(family, 1)
        time.sleep(2.5 * STALL)
    reset(sub)
    srv.close()


@families("a flow that has become idle holds nothing")
def idle(family):
    """The module updates the recorded memory when it seems too large."""
    known(family)
    limit("memory", LEAST)
    held = [pair(family) for _ in range(8)]
    for both in held:
        exchange_part(both, 10 * BYTES)
    wait_for("nothing is held", lambda: memory(family) <= LEAST)
    with grows(ended=False, split_handshake=1, split_pass_memory=0):
        exchange(pair(family), BYTES)
    for both in held:
        exchange(both, 100)


@case("the largest user of a share comes first")
def most():
    known(4)
    limit("connections", 100)
    limit("flows", 10)
    held = [pair(4) for _ in range(5)]
    more = [other(4) for _ in range(2)]
    for both in held + more:
        exchange_part(both, 100)
    rows = top("2")
    expect("who", [row["subscriber"] for row in rows],
           [addr("sub", 4), MORE[4]])
    expect("used, per cent", [row["used_percent"] for row in rows], [50, 20])
    expect("only one", len(top("1")), 1)
    text = pepadm("limit", "show", "top", "1").stdout
    expect("as text", text.startswith(
        f"subscriber {addr('sub', 4)} used 50.0% connections "), True)
    for both in held + more:
        exchange(both, 100)
