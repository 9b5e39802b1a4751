# SPDX-License-Identifier: GPL-2.0
"""Settings of a profile that are applied to live flows: with payload in
flight, while they are being opened, while they end. Other settings are
refused, without any change."""

import re
import threading
import time

from peptest import env, pep, settings
from peptest.ktap import (after_case, case, expect, expect_least, fail,
                          families, note, wait_for)
from peptest.netns import addr, netem, netem_end, run
from peptest.pep import grows, pepadm, split_pair, split_start
from peptest.tcp import (PORT, Load, accept, client, exchange, exchange_all,
                         exchange_part, expect_reset, expect_same, listen,
                         one_way, pair)

TRAITS = {"once", "races"}

UNIT = 3 if env.SLOW else 1
SECONDS = 20 * UNIT
# Options that can be changed of flows.
LIVE = {"cc-wireless", "cc-server", "keepalive-idle", "keepalive-interval",
        "keepalive-count", "user-timeout", "idle-timeout", "release-idle",
        "wireless-max-rate", "server-max-rate"}
OPENERS = {"sub": ("sub", "srv"), "srv": ("srv", "sub")}
# The subscriber's handshakes are not completed.
NO_ACK = """table inet held {
chain output {
type filter hook output priority 0
tcp flags & (syn | ack) == ack drop
}
}
"""


def setup():
    """Attached, with the congestion controls loaded."""
    pep.attached()
    defaults()


@after_case
def defaults():
    """Each case begins with the defaults and without flows."""
    if pep.loaded():
        for ns, dev in ("pep", "wl0"), ("pep", "sv0"), ("sub", "eth0"):
            netem_end(ns, dev)
        pepadm("profile", "replace", "default", "split", "handshake")


def live(*words, profile="default"):
    """Change a profile and its flows."""
    pepadm("profile", "set", profile, *words, "live")


@families("set to never while a handshake is under way")
def halfway(family):
    """The connection is one of those that begin with the new values."""
    with grows(follow_established=1, flow_established=0):
        listener = listen("srv", family)
        near = client("sub", family)
        run("nft", "-f", "-", ns="sub", stdin=NO_ACK)
        try:
            near.connect((addr("srv", family), PORT))
            pepadm("profile", "set", "default", "split", "never")
        finally:
            run("nft", "delete", "table", "inet", "held", ns="sub")
        both = near, accept(listener)
        exchange_part(both, 20000)
        pep.quiet()
        exchange(both, 20000)


def controls(**wanted):
    """Fail unless pepadm shows these congestion controls for all flows'
    legs."""
    flows = pep.flows()
    expect_least("flows", len(flows), 1)
    for flow in flows:
        for side, cc in wanted.items():
            expect(f"{side} of flow {flow['id']}", flow["legs"][side]["cc"],
                   cc)


def sockets():
    """Lines of ss for established sockets of the gateway."""
    return run("ss", "-HOtnio", "state", "established",
               ns="pep").stdout.splitlines()


def most():
    """Rates that the legs may not exceed, bit/s."""
    return sorted(int(found.group(1)) for found in
                  (re.search(r" pacing_rate \d+bps/(\d+)bps", line)
                   for line in sockets()) if found)


@families("congestion control under load", "sub")
@families("congestion control under load, the server opens", "srv")
def control(family, opener):
    """Both legs, again and again; not a byte is lost."""
    with grows(flow_established=4, flow_closed=4, flow_reset=0):
        load = Load(split_start(family, 4, *OPENERS[opener]),
                    env.amount(400000))
        for wireless, server in (("cubic", "bbr"), ("reno", "reno"),
                                 ("bbr", "cubic"), ("reno", "bbr")):
            live("cc-wireless", wireless, "cc-server", server)
            controls(wireless=wireless, server=server)
            for cc in wireless, server:
                expect_least(f"sockets with {cc}", sum(
                    f" {cc} " in line for line in sockets()), 4)
            moved = load.moved
            wait_for("payload goes on",
                     lambda: load.moved > moved + 10000, SECONDS)
        load.finish()
        for near, far in zip(load.ends[::2], load.ends[1::2]):
            expect_same(near, far)
            expect_same(far, near)


@families("max-rate of a flow, and of new ones")
def rate(family):
    """Set, changed and taken away again."""
    both = split_pair(family)
    exchange_part(both, 1000)
    expect("none", most(), [])
    live("wireless-max-rate", "8mbit", "server-max-rate", "6mbit")
    expect("rates", most(), [6000000, 8000000])
    begun = time.monotonic()
    one_way(both[1], both[0], 1000000)
    took = time.monotonic() - begun
    note(f"{took:.2f} s")
    expect_least("ms for a megabyte", int(took * 1000), 850)
    live("wireless-max-rate", "4mbit")
    expect("rates", most(), [4000000, 6000000])
    new = split_pair(family)
    expect("rates", most(), [4000000, 4000000, 6000000, 6000000])
    live("wireless-max-rate", "unlimited", "server-max-rate", "unlimited",
         "cc-wireless", "cubic")
    expect("none", most(), [])
    one_way(both[1], both[0], 1000000)
    exchange_all([both, new], 10000)


@families("keepalive and user-timeout")
def timers(family):
    """An end vanishes, idle or with payload in flight to it. By the defaults
    the flows would exist for minutes."""
    idle, busy = split_pair(family), split_pair(family)
    for both in idle, busy:
        exchange_part(both, 1000)
    live("keepalive-idle", str(UNIT), "keepalive-interval", str(UNIT),
         "keepalive-count", "2", "user-timeout", str(2500 * UNIT))
    time.sleep(4 * UNIT)
    expect("flows whose ends answer", pep.stat("flows"), 2)
    with grows(flow_reset=2):
        netem("pep", "wl0", "loss", "100%")
        netem("sub", "eth0", "loss", "100%")
        busy[1].send(bytes(10000))
        for _, far in idle, busy:
            expect_reset(far, SECONDS)
        pep.flows_end(SECONDS)


@families("timers go back to the namespace's")
def timers_back(family):
    """ss shows the running timer."""
    pepadm("profile", "set", "default", "keepalive-idle", "60")
    both = split_pair(family)
    exchange_part(both, 1000)
    wait_for("nothing under way", lambda: all(
        "timer:(keepalive," in line for line in sockets()))
    for idle, low, high in ("0", 110, 120), ("6000", 95, 100), ("0", 110, 120):
        live("keepalive-idle", idle)
        for line in sockets():
            found = re.search(r"timer:\(keepalive,(\d+)min", line)
            if not found or not low <= int(found.group(1)) <= high:
                fail(f"keepalive-idle {idle}: {line}")
    exchange(both, 1000)


@families("idle-timeout")
def idle_timeout(family):
    """The timer starts for a flow that had none, or a long one, and stops for
    one that has it."""
    both = split_pair(family)
    exchange_part(both, 1000)
    live("idle-timeout", "600000")
    exchange_part(both, 1000)
    live("idle-timeout", str(2 * UNIT))
    with grows(flow_idle=1):
        expect_reset(both[0], SECONDS)
        expect_reset(both[1], SECONDS)
    other = split_pair(family)
    exchange_part(other, 1000)
    live("idle-timeout", "0")
    time.sleep(4 * UNIT)
    exchange(other, 1000)


@case("what cannot be changed of flows is refused")
def refused():
    """The error names the setting, and nothing changes, not even settings that
    could be changed."""
    both = split_pair(4)
    before = pepadm("profile", "show").stdout
    other = {**settings.unusual(), "server_dev": "sv0"}
    expect("the source", {one.word for one in settings.OPTIONS if one.live},
           LIVE)
    for one in settings.OPTIONS:
        if one.word in LIVE:
            continue
        word, value = one.word, other[one.key]
        done = pepadm("profile", "set", "default", "cc-server", "reno", word,
                      value, "live", check=False)
        expect(f"{word}: exit code", done.returncode, 1)
        expect(f"{word}: message", done.stderr, "pepadm: profile set: "
               f"{word}: cannot be changed of live flows\n")
    for words, code, message in (
            (("cc-server", "reno", "cc-wireless", "nosuch"), 1,
             'cc-wireless: no congestion control "nosuch" here'),
            (("cc-server", "reno", "idle-timeout", "604801"), 2,
             'idle-timeout: "604801" is not a number from 0 to 604800'),
            ((), 2, "nothing to set, see: pepadm profile help"),
            (("live",), 2, '"live" is not one of: '),
            (("live", "cc-server", "reno"), 2, '"live" is not one of: ')):
        done = pepadm("profile", "set", "default", *words, "live",
                      check=False)
        expect(f"{words}: exit code", done.returncode, code)
        if message not in done.stderr:
            fail(f"{words}: it said {done.stderr!r}")
    done = pepadm("profile", "add", "gold", "mark", "1", "live", check=False)
    expect("add: exit code", done.returncode, 2)
    expect("profiles", pepadm("profile", "show").stdout, before)
    controls(wireless="pep_bbr", server="cubic")
    exchange(both, 1000)


@families("flows of older generations and of other profiles")
def whose(family):
    """Settings without live apply to new flows. Existing flows take over only
    settings given with live; those of another profile keep theirs."""
    pepadm("profile", "add", "gold", "cc-wireless", "reno", "split",
           "handshake")
    pepadm("dev", "set", "sv0", "profile", "gold")
    other = split_pair(family, "srv", "sub")
    old = split_pair(family)
    pepadm("profile", "set", "default", "cc-server", "reno")
    new = split_pair(family)
    live("cc-wireless", "cubic")
    found = sorted((flow["profile"], flow["legs"]["wireless"]["cc"],
                    flow["legs"]["server"]["cc"]) for flow in pep.flows())
    expect("flows", found, [("default", "cubic", "cubic"),
                            ("default", "cubic", "reno"),
                            ("gold", "reno", "cubic")])
    live("cc-wireless", "bbr", profile="gold")
    expect("flows", sorted(flow["legs"]["wireless"]["cc"]
                           for flow in pep.flows()),
           ["bbr", "cubic", "cubic"])
    exchange_all([other, old, new], 10000)
    pepadm("dev", "set", "sv0", "profile", "default")
    pepadm("profile", "del", "gold")


@families("connections that are being opened", "follow")
@families("connections that are being opened, early", "early")
def opening(family, connect_mode):
    """Their flows have the settings once they are established."""
    pepadm("profile", "set", "default", "connect", connect_mode)
    exchange(split_pair(family), 1000)
    pep.flows_end()
    for dev in "wl0", "sv0":
        netem("pep", dev, "delay", "700ms")
    pending = "followed" if connect_mode == "follow" else "pending"
    before = pep.stat(pending)
    with grows(flow_established=1, ended=False):
        both = []
        opener = threading.Thread(target=lambda: both.extend(pair(family)))
        opener.start()
        wait_for("its SYN", lambda: pep.stat(pending) > before)
        live("cc-wireless", "reno", "cc-server", "reno", "idle-timeout",
             "1000", "server-max-rate", "50mbit")
        opener.join()
        wait_for("the flow", lambda: [flow["state"] for flow in pep.flows()]
                 == ["established"])

    def settled():
        return all(leg["cc"] == "reno" for flow in pep.flows()
                   for leg in flow["legs"].values())
    wait_for("the congestion control", settled)
    wait_for("the rate", lambda: most() == [50000000])
    exchange(both, 1000)


@families("flows come and go while settings change")
def race(family):
    """Each change meets some flows that are being opened and some that end."""
    stop = False
    changes = 0

    def change():
        nonlocal changes
        while not stop:
            for cc in "reno", "cubic", "bbr":
                live("cc-wireless", cc, "cc-server", cc, "idle-timeout",
                     "1000" if cc == "reno" else "0", "wireless-max-rate",
                     "1gbit" if cc == "bbr" else "unlimited",
                     "keepalive-idle", "100" if cc == "bbr" else "0")
                changes += 1
    changer = threading.Thread(target=change)
    changer.start()
    try:
        with grows(flow_established=env.amount(400), flow_reset=0,
                   flow_killed=0):
            for _ in range(env.amount(20)):
                seen = changes
                exchange_all(split_start(family, 20), 20000)
                wait_for("a change", lambda: changes > seen, SECONDS)
    finally:
        stop = True
        changer.join()
    note(changes, "changes")
    with grows(flow_killed=20):
        killed = split_start(family, 20)
        changer = threading.Thread(target=lambda: live("cc-server", "reno"))
        changer.start()
        pepadm("flow", "kill", "all")
        changer.join()
        for both in killed:
            for sock in both:
                expect_reset(sock)
