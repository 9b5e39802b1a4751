# SPDX-License-Identifier: GPL-2.0
"""pep_bbr, the congestion control that comes with pep: it keeps the rate of a
link with random loss and does not drain a clean one, reacts to ECN marks, and
leaves a CUBIC flow its share."""

import contextlib
import json
import os
import select
import tempfile
import time

from peptest import env, pep
from peptest.ktap import (after_case, case, expect, expect_between,
                          expect_least, expect_most, families, note, wait_for)
from peptest.netns import impaired, netem, run, sysctl, sysctls
from peptest.pep import pepadm, split_pair, split_start
from peptest.tcp import exchange_part, one_way

TRAITS = {"simulated", "clocked", "longest"}

WIRELESS = ("sub", "eth0"), ("pep", "wl0")
RATE = 20               # Mbit/s
DELAY = 30              # ms each way
QUEUE = 150             # packets: 1.5 times the link's capacity
LINK = "rate", f"{RATE}mbit", "delay", f"{DELAY}ms", "limit", str(50 + QUEUE)
WARM = 3                # s for a flow to find the rate
DEFAULT = "pep_bbr"
STEP = 0.5              # s, interval of goodput
CHUNK = b"\0" * 65536
FAST = 200              # Mbit/s
NEAR = "0.1ms"          # one way, as connections begin over a fast link
USUAL = "0.9ms"         # and later: within the slack of 2 ms
PAUSE = 12              # s: longer than a round trip is valid
OBJECT = 200_000        # bytes
SMALL = 40_000          # bytes: less than the link carries in a round trip
LEGS = 8                # live ones
MANY = 100              # of these, so that some packets get lost
ECN = tuple((ns, "net.ipv4.tcp_ecn=1") for ns in ("sub", "pep", "srv"))


def setup():
    """Connections are split at their handshake."""
    pep.attached()


@after_case
def plain():
    """Undo the settings of a case."""
    if pep.loaded():
        control(DEFAULT)


def control(name):
    """Set the congestion control of new legs."""
    pepadm("profile", "set", "default", "cc-wireless", name)


def goodput(pairs, seconds):
    """Let servers send to subscribers; return the Mbit/s of each pair, by
    STEP."""
    found = [[0] * round(seconds / STEP) for _ in pairs]
    senders = {srv: number for number, (_, srv) in enumerate(pairs)}
    receivers = {sub: number for number, (sub, _) in enumerate(pairs)}
    for sock in (*senders, *receivers):
        sock.setblocking(False)
    begun = time.monotonic()
    while True:
        readable, writable, _ = select.select(receivers, senders, [], 10)
        step = int((time.monotonic() - begun) / STEP)
        if step >= len(found[0]):
            break
        for sock in readable:
            got = len(sock.recv(1 << 18))
            found[receivers[sock]][step] += got * 8e-6 / STEP
        for sock in writable:
            sock.send(CHUNK)
    return found


def steady(family, name, seconds, *link):
    """Mbit/s, by STEP, of a flow that has found the rate of a link."""
    control(name)
    with impaired(WIRELESS, *LINK, *link, single=True):
        ends = split_pair(family)
        found, = goodput([ends], WARM + seconds)
        for sock in ends:
            sock.close()
        pep.flows_end()
    return found[round(WARM / STEP):]


def mean(values):
    """The mean."""
    return sum(values) / len(values)


@families("loaded by its name, shown by flow show and ss")
def shown(family):
    control("pep_bbr")
    ends = split_pair(family)
    exchange_part(ends, 20000)
    flow, = pep.flows()
    expect("congestion control", flow["legs"]["wireless"]["cc"], "pep_bbr")
    text = run("ss", "-tin", ns="pep").stdout
    expect("ss has its model", "pep_bbr" in text and "bbr:(bw:" in text, True)
    for sock in ends:
        sock.close()
    pep.flows_end()


@case("a socket that uses it keeps the module")
def held():
    control("pep_bbr")
    expect("exit code of rmmod",
           run("rmmod", "pep_bbr", check=False).returncode, 1)


@families("3 % of random loss: four fifths of the link at least")
def lossy(family):
    found = mean(steady(family, "pep_bbr", 10, "loss", "random", "3%"))
    note(f"{found:.2f} of {RATE} Mbit/s")
    expect_least("Mbit/s", found, 0.8 * RATE)


@families("a clean link is full for half a minute", seconds=200)
def clean(family):
    """A probe of the round trip would show in the worst half second."""
    found = steady(family, "pep_bbr", 30)
    note(f"{mean(found):.2f} of {RATE} Mbit/s, {min(found):.2f} at least")
    expect_least("Mbit/s", mean(found), 0.9 * RATE)
    if not env.LATE:
        expect_least("Mbit/s in the worst half second", min(found), 0.8 * RATE)


def drains(family):
    """Drain ends even where only less than half of the path's rate would
    reduce the payload in flight to the path's capacity."""
    link = "rate", f"{FAST}mbit", "limit", "1000"
    with impaired(WIRELESS, *link, "delay", NEAR, single=True):
        ends = split_pair(family)
        exchange_part(ends, 10000)
        for ns, dev in WIRELESS:
            netem(ns, dev, *link, "delay", USUAL)
        found = mean(goodput([ends], 2)[0][1:])
        for sock in ends:
            sock.close()
        pep.flows_end()
    note(f"{found:.1f} of {FAST} Mbit/s")
    expect_least("Mbit/s", found, 0.8 * FAST)


# A round trip is that short only where computing takes no time.
if env.EXACT:
    families("a link whose usual round trip is many times the least one")(
        drains)


@families("a pause is no reason to probe the round trip")
def pause(family):
    """An object after the pause arrives at the rate of the link, although the
    round trip is a little longer than the minimum by then. A probe takes 0.2 s
    and two round trips more."""
    with impaired(WIRELESS, *LINK, single=True):
        ends = split_pair(family)
        one_way(ends[1], ends[0], 20 * OBJECT)
        time.sleep(PAUSE)
        for ns, dev in WIRELESS:
            netem(ns, dev, "rate", f"{RATE}mbit", "delay", f"{DELAY + 5}ms",
                  "limit", str(50 + QUEUE))
        begun = time.monotonic()
        one_way(ends[1], ends[0], OBJECT)
        took = time.monotonic() - begun
        for sock in ends:
            sock.close()
        pep.flows_end()
    note(f"{took:.3f} s")
    expect_most("seconds", took, 0.3)


@families("losses while there is little to send do not end startup")
def little(family):
    """Objects one after the other, on a connection that is kept: they show
    less than the rate of the link."""
    control("pep_bbr")
    with impaired(WIRELESS, *LINK, "loss", "random", "1%", single=True):
        sub, srv = split_pair(family)
        for _ in range(MANY):
            one_way(sub, srv, 100)
            one_way(srv, sub, SMALL)
        leg = pep.legs()["wireless"]
        sub.close()
        srv.close()
        pep.flows_end()
    rate = pep.number(leg, r"pacing_rate (\d+)bps") / 1e6
    note(f"paced at {rate:.1f} Mbit/s")
    expect_least("segments sent again", pep.number(leg, r"retrans:\d+/(\d+)"),
                 MANY // 10)
    expect_least("Mbit/s that the leg may send", rate, 0.8 * RATE)


@contextlib.contextmanager
def requests():
    """Within, count the requests for pep_bbr: yield a function that returns
    their number."""
    name = "/proc/sys/kernel/modprobe"
    with open(name, encoding="ascii") as file:
        before = file.read().strip()
    with tempfile.TemporaryDirectory() as folder:
        program, seen = f"{folder}/modprobe", f"{folder}/seen"
        with open(program, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\necho \"$*\" >> {seen}\n"
                       f"exec {before} \"$@\"\n")
        os.chmod(program, 0o755)
        with open(seen, "w", encoding="ascii"):
            pass
        sysctl(None, f"kernel.modprobe={program}")

        def count():
            with open(seen, encoding="ascii") as file:
                return file.read().count("tcp_pep_bbr")
        try:
            yield count
        finally:
            sysctl(None, f"kernel.modprobe={before}")


@families("without the module: the kernel's BBR")
def missing(family):
    """Legs use it where the profile names pep_bbr; nothing fails, and it is
    not requested for each socket."""
    pep.detach()
    pep.unload()
    run("rmmod", "pep_bbr")
    try:
        pep.load(control=False)
        pepadm("profile", "set", "default", "split", "handshake")
        with requests() as count:
            pep.attach()
            profile, = json.loads(pepadm("-j", "profile", "show").stdout)
            expect("profile", profile["cc_wireless"], "pep_bbr")
            pep.ready()
            expect_between("requests for the module", count(), 1, 2)
        ends = [sock for both in split_start(family, LEGS) for sock in both]
        expect("legs", {flow["legs"]["wireless"]["cc"]
                        for flow in pep.flows()}, {"bbr"})
        with requests() as count:
            pepadm("profile", "set", "default", "wireless-max-rate", "50mbit",
                   "live")
            wait_for("the rate", lambda: run(
                "ss", "-tnHi", ns="pep").stdout.count("/50000000bps") == LEGS)
            expect_most("requests, none for a leg", count(), 2)
        for sock in ends:
            sock.close()
        pep.flows_end()
    finally:
        if pep.devices():
            pep.detach()
        pep.unload()
        pep.load()
        pepadm("profile", "set", "default", "split", "handshake")
        pep.attach()


@families("marks: it slows down")
def marks(family):
    with sysctls("sub", ECN[0][1]), sysctls("pep", ECN[1][1]), \
            sysctls("srv", ECN[2][1]):
        found = mean(steady(family, "pep_bbr", 20, "loss", "random", "20%",
                            "ecn"))
    note(f"{found:.2f} of {RATE} Mbit/s")
    expect_least("Mbit/s less", RATE - found, 0.15 * RATE)


@families("beside CUBIC", seconds=200)
def fair(family):
    """Both get a share, over a queue of one and a half times the link's
    capacity."""
    with impaired(WIRELESS, *LINK, single=True):
        ends = []
        for name in "pep_bbr", "cubic":
            control(name)
            ends.append(split_pair(family))
        found = [mean(values[len(values) // 4:])
                 for values in goodput(ends, 40)]
        for sock in sum(ends, ()):
            sock.close()
        pep.flows_end()
    jain = sum(found) ** 2 / (2 * sum(rate ** 2 for rate in found))
    note(f"{found[0]:.2f} beside {found[1]:.2f} Mbit/s, "
         f"Jain's index {jain:.2f}")
    expect_least("Jain's index", jain, 0.8)
