# SPDX-License-Identifier: GPL-2.0
"""The next leg begins with the link properties that a subscriber's earlier
connections have shown, retreats if they do not hold, and shares the link with
others."""

import ipaddress
import json
import time

from peptest import pep
from peptest.env import EXACT
from peptest.ktap import (after_case, case, expect, expect_least, expect_most,
                          fail, families, note, wait_for)
from peptest.netns import addr, impaired, netem, run
from peptest.pep import grows, least, pepadm, split_pair, split_start
from peptest.raw import ACK, RST, SYN, Wire, segment
from peptest.tcp import (PORT, End, exchange_all, exchange_part, one_way, pump,
                         start)

TRAITS = {"simulated", "clocked"}

DELAY = 100             # ms each way, on the wireless link
LINK = "rate", "8mbit", "delay", f"{DELAY}ms", "limit", "1000"
WIRELESS = ("sub", "eth0"), ("pep", "wl0")
LEARNED = 800_000       # bytes, after which the link is known
OBJECT = 60_000         # bytes: three round trips of a slow start
OBJECTS = 20_000, 60_000        # bytes: each more than the window
MESSAGES = 150          # enough for two periods of rounds
LEAST = 850_000         # payload that such a link carries, bytes/s
MOST = 1_050_000
OTHER = {4: "198.18.250.1", 6: "2001:db8:fff::1"}
# The subscriber acknowledges nothing but with payload.
NO_ACK = """table inet silent {
chain output {
type filter hook output priority 0
tcp flags & (fin | syn | rst | psh | ack) == ack drop
}
}
"""
STRANGER = "198.18.1.77"        # a server without a host
MOST_PATHS = 1 << 17            # more than fit
IN_FLIGHT = 14_000      # bytes: ten segments
TOGETHER = 3            # connections
AT_ONCE = 10            # windows in a round trip
PLAIN = ("cc-wireless", "pep_bbr", "connect", "follow", "split", "handshake",
         "resume", "on", "resume-max", "2097152", "link-rate", "auto",
         "link-rtt", "auto")


def setup():
    """Connections are split at their handshake."""
    pep.attached()


@after_case
def plain():
    """Undo the settings of a case."""
    if pep.loaded():
        pepadm("profile", "set", "default", *PLAIN)


def load(family, size, opener="sub"):
    """Let the server send on a new connection; return the seconds it takes."""
    opened = {"sub": "srv", "srv": "sub"}[opener]
    ends = split_pair(family, opener, opened)
    sub, srv = ends if opener == "sub" else ends[::-1]
    begun = time.monotonic()
    one_way(srv, sub, size, fin=True)
    took = time.monotonic() - begun
    sub.close()
    srv.close()
    pep.flows_end()
    return took


def rate():
    """Rate of the only subscriber's link, bytes per second."""
    return paths()[0]["rate"]


def paths(*words):
    """The known links from pepadm's JSON output."""
    return json.loads(pepadm("-j", "path", "show", *words).stdout)


def learn(family):
    """Make the link known."""
    load(family, LEARNED)
    load(family, LEARNED)


@families("the next connection begins with it", "sub", "pep_bbr")
@families("the next connection begins with it, of a server", "srv",
          "pep_bbr")
@families("the next connection begins with it, BBR", "sub", "bbr")
@families("the next connection begins with it, CUBIC", "sub", "cubic")
def begins(family, opener, control):
    """It saves at least two round trips of 200 ms."""
    pepadm("profile", "set", "default", "cc-wireless", control)
    with impaired(WIRELESS, *LINK, single=True):
        learn(family)
        pepadm("profile", "set", "default", "resume", "off")
        with grows(resume_jump=0):
            without = load(family, OBJECT, opener)
        pepadm("profile", "set", "default", "resume", "on")
        with grows(resume_jump=1, resume_retreat=0):
            took = load(family, OBJECT, opener)
    note(f"{took:.3f} s, without {without:.3f} s")
    expect_least("seconds less", without - took, 3 * DELAY / 1e3)


@families("connect early: the next connection begins with it")
def early(family):
    with impaired(WIRELESS, *LINK, single=True):
        learn(family)
        pepadm("profile", "set", "default", "connect", "early")
        with grows(resume_jump=1, resume_retreat=0):
            load(family, OBJECT)


@families("a leg that hears nothing leaves the link to others")
def silent(family):
    """Its end may have gone, with payload under way."""
    pepadm("path", "flush", "all")
    with impaired(WIRELESS, *LINK, single=True):
        learn(family)
        sub, srv = split_pair(family)
        netem("sub", "eth0", "loss", "100%")
        srv.sendall(bytes(OBJECT))
        wait_for("a time-out and another one", lambda: pep.flows()[0]["legs"][
            "wireless"]["retrans"] > 2)
        expect("in flight", (paths()[0]["in_flight"], paths()[0]["legs"]),
               (0, 0))
        netem("sub", "eth0", *LINK)
        left = OBJECT
        while left:
            left -= len(sub.recv(left))
        wait_for("nothing in flight", lambda: not paths()[0]["in_flight"])
        sub.close()
        srv.close()
        pep.flows_end()
    pepadm("path", "flush", "all")


@families("a connection that pauses begins anew")
def pause(family):
    """Everything is acknowledged, then more than the window follows."""
    with impaired(WIRELESS, *LINK, single=True):
        learn(family)
        sub, srv = split_pair(family)
        with grows(ended=False, resume_jump=least(1)):
            one_way(srv, sub, OBJECT)
        pep.quiet()
        with grows(ended=False, resume_jump=1):
            one_way(srv, sub, 5 * OBJECT)
        sub.close()
        srv.close()
        pep.flows_end()


@families("each object of a kept connection begins with it")
def kept(family):
    """The next request acknowledges the whole object."""
    with impaired(WIRELESS, *LINK):
        learn(family)
        sub, srv = split_pair(family)
        run("nft", "-f", "-", ns="sub", stdin=NO_ACK)
        try:
            for size in OBJECTS:
                with grows(ended=False, resume_jump=1, resume_retreat=0):
                    one_way(srv, sub, size)
                    one_way(sub, srv, 100)
        finally:
            run("nft", "delete", "table", "inet", "silent", ns="sub")
        sub.close()
        srv.close()
        pep.flows_end()


@families("connections that begin together: the first one is ahead")
def begin_together(family):
    """Legs take over ten segments in flight each, and have a window of that;
    only one that is alone may send two more at once."""
    pep.follow(str(IN_FLIGHT))
    pepadm("profile", "set", "default", "resume", "off")
    with impaired(WIRELESS, *LINK, single=True):
        both = start(family, TOGETHER)
        ends = [End(srv, IN_FLIGHT, fin=False, wanted=0) for _, srv in both]
        pump(ends)
        wait_for("flows", lambda: pep.stat("flows") == TOGETHER)
        windows = sorted(flow["legs"]["wireless"]["cwnd"]
                         for flow in pep.flows())
        for sub, srv in both:
            sub.close()
            srv.close()
        pep.flows_end()
    expect("congestion windows", windows, [10] * (TOGETHER - 1) + [12])


def flights(pairs, size):
    """Let the server send so much on all connections at once; return how many
    windows each leg towards the subscriber paces in a round trip."""
    with grows(ended=False, bytes_to_wireless=len(pairs) * size):
        pump([End(srv, size, fin=False, wanted=0) for _, srv in pairs])
        wait_for("payload", lambda: not any(
            flow["legs"]["server"]["unread"] for flow in pep.flows()))
    lines = run("ss", "-HOtnio", "state", "established", "dport", "!=",
                f":{PORT}", ns="pep").stdout.splitlines()
    for line in lines:
        cwnd, mss, rate, rtt = (pep.number(line, rf" {name}(\d+)") for name in
                                ("cwnd:", "mss:", "pacing_rate ", "rtt:"))
        yield round(rate / 8 * rtt / 1000 / cwnd / mss, 1)


@families("second flights that begin together are spaced", "follow")
@families("second flights that begin together are spaced, early", "early")
def second_flights(family, mode):
    """The server sends them at once, since the gateway has acknowledged the
    first ones. These leave at once, and so does the first of the second
    ones."""
    pepadm("profile", "set", "default", "resume", "off", "connect", mode)
    with impaired(WIRELESS, *LINK, single=True):
        both = split_start(family, TOGETHER)
        expect_least("windows in a round trip at first",
                     min(flights(both, IN_FLIGHT)), AT_ONCE)
        wait_for("acknowledgments", lambda: not any(
            flow["legs"]["wireless"]["unacked"] for flow in pep.flows()))
        *spaced, ahead = sorted(flights(both, 2 * IN_FLIGHT))
        for sub, srv in both:
            sub.close()
            srv.close()
        pep.flows_end()
    expect("windows in a round trip", spaced, [1.0] * (TOGETHER - 1))
    expect_least("windows in a round trip of the first", ahead, AT_ONCE)


@families("the link carries less than it did: a retreat")
def retreats(family):
    """Much of the payload beyond the window is lost; all of it arrives, and
    the known rate of the link is lower from then on."""
    with impaired(WIRELESS, *LINK, single=True):
        learn(family)
        sub, srv = split_pair(family)
        netem("pep", "wl0", "delay", f"{DELAY}ms", "loss", "30%")
        with grows(resume_jump=least(1), resume_retreat=least(1)):
            one_way(srv, sub, 2 * OBJECT, fin=True)
            sub.close()
            srv.close()
    with impaired(WIRELESS, *LINK, single=True):
        with grows(resume_retreat=0):
            load(family, OBJECT)


@families("another round trip than the link's: as without")
def elsewhere(family):
    """With less than half of the known round trip."""
    with impaired(WIRELESS, *LINK, single=True):
        learn(family)
    with impaired(WIRELESS, "rate", "8mbit", "delay", f"{DELAY // 5}ms",
                  "limit", "1000", single=True):
        with grows(resume_jump=0):
            load(family, OBJECT)


@families("link-rate and link-rtt: the first connection begins with them")
def operator(family):
    """No knowledge of the link is needed, and resume may be off."""
    pepadm("profile", "set", "default", "resume", "off", "link-rate", "8mbit",
           "link-rtt", str(2 * DELAY))
    with impaired(WIRELESS, *LINK, single=True):
        with grows(resume_jump=1, resume_retreat=0):
            load(family, OBJECT)
        pepadm("profile", "set", "default", "link-rtt", str(5 * DELAY))
        with grows(resume_jump=0):
            load(family, OBJECT)


@families("resume-max bounds it")
def bound(family):
    """With little more than the initial window it takes another round trip."""
    with impaired(WIRELESS, *LINK, single=True):
        learn(family)
        free = load(family, OBJECT)
        pepadm("profile", "set", "default", "resume-max", "16384")
        bounded = load(family, OBJECT)
    expect_least("seconds more", bounded - free, DELAY / 1e3)


@families("six connections at once share the link", "pep_bbr")
@families("six connections at once share the link, BBR", "bbr")
@families("six connections at once share the link, CUBIC", "cubic")
def together(family, control):
    """All payload arrives, and the link is known as before."""
    pepadm("profile", "set", "default", "cc-wireless", control)
    with impaired(WIRELESS, "rate", "8mbit", "delay", f"{DELAY}ms", "limit",
                  "100", single=True):
        learn(family)
        for _ in range(2):
            exchange_all(split_start(family, 6), 100, OBJECT)
            pep.flows_end()
        with grows(resume_jump=1):
            load(family, 2 * OBJECT)


@families("small messages beside do not hold a download up")
def beside(family):
    """They show little of the link's capacity. The other connection has one in
    flight whenever the download begins."""
    pepadm("path", "flush", "all")
    took = {}
    with impaired(WIRELESS, *LINK, single=True):
        for resume in "on", "off":
            pepadm("profile", "set", "default", "resume", resume)
            near, far = split_pair(family)
            sub, srv = split_pair(family)
            for _ in range(5):
                exchange_part((near, far), 100)
            far.send(bytes(100))
            begun = time.monotonic()
            one_way(srv, sub, LEARNED, fin=True)
            took[resume] = time.monotonic() - begun
            near.recv(100)
            for sock in near, far, sub, srv:
                sock.close()
            pep.flows_end()
            pepadm("path", "flush", "all")
    note(str(took))
    expect_most("seconds with it", took["on"], 1.2 * took["off"])


@families("small messages do not make it forget the rate")
def small(family):
    """Nor do they limit a leg that had nothing else to send, when it begins
    its download while another leg has payload in flight."""
    with impaired(WIRELESS, *LINK, single=True):
        learn(family)
        near, far = split_pair(family)
        sub, srv = split_pair(family)
        for _ in range(MESSAGES):
            exchange_part((near, far), 100)
            exchange_part((sub, srv), 100)
        expect_least("rate, bytes/s", rate(), LEAST)
        far.send(bytes(100))
        begun = time.monotonic()
        one_way(srv, sub, LEARNED, fin=True)
        took = time.monotonic() - begun
        near.recv(100)
        for sock in near, far, sub, srv:
            sock.close()
        pep.flows_end()
    note(f"{took:.3f} s")
    expect_least("no longer than at half of the rate, s", 2 * LEARNED / LEAST,
                 took)


def first_loads(family, loads, *link):
    """The known rate of a link after its first loads, bytes/s."""
    pepadm("path", "flush", "all")
    with impaired(WIRELESS, *link, single=True):
        for _ in range(loads):
            load(family, LEARNED)
    return rate()


@families("a loss that is repaired makes no link faster")
def repaired(family):
    """Payload after a hole has arrived before the hole is filled."""
    found = first_loads(family, 3, *LINK, "loss", "2%")
    expect_most("rate, bytes/s", found, MOST)


@families("a window that does not fill the link shows its rate")
def train(family):
    """By the spacing of its acknowledgments."""
    found = first_loads(family, 1, "rate", "8mbit", "delay",
                        f"{3 * DELAY}ms", "limit", "1000")
    expect_least("rate, bytes/s", found, LEAST)
    expect_most("rate, bytes/s", found, MOST)


@families("a longer round trip than the known one is no reason to retreat")
def longer(family):
    """As long as the round trip does not grow."""
    pepadm("path", "flush", "all")
    with impaired(WIRELESS, "rate", "8mbit", "delay", f"{DELAY // 5}ms",
                  "limit", "1000", single=True):
        learn(family)
    with impaired(WIRELESS, *LINK, single=True):
        with grows(resume_jump=1, resume_retreat=0):
            load(family, OBJECT)


@case("a round trip without a rate is refused")
def refused():
    """Refused by pepadm in a file, by the kernel in a command; nothing
    changes."""
    before = pepadm("profile", "show").stdout
    for words, name in (("link-rtt 600", "link-rtt"),):
        done = pepadm("profile", "set", "default", *words.split(), check=False)
        expect("exit code", done.returncode, 1)
        expect("message", done.stderr,
               f"pepadm: profile set: {name}: needs link-rate\n")
    done = pepadm("conf", "check", "-", check=False,
                  stdin="profile default link-rtt 600\n")
    if not done.returncode or "link-rtt: needs link-rate" not in done.stderr:
        fail(f"conf check: {done.returncode}, {done.stderr}")
    expect("profiles", pepadm("profile", "show").stdout, before)


def same_paths(*words):
    """The same without times."""
    return [{key: path[key] for key in path if key != "idle_ms"}
            for path in paths(*words)]


@families("it is shown, and forgotten at a command", "sub")
@families("it is shown, and forgotten at a command, of a server", "srv")
def shown(family, opener):
    """An IPv6 subscriber is a network with a prefix of 64 bits."""
    pepadm("path", "flush", "all")
    expect("without any", paths(), [])
    with impaired(WIRELESS, *LINK, single=True):
        for _ in range(2):
            load(family, LEARNED, opener)
        known, = same_paths()
        subscriber = addr("sub", family)
        net = str(ipaddress.ip_network(f"{subscriber}/64", strict=False)) \
            if family == 6 else subscriber
        expect("subscriber", known["subscriber"], net)
        note(str(known))
        expect("flows, legs, bytes in flight", tuple(
            known[key] for key in ("flows", "legs", "in_flight")), (2, 0, 0))
        expect_least("round trip, us", known["rtt_us"], 2000 * DELAY)
        expect_least("nearly that, us", 2200 * DELAY, known["rtt_us"])
        expect_least("rate, bytes/s", known["rate"], 700_000)
        expect_least("nearly that, bytes/s", 1_200_000, known["rate"])
        expect_least("segments", known["segs"], 2 * LEARNED // 1460)
        expect("of a filter", same_paths("subscriber", subscriber), [known])
        expect("of another one", paths("subscriber", OTHER[family]), [])
        expect("of a network", same_paths("subscriber", f"{subscriber}/8"),
               [known])
        text = pepadm("path", "show").stdout
        if not text.startswith(f"subscriber {net} rate ") or \
                "Mbit rtt 20" not in text:
            fail(text)
        expect("flushed, another one's", pepadm(
            "path", "flush", "subscriber", OTHER[family]).stdout,
            "flushed 0\n")
        sub, srv = split_pair(family)
        expect("flushed", pepadm("path", "flush", "subscriber",
                                 subscriber).stdout, "flushed 1\n")
        expect("afterwards", paths(), [])
        one_way(srv, sub, OBJECT, fin=True)
        sub.close()
        srv.close()
        pep.flows_end()


@families("prefix4 and prefix6: a subscriber is a network")
def networks(family):
    """Its hosts share one link."""
    pepadm("path", "flush", "all")
    bits = {4: 24, 6: 48}[family]
    net = ipaddress.ip_network(f"{addr('sub', family)}/{bits}", strict=False)
    try:
        pepadm("limit", "set", "prefix4", "24", "prefix6", "48")
        with impaired(WIRELESS, *LINK, single=True):
            learn(family)
            expect("subscribers", [path["subscriber"] for path in paths()],
                   [str(net)])
            expect("by one of its hosts", len(
                paths("subscriber", str(net.network_address + 200))), 1)
    finally:
        pepadm("limit", "set", "prefix4", "32", "prefix6", "64")
    with impaired(WIRELESS, *LINK, single=True):
        with grows(resume_jump=0):
            load(family, OBJECT)
    expect("subscribers of both kinds", len(paths()), 2)


def subscriber(number):
    """The address of a subscriber without a host."""
    return str(ipaddress.ip_address("198.18.2.0") + number)


def visit(wires, number):
    """A connection of such a subscriber, made by hand, from its SYN to its
    reset."""
    near, far = wires
    there = subscriber(number), STRANGER, 1024, 80
    back = STRANGER, subscriber(number), 80, 1024
    near.send(segment(*there, flags=SYN))
    far.send(segment(*back, flags=SYN | ACK, ack=1))
    near.send(segment(*there, flags=ACK, seq=1, ack=1))
    near.send(segment(*there, flags=RST, seq=1))


def full():
    """In the order of their latest connections, not of their first ones."""
    pepadm("path", "flush", "all")
    pepadm("profile", "set", "default", "split", "never")
    wires = Wire("sub"), Wire("srv", "eth0", ("pep", "sv0"))
    before, count = pep.stat("path_evicted"), 0
    while pep.stat("path_evicted") == before and count < MOST_PATHS:
        for number in range(count, count + 200):
            visit(wires, number)
        count += 200
    first = pep.stat("path_evicted") - before
    expect_least("forgotten", first, 1)
    wrong = {path["subscriber"] for path in paths()} ^ set(
        map(subscriber, range(first, count)))
    expect("entries too many and too few", sorted(wrong)[:4], [])
    time.sleep(2)               # the order is by seconds
    visit(wires, first)
    visit(wires, count)
    expect("forgotten now", pep.stat("path_evicted") - before, first + 1)
    for number, left in (first, 1), (first + 1, 0), (first + 2, 1), (count, 1):
        expect(f"entries of number {number}",
               len(paths("subscriber", subscriber(number))), left)
    note(f"{count - first} entries")


# One kernel shows it, the quickest: there is room for many.
if EXACT:
    case("a full table forgets the subscriber seen longest ago",
         seconds=300)(full)


@case("what is known of links: bad words, and who may ask")
def bad_words():
    for words, code, message in (
            (("flush",), 2, "path flush: subscriber or all: missing"),
            (("flush", "subscriber", "nobody"), 2,
             'path flush: subscriber: "nobody" is not an address or '
             "ADDR/BITS"),
            (("show", "server", "198.18.0.1"), 2,
             'path show: "server" is not one of: subscriber')):
        done = pepadm("path", *words, check=False)
        expect(f"{words}: exit code", done.returncode, code)
        expect(f"{words}: message", done.stderr, f"pepadm: {message}\n")
