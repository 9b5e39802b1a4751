# SPDX-License-Identifier: GPL-2.0
"""Upgrades of the module during transfers, one after the other, and a power
cut of the gateway."""

import time

from peptest import pep, service
from peptest.env import EXACT
from peptest.ktap import (after_case, case, expect, expect_most, families,
                          note, wait_for)
from peptest.netns import impaired, resets, run
from peptest.pep import pepadm
from peptest.tcp import Load, exchange, pair, start

TRAITS = {"simulated"}

UPGRADES = 100 if EXACT else 3
FLOWS = 12              # of each family
RATE = 60_000           # bytes per second and end
MORE = RATE // 10       # bytes of each end before the next upgrade
PAUSE = 3               # seconds without payload at most
SOON = "12000,loss"
LINK = ("pep", "wl0"), ("sub", "eth0")
LEFT = 300              # seconds after a power cut
TABLE = "table inet dark"
setup = pep.attached


@after_case
def down():
    """Delete the files."""
    service.services_down()


def upgrade():
    """Do the same as the service at its stop and start."""
    path = service.path("flows")
    pepadm("conf", "load", "/dev/null")
    pepadm("flow", "save", path)
    pep.unload()
    pep.load()
    pepadm("profile", "set", "default", "split", SOON)
    pep.attach()
    pepadm("flow", "restore", path)


class Watch:
    """The longest time that an end of a load receives nothing, in seconds."""

    def __init__(self, load):
        self.load = load
        self.seen = [(time.monotonic(), 0)] * len(load.fed)
        self.longest = 0

    def look(self):
        """Record progress; to be called often."""
        now = time.monotonic()
        for at, end in enumerate(self.load.fed):
            since, received = self.seen[at]
            if end.received != received:
                self.longest = max(self.longest, now - since)
                self.seen[at] = now, end.received

    def more(self, size):
        """Wait until every end has received size more bytes."""
        mark = self.load.moved + size

        def enough():
            self.look()
            return self.load.moved > mark
        wait_for("payload", enough, 60)


@case(f"{UPGRADES} upgrades", seconds=3000)
def upgrades():
    """Downloads and uploads of both families on a link with a delay: none is
    reset, all are complete, and the last module splits them, too."""
    pepadm("profile", "set", "default", "split", SOON)
    with impaired(LINK, "delay", "20ms", "limit", "10000"):
        before = resets()
        load = Load([both for family in (4, 6)
                     for both in start(family, FLOWS)], RATE)
        watch = Watch(load)
        watch.more(MORE)
        for number in range(UPGRADES):
            upgrade()
            watch.more(MORE if number % 10 else 10 * MORE)
        pep.wait_flows(2 * FLOWS)
        load.finish()
        load.expect_whole()
        expect("resets", resets(), before)
    note(f"no end waited for longer than {watch.longest:.2f} s")
    if EXACT:
        expect_most("seconds", watch.longest, PAUSE)
    pep.flows_end()


def cut():
    """The gateway loses its power: it sends no more packets, and has lost its
    state afterwards."""
    run("nft", "-f", "-", ns="pep", stdin=f"""
        add {TABLE}
        add chain inet dark out {{ type filter hook output priority -500; }}
        add chain inet dark in {{ type filter hook forward priority -500; }}
        add rule inet dark out drop
        add rule inet dark in drop
        """)
    pepadm("flow", "kill", "all")
    pep.detach()
    pep.unload()
    run("nft", "delete", TABLE, ns="pep")
    pep.load()
    pep.attach()


@families("power cut", seconds=LEFT + 300)
def power(family):
    """Connections whose payload was on the gateway hang or are reset, no
    incomplete one ends cleanly; new ones work at once."""
    pepadm("profile", "set", "default", "split", "handshake")
    with impaired(LINK, "rate", "2mbit", "delay", "20ms", "limit", "10000"):
        idle = pep.split_start(family, FLOWS)
        load = Load(pep.split_start(family, FLOWS), RATE, down=False)
        back = Load(pep.split_start(family, FLOWS), RATE, up=False)
        for one in load, back:
            one.more(MORE)
        cut()
        exchange(pair(family), 10000)
        end = time.monotonic() + LEFT
        wait_for("the end of a silence", lambda: time.monotonic() > end,
                 LEFT + 60)
        for one in load, back:
            one.stop()
            note("ends that got a reset:",
                 sum(1 for e in one.ends if e.error), "of", len(one.ends))
            expect("ends that got a clean end",
                   sum(1 for e in one.ends if e.eof), 0)
    # Those without payload on the gateway go on.
    for both in idle:
        exchange(both, 1000)
