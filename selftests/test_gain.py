# SPDX-License-Identifier: GPL-2.0
"""A share of connections is never split, and pep's comparison of both groups
agrees with measurements at the subscriber."""

import contextlib
import json
import select
import statistics
import time

from peptest import genl, pep
from peptest.env import EXACT
from peptest.ktap import (after_case, case, expect, expect_least, fail,
                          families, note, skip, wait_for)
from peptest.netns import addr, impaired, ip, sysctls
from peptest.pep import grows, least, pepadm, stat
from peptest.raw import ACK, Wire, segment
from peptest.tcp import (PORT, Load, accept, client, close_all, connect,
                         exchange_part, expect_reset, listen, one_way, pair,
                         reset)

TRAITS = {"simulated", "clocked", "longest"}

WIRELESS = (("pep", "wl0"),)
SERVER = (("srv", "eth0"),)
FAR = "delay", "20ms"   # leaves time to split a connection
LOSSY = "rate", "20mbit", "delay", "60ms", "loss", "2%"
SLOW = "rate", "200kbit", "delay", "20ms"
UP = (("sub", "eth0"),)
SIZES = {1_000: 16 << 10, 16 << 10: 16 << 10, (16 << 10) + 1: 64 << 10,
         64 << 10: 64 << 10, 300_000: 1 << 20}      # bytes: end of the class
REQUEST = 100           # bytes
OBJECT = 50_000         # bytes, of one class
MANY = 60               # connections
LITTLE = 31             # bytes
FLIGHT = {4: 14_480, 6: 14_280}     # bytes, the first that a server sends
FEW_SEGMENTS = 10_500   # bytes, an odd number of segments
PAUSE = 5               # seconds without a request
SHARES = "off, a share from 0.01% to 50%"
PLAIN = ("control", "off", "control-by", "connection", "connect", "follow")
LENGTH = {4: 32, 6: 128}
OTHERS = {4: [f"198.18.99.{100 + i}" for i in range(20)],
          6: [f"2001:db8:99:{i + 16:x}::2" for i in range(20)]}


_server = contextlib.ExitStack()


def setup():
    """Connections are split at their handshake."""
    pep.attached()


@after_case
def plain():
    """Undo the settings of a case, and with them its counts."""
    _server.close()
    if pep.loaded():
        pepadm("profile", "set", "default", *PLAIN)


def compare(*words):
    """Begin to compare."""
    pep.flows_end()
    pepadm("profile", "set", "default", *words)
    _server.enter_context(impaired(SERVER, *FAR))


def gain():
    """The counts of the default profile."""
    found = json.loads(pepadm("-j", "stat", "gain").stdout)
    expect("profiles", [one["profile"] for one in found], ["default"])
    return found[0]


def groups(key="connections"):
    """A number of both groups, control first."""
    found = gain()["groups"]
    return [found[name][key] for name in ("control", "treated")]


def seconds(kind):
    """The sum of times of a kind, of both groups."""
    text = pepadm("stat", "show", "--prometheus").stdout
    return sum(float(line.split()[1]) for line in text.splitlines()
               if line.startswith(f"pep_compared_{kind}_seconds_sum"))


def ended(count):
    """Wait for the end of all connections; their objects are counted then."""
    wait_for("the end of all", lambda: not stat("flows") and not json.loads(
        pepadm("-j", "conn", "show", "stage", "followed").stdout))
    expect("connections", sum(groups()), count)


@contextlib.contextmanager
def request(family, size, reply=OBJECT):
    """A connection whose subscriber sends a request, and receives a reply."""
    sub, srv = pair(family)
    one_way(sub, srv, size)
    one_way(srv, sub, reply)
    yield sub, srv
    for sock in sub, srv:
        sock.close()


@families("half of the connections are never split", "follow")
@families("half of the connections are never split, connect early", "early")
def chosen(family, mode):
    """All connections are counted in their group."""
    compare("control", "50%", "connect", mode)
    with grows(ended=False, flow_established=least(MANY // 4),
               split_pass_control=least(MANY // 4)) as before:
        for _ in range(MANY):
            with request(family, REQUEST):
                pass
        ended(MANY)
    held = stat("split_pass_control") - before["split_pass_control"]
    split = stat("flow_established") - before["flow_established"]
    expect("groups", groups(), [held, split])
    expect("cut", groups("cut"), [0, 0])
    found = gain()
    expect("sizes", [one["size"] for one in found["sizes"]], [64 << 10])
    expect("connections of the size", found["sizes"][0]["connections"],
           {"control": held, "treated": split})
    expect("payload", groups("bytes"), [OBJECT * held, OBJECT * split])


@families("control 0.01% to 50%, and off")
def share(family):
    """Without a control group nothing is compared; a change starts from
    zero."""
    compare("control", "0.01%")
    expect("share", gain()["control"], 1)
    with request(family, REQUEST):
        pass
    ended(1)
    pepadm("profile", "set", "default", "residence", "60")
    expect("after another change", sum(groups()), 1)
    pepadm("profile", "set", "default", "control", "12.5%")
    expect("share", gain()["control"], 1250)
    expect("anew", sum(groups()), 0)
    text = pepadm("stat", "gain", "profile", "default").stdout
    if not text.startswith("profile default control 12.5% by connection "):
        fail(text)
    expect("of another profile", json.loads(pepadm(
        "-j", "stat", "gain", "profile", "other").stdout), [])
    line, = (line for line in pepadm("conf", "save", "-").stdout.splitlines()
             if line.startswith("profile default"))
    if "control 12.5% control-by connection" not in line:
        fail(line)
    pepadm("profile", "set", "default", "control", "off", "residence", "50")
    expect("off", json.loads(pepadm("-j", "stat", "gain").stdout), [])


@families("a configuration that says the same changes nothing")
def synced(family):
    compare("control", "50%")
    with request(family, REQUEST):
        pass
    ended(1)
    text = pepadm("conf", "save").stdout
    pepadm("conf", "sync", "-", stdin=text)
    expect("connections", sum(groups()), 1)
    pepadm("conf", "sync", "-", stdin=text.replace(
        "control-by connection", "control-by subscriber"))
    expect("anew", (gain()["control_by"], sum(groups())), ("subscriber", 0))


@families("all connections of a subscriber are in one group")
def subscriber(family):
    """Different subscribers may be in different groups."""
    compare("control", "50%", "control-by", "subscriber")
    listener = listen("srv", family)
    found = set()
    count = 0
    for other in OTHERS[family]:
        ip("sub", f"addr add {other}/{LENGTH[family]} dev eth0 nodad"
           if family == 6 else f"addr add {other}/{LENGTH[family]} dev eth0")
        ip("pep", f"route add {other}/{LENGTH[family]} via "
           f"{addr('sub', family)}", family=family)
        before = stat("split_pass_control")
        for _ in range(3):
            sock = client("sub", family, bind=(other, 0))
            sock.connect((addr("srv", family), 5000))
            far = accept(listener)
            exchange_part((sock, far), REQUEST)
            sock.close()
            far.close()
            count += 1
        held = stat("split_pass_control") - before
        expect(f"of three of {other}", held in (0, 3), True)
        found.add(held)
    ended(count)
    expect("groups", found, {0, 3})


@families("objects by their sizes, several of a connection")
def sizes(family):
    """Each object counts in its class, in both groups."""
    compare("control", "50%")
    for _ in range(10):
        sub, srv = pair(family)
        for size in SIZES:
            one_way(sub, srv, REQUEST)
            one_way(srv, sub, size)
        sub.close()
        srv.close()
    ended(10)
    found = gain()
    classes = sorted(set(SIZES.values()))
    expect("classes", [one["size"] for one in found["sizes"]], classes)
    for one in found["sizes"]:
        expect(f"up to {one['size']}: connections", one["connections"],
               dict(zip(("control", "treated"), groups())))


@families("an upload is no object, nor is what its answer takes")
def upload(family):
    compare("control", "50%")
    for _ in range(10):
        with request(family, 100_000, 500):
            pass
    ended(10)
    expect("sizes", gain()["sizes"], [])


@families("the server speaks first", "follow", "sub", "srv")
@families("the server speaks first, connect early", "early", "sub", "srv")
@families("the server opens and speaks first", "follow", "srv", "sub")
@families("the server opens and speaks first, connect early", "early", "srv",
          "sub")
def greeting(family, mode, opener, opened):
    """Objects from the start of the connection, without a missing byte."""
    compare("control", "50%", "connect", mode)
    for _ in range(10):
        ends = dict(zip((opener, opened), pair(family, opener, opened)))
        one_way(ends["srv"], ends["sub"], OBJECT)
        ends["sub"].close()
        ends["srv"].close()
    ended(10)
    expect("sizes", [one["size"] for one in gain()["sizes"]], [64 << 10])
    expect("payload", groups("bytes"), [OBJECT * n for n in groups()])


def twice(family, between):
    """Connections with an object, then an event, and after a pause another
    object: none of the objects takes as long as the pause, nor does a sample
    of the queueing delay."""
    compare("control", "50%")
    _server.enter_context(impaired(UP, *FAR))   # a round trip to be measured
    ends = [pair(family) for _ in range(10)]
    for sub, srv in ends:
        one_way(sub, srv, REQUEST)
        one_way(srv, sub, OBJECT)
    between(ends)
    time.sleep(PAUSE)
    for sub, srv in ends:
        one_way(sub, srv, REQUEST)
        one_way(srv, sub, OBJECT)
        sub.close()
        srv.close()
    ended(10)
    expect("cut", groups("cut"), [0, 0])
    expect_least("objects: seconds, not more", PAUSE, seconds("object"))
    expect_least("delay: seconds, not more", PAUSE, seconds("delay"))
    counts = gain()["delay"]["count"]
    for name, number in zip(("control", "treated"), groups()):
        expect_least(f"delay: samples, {name}", counts[name], min(number, 1))
    return gain()


@families("what the server sends long after its answer is no part of it")
def afterwards(family):
    """As the end of TLS when the server lets go of a connection."""
    compare("control", "50%")
    ends = [pair(family) for _ in range(10)]
    for sub, srv in ends:
        one_way(sub, srv, REQUEST)
        one_way(srv, sub, OBJECT)
    time.sleep(PAUSE)
    for sub, srv in ends:
        one_way(srv, sub, LITTLE)
        srv.close()
        sub.close()
    ended(10)
    expect("objects", gain()["sizes"][0]["count"],
           dict(zip(("control", "treated"), groups())))
    expect_least("objects: seconds, not more", PAUSE, seconds("object"))
    expect("payload", groups("bytes"), [(OBJECT + LITTLE) * n
                                        for n in groups()])


@families("what the subscriber sends within an answer is no turn",
          "follow", "sub", "srv")
@families("what the subscriber sends within an answer is no turn, connect "
          "early", "early", "sub", "srv")
@families("what the subscriber sends within an answer is no turn, connect "
          "early, the server opens", "early", "srv", "sub")
def within(family, mode, opener, opened):
    """It leaves with the acknowledgment of all that has passed the gateway:
    the server has more to send, which has not come yet."""
    compare("control", "50%", "connect", mode)
    with impaired(WIRELESS, "delay", "200ms"):
        for _ in range(10):
            ends = dict(zip((opener, opened), pair(family, opener, opened)))
            one_way(ends["sub"], ends["srv"], REQUEST)
            for end in ends.values():
                end.setblocking(True)
            ends["srv"].sendall(bytes(OBJECT))
            left = OBJECT
            while left:
                left -= len(ends["sub"].recv(OBJECT))
                if OBJECT - left == FLIGHT[family]:
                    ends["sub"].sendall(bytes(LITTLE))
            expect("bytes", len(ends["srv"].recv(OBJECT)), LITTLE)
            one_way(ends["sub"], ends["srv"], REQUEST)
            one_way(ends["srv"], ends["sub"], OBJECT)
            for end in ends.values():
                end.close()
        ended(10)
    expect("sizes", [one["size"] for one in gain()["sizes"]], [64 << 10])
    expect("objects", gain()["sizes"][0]["count"],
           dict(zip(("control", "treated"), (2 * n for n in groups()))))


@families("an opener that is answered early, and refused, is not compared")
def refused(family):
    compare("control", "50%", "connect", "early")
    with grows(ended=False, connect_refused=least(1)):
        for _ in range(10):
            try:
                expect_reset(connect("sub", family, addr("srv", family),
                                     port=PORT + 1))
            except ConnectionRefusedError:
                pass        # of the control group
        pep.flows_end()
    expect("connections", sum(groups()), 0)


@families("connect early, split never: both groups are compared")
def early_never(family):
    compare("control", "50%", "connect", "early", "split", "never")
    before = pep.stat("split_pass_control")
    for _ in range(10):
        with request(family, REQUEST):
            pass
    ended(10)
    expect_least("connections of each", min(groups()), 1)
    expect("connections of the control group, counted",
           pep.stat("split_pass_control") - before, groups()[0])
    pepadm("profile", "set", "default", "split", "handshake")


@families("packets that come out of order were not sent again")
def reordered(family):
    """By the path in front of the gateway, which no proxy mends: a tenth of
    them. The server takes none for lost, and sends none again."""
    compare("control", "50%")
    _server.close()
    with sysctls("srv", "net.ipv4.tcp_reordering=300",
                 "net.ipv4.tcp_recovery=0", "net.ipv4.tcp_early_retrans=0"), \
            impaired(SERVER, "delay", "20ms", "1ms", "reorder", "90%",
                     single=True):
        for _ in range(10):
            with request(family, REQUEST, 10 * OBJECT):
                pass
        ended(10)
    for name, part in gain()["groups"].items():
        expect_least(f"sent again, {name}, not more", 0.002, part["again"])


def release():
    """Hand all connections back to their ends."""
    pepadm("flow", "release", "all")
    pep.flows_end()


@families("a connection that is handed back stays in its group")
def released(family):
    """Objects before and after are measured the same way."""
    found = twice(family, lambda ends: release())
    expect("objects", found["sizes"][0]["count"],
           dict(zip(("control", "treated"), (2 * n for n in groups()))))
    expect("payload", groups("bytes"), [2 * OBJECT * n for n in groups()])


@families("a connection is handed back in the middle of an object")
def released_amid(family):
    """No object is lost, and none is measured as longer than it takes: the leg
    ends with its last acknowledgment."""
    compare("control", "50%")
    ends = [pair(family) for _ in range(4)]
    left, took = {}, 0
    with impaired(WIRELESS, *SLOW):
        for sub, srv in ends:
            took -= time.monotonic()
            one_way(sub, srv, REQUEST)
            left[sub] = srv.send(bytes(OBJECT))
        for sub in left:
            expect("a part", select.select([sub], [], [], 30)[0], [sub])
        pepadm("flow", "release", "all")
        while left:
            for sub in select.select(left, [], [])[0]:
                left[sub] -= len(sub.recv(OBJECT))
                if not left[sub]:
                    del left[sub]
                    took += time.monotonic()
        pep.flows_end()
    time.sleep(PAUSE)
    for both in ends:
        one_way(*both, REQUEST)
        one_way(*both[::-1], OBJECT)
        for sock in both:
            sock.close()
    ended(len(ends))
    expect("objects", gain()["sizes"][0]["count"],
           dict(zip(("control", "treated"), (2 * n for n in groups()))))
    expect("cut", groups("cut"), [0, 0])
    note(f"{seconds('object'):.1f} s, by the subscriber {took:.1f} s, in "
         f"{groups()}")
    expect_least("seconds, not more", took + PAUSE / 5, seconds("object"))


@families("packets pass unseen: what was measured before counts")
def unseen(family):
    """A detached device hands connections back; payload after it is attached
    again belongs to no group."""
    def gap(_):
        pep.detach()
        pep.attach()
    found = twice(family, gap)
    expect("objects", found["sizes"][0]["count"],
           dict(zip(("control", "treated"), groups())))
    expect("payload", groups("bytes"), [OBJECT * n for n in groups()])


@families("packets pass unseen amidst a download: nobody gave it up")
def amidst(family):
    """A part of it has come and is acknowledged when the devices are
    attached again."""
    compare("control", "50%", "split", "10000000")
    ends = [pair(family) for _ in range(8)]
    try:
        for sub, srv in ends:
            one_way(sub, srv, REQUEST)
        with impaired(WIRELESS, "rate", "8mbit", "delay", "20ms", "limit",
                      "1000", single=True):
            load = Load(ends, None, up=False)
            load.more(1000)
            pep.detach()
            pep.attach()
            load.more(OBJECT)
            load.finish()
        load.expect_whole()
    finally:
        pepadm("profile", "set", "default", "split", "handshake")
    expect_least("connections of each", min(groups()), 1)
    expect("cut", groups("cut"), [0, 0])


@families("a keepalive that repeats a byte asks for nothing")
def keepalive(family):
    """The keepalives of some systems repeat one."""
    wire = Wire("sub")

    def repeat(ends):
        latest = {one.sport: one for one in wire.segments(outgoing=True)}
        for sub, _ in ends:
            one = latest[sub.getsockname()[1]]
            wire.send(segment(addr("sub", family), addr("srv", family),
                              one.sport, PORT, flags=ACK, seq=one.ends - 1,
                              ack=one.ack, payload=b"x"))
    found = twice(family, repeat)
    wire.close()
    expect("objects", found["sizes"][0]["count"],
           dict(zip(("control", "treated"), (2 * n for n in groups()))))


@families("a subscriber that has got all resets before it hears of the end")
def abrupt(family):
    """Such a connection does not count as cut."""
    compare("control", "50%")
    for _ in range(10):
        sub, srv = pair(family)
        one_way(sub, srv, REQUEST)
        one_way(srv, sub, OBJECT)
        time.sleep(1)       # for the last acknowledgment
        with impaired(WIRELESS, "delay", "500ms"):
            srv.close()
            time.sleep(0.2)
            reset(sub)
            time.sleep(0.2)
    ended(10)
    expect("cut", groups("cut"), [0, 0])
    expect("objects", gain()["sizes"][0]["count"],
           dict(zip(("control", "treated"), groups())))


@families("what ends before all has arrived is counted apart")
def cut(family):
    compare("control", "50%")
    with impaired(WIRELESS, *SLOW):
        for _ in range(10):
            sub, srv = pair(family)
            one_way(sub, srv, REQUEST)
            srv.send(bytes(OBJECT))
            expect("a part", select.select([sub], [], [], 30)[0], [sub])
            reset(sub)
            srv.close()
        ended(10)
    expect("cut", groups("cut"), groups())


def trial(family, count):
    """Seconds per object, measured at the subscriber: of the control group,
    and of the other one."""
    took = [], []
    for _ in range(count):
        before = stat("split_pass_control")
        sub, srv = pair(family)
        begun = time.monotonic()
        one_way(sub, srv, REQUEST)
        one_way(srv, sub, 4 * OBJECT)
        held = stat("split_pass_control") > before
        took[0 if held else 1].append(time.monotonic() - begun)
        sub.close()
        srv.close()
    ended(count)
    return took


def expect_agrees(outside):
    """Fail unless the medians of both groups, and the factor between them,
    agree with those measured outside, in seconds."""
    size, = gain()["sizes"]
    found = size["p50"]
    ratio = outside[0] / outside[1]
    note(f"{outside} s: {ratio:.3f}; {found}")
    expect("the factor is within", found["low"] <= ratio <= found["high"],
           True)
    for index, name in enumerate(("control_us", "treated_us")):
        expect_least(f"{name}", found[name], 0.9e6 * outside[index])
        expect_least(f"{name}, not more", 1.1e6 * outside[index],
                     found[name])


@families("over a link that loses: the gain is that which subscribers have")
def truth(family):
    """The true gain is within the interval, and an interval exists."""
    compare("control", "50%")
    with impaired(WIRELESS, *LOSSY, single=True):
        took = trial(family, 2 * MANY)
    outside = [statistics.median(group) for group in took]
    expect_agrees(outside)
    again = gain()["groups"]
    for name in "control", "treated":
        expect_least(f"sent again, {name}", again[name]["again"], 0.01)
        expect_least(f"sent again, {name}, not more", 0.06,
                     again[name]["again"])


@families("where both groups are treated alike: the gain is chance")
def alike(family):
    """No connection is split in either group."""
    compare("control", "50%", "split", "10000000")
    try:
        with impaired(WIRELESS, *LOSSY, single=True):
            took = trial(family, MANY)
    finally:
        pepadm("profile", "set", "default", "split", "handshake")
    expect_agrees([statistics.median(group) for group in took])


@families("queueing delay")
def delay(family):
    """A download that fills a queue of 100 ms without pep, and not with it."""
    compare("control", "50%")
    with impaired(WIRELESS, "rate", "8mbit", "delay", "20ms", "limit",
                  "70", single=True):
        for _ in range(12):
            with request(family, REQUEST, 2_000_000):
                pass
        ended(12)
    found = gain()["delay"]
    note(str(found))
    expect_least("connections", min(found["connections"].values()), 1)
    expect_least("without pep, us", found["p50"]["control_us"], 40_000)
    expect_least("above that with pep", found["p50"]["gain"], 2)


@families("queueing delay of small objects")
def small(family):
    """Objects that fit into a leg at once: no sample has the time in which
    their last segment waits for its acknowledgment."""
    compare("control", "50%")
    with impaired(WIRELESS, "rate", "20mbit", "delay", "20ms", single=True):
        for _ in range(10):
            sub, srv = pair(family)
            for _ in range(10):
                one_way(sub, srv, REQUEST)
                one_way(srv, sub, FEW_SEGMENTS)
                time.sleep(0.3)
            sub.close()
            srv.close()
        ended(10)
    found = gain()["delay"]["p50"]
    note(str(found))
    expect_least("difference, us, not more", 5_000,
                 abs(found["control_us"] - found["treated_us"]))


@families("too few to tell")
def few(family):
    compare("control", "50%")
    left, asked = {True, False}, 0
    while left:
        before = stat("split_pass_control")
        with request(family, REQUEST):
            left.discard(stat("split_pass_control") > before)
        asked += 1
    ended(asked)
    found = gain()["sizes"][0]
    if "p50" in found:
        expect("an interval", "low" in found["p50"], False)
    text = pepadm("stat", "gain").stdout
    if "(too few)" not in text:
        fail(text)


@families("times that are too short to compare")
def short(family):
    """Without a queue the delay is nothing in both groups: no factor."""
    if not EXACT:
        skip("computing takes time here")
    compare("control", "50%")
    _server.enter_context(impaired(UP, *FAR))
    for _ in range(MANY):
        with request(family, REQUEST, LITTLE):
            pass
    ended(MANY)
    found = gain()["delay"]["p50"]
    expect("factors", [key for key in ("gain", "low", "high") if key in found],
           [])
    if "(too short)" not in pepadm("stat", "gain").stdout:
        fail(pepadm("stat", "gain").stdout)


@families("a connection with most of the objects is worth one")
def dominated(family):
    """Whatever their number: its objects resemble each other."""
    compare("control", "50%")
    for _ in range(2 * MANY // 3):
        with request(family, REQUEST):
            pass
    wait_for("the end of all", lambda: not stat("flows"))
    if "low" not in gain()["sizes"][0]["p50"]:
        fail(f"no interval before that: {gain()['sizes']}")
    left = {True, False}
    while left:
        before = stat("split_pass_control")
        with request(family, REQUEST) as (sub, srv):
            held = stat("split_pass_control") > before
            for _ in range(MANY if held in left else 0):
                one_way(sub, srv, REQUEST)
                one_way(srv, sub, OBJECT)
        left -= {held}
    wait_for("the end of all", lambda: not stat("flows"))
    size, = gain()["sizes"]
    expect("an interval", "low" in size["p50"], False)
    for name in "control", "treated":
        expect_least(f"objects, {name}", size["count"][name], MANY + 1)
        expect_least(f"worth, {name}, not more", 6, size["worth"][name])


@case("more profiles than a message holds")
def many():
    """Each profile and its comparison once, wherever a message ends."""
    names = [f"{i:0{3 + i % 13}}" for i in range(200)]
    pepadm("-b", "-", stdin="".join(f"profile add {name} control 1%\n"
                                    for name in names))
    shown = json.loads(pepadm("-j", "profile", "show").stdout)
    compared = json.loads(pepadm("-j", "stat", "gain").stdout)
    pepadm("-b", "-", stdin="".join(f"profile del {name}\n"
                                    for name in names))
    for found in ([one["name"] for one in shown],
                  [one["profile"] for one in compared]):
        expect("not shown once", {name: found.count(name) for name in names
                                  if found.count(name) != 1}, {})
    for one in compared:
        expect(f"groups of {one['profile']}", list(one["groups"]),
               ["control", "treated"])


@case("a comparison that begins anew while it is dumped")
def anew():
    """A later part is marked: it may belong to another one."""
    names = [f"p{i}" for i in range(100)]
    pepadm("-b", "-", stdin="".join(f"profile add {name} control 1%\n"
                                    for name in names))
    command = next(number for number, name in genl.names("PEP_CMD_").items()
                   if name == "gain_get")
    with genl.ask("pep", genl.family_id("pep", "pep"), command,
                  dump=True) as sock:
        pepadm("profile", "set", names[0], "control", "2%")
        marks = [flags & genl.NLM_F_DUMP_INTR
                 for flags, _ in genl.answers(sock)]
    pepadm("-b", "-", stdin="".join(f"profile del {name}\n"
                                    for name in names))
    expect("is the first one marked", bool(marks[0]), False)
    expect("is one marked", any(marks), True)


@case("bad words")
def bad_words():
    """Refused by pepadm, and by the kernel."""
    for words, message in (
            (("control", "50.01%"), SHARES), (("control", "5"), SHARES),
            (("control", "0%x"), SHARES), (("control", "0.001%"), SHARES),
            (("control-by", "port"), "connection, subscriber")):
        done = pepadm("profile", "set", "default", *words, check=False)
        expect(f"{words}: exit code", done.returncode, 2)
        expect(f"{words}: message", done.stderr,
               f"pepadm: profile set: {words[0]}: \"{words[1]}\" is not "
               f"one of: {message}\n")
    done = pepadm("stat", "gain", "profile", "a b", check=False)
    expect("exit code", done.returncode, 2)


@families("the module goes while both groups are measured")
def unload(family):
    """Nothing is left, and all bytes arrive."""
    compare("control", "50%")
    ends = [pair(family) for _ in range(10)]
    for both in ends:
        exchange_part(both, REQUEST, OBJECT)
    pep.detach()
    pep.unload()
    for both in ends:
        exchange_part(both, REQUEST, OBJECT)
    close_all()
    pep.load()
    pep.attach()
