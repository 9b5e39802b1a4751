# SPDX-License-Identifier: GPL-2.0
"""A share of connections is never split, and what both groups got compares as it
does when measured at the subscriber."""

import contextlib
import json
import select
import statistics
import time

from peptest import pep
from peptest.ktap import (after_case, case, expect, expect_least, fail,
                          families, note, wait_for)
from peptest.netns import addr, impaired, ip
from peptest.pep import grows, least, pepadm, stat
from peptest.tcp import (accept, client, close_all, exchange_part, listen,
                         one_way, pair, reset)

WIRELESS = (("pep", "wl0"),)
SERVER = (("srv", "eth0"),)
FAR = "delay", "20ms"   # time for a connection to be split in
LOSSY = "rate", "20mbit", "delay", "60ms", "loss", "2%"
SLOW = "rate", "200kbit", "delay", "20ms"
SIZES = {1_000: 16 << 10, 16 << 10: 16 << 10, (16 << 10) + 1: 64 << 10,
         64 << 10: 64 << 10, 300_000: 1 << 20}      # bytes: end of the class
REQUEST = 100           # bytes
OBJECT = 50_000         # bytes, of one class
MANY = 60               # connections
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
    """What a case has set goes, and with it what was counted."""
    _server.close()
    if pep.loaded():
        pepadm("profile", "set", "default", *PLAIN)


def compare(*words):
    """Begin to compare."""
    pep.flows_end()
    pepadm("profile", "set", "default", *words)
    _server.enter_context(impaired(SERVER, *FAR))


def gain():
    """What has been counted of the default profile."""
    found = json.loads(pepadm("-j", "stat", "gain").stdout)
    expect("profiles", [one["profile"] for one in found], ["default"])
    return found[0]


def groups(key="connections"):
    """A number of both groups, control first."""
    found = gain()["groups"]
    return [found[name][key] for name in ("control", "treated")]


def ended(count):
    """Await the end of so many connections, whose objects are counted then."""
    wait_for("the end of all", lambda: not stat("flows") and not json.loads(
        pepadm("-j", "conn", "show", "stage", "followed").stdout))
    expect("connections", sum(groups()), count)


@contextlib.contextmanager
def request(family, size, reply=OBJECT):
    """A connection whose subscriber asks for something, and gets it."""
    sub, srv = pair(family)
    one_way(sub, srv, size)
    one_way(srv, sub, reply)
    yield sub, srv
    for sock in sub, srv:
        sock.close()


@families("half of the connections are never split", "follow")
@families("half of the connections are never split, connect early", "early")
def chosen(family, mode):
    """Nor do they go a way of their own; all are counted."""
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
    """Without, nothing is compared; a change begins anew."""
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


@families("all connections of a subscriber are in one group")
def subscriber(family):
    """Which one, is another matter for another subscriber."""
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
    """Each in its class, in both groups."""
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


@families("the server speaks first")
def greeting(family):
    """From the connection's begin on."""
    compare("control", "50%")
    for _ in range(10):
        sub, srv = pair(family)
        one_way(srv, sub, OBJECT)
        sub.close()
        srv.close()
    ended(10)
    expect("sizes", [one["size"] for one in gain()["sizes"]], [64 << 10])


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
    """Seconds that objects take, measured by the subscriber: of the control
    group, and of the other one."""
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
    """The medians of both groups, and the factor between them, are those that
    were measured outside, seconds."""
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
    """Within its interval, and there is one."""
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


@families("where both groups are treated alike: the gain is what chance makes it")
def alike(family):
    """Nothing is split in either."""
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


@families("too few to tell")
def few(family):
    compare("control", "50%")
    for _ in range(8):
        with request(family, REQUEST):
            pass
    ended(8)
    found = gain()["sizes"][0]
    if "p50" in found:
        expect("an interval", "low" in found["p50"], False)
    text = pepadm("stat", "gain").stdout
    if "(too few)" not in text:
        fail(text)


@case("bad words")
def bad_words():
    """By pepadm, and by the kernel."""
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
    """Nothing is left over, and all bytes arrive."""
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
