# SPDX-License-Identifier: GPL-2.0
"""Random load in which allocations fail at one site of the module after the
other, once or a few times, and succeed again."""

import collections
import contextlib
import random
import re
import threading
import time

from . import pep, rare, sites
from .ktap import Failure
from .netns import spaces, spaces_down, topology_up
from .soak import DEVICES, Administration, Life

TIMES = 1, 1, 3         # allocations that fail in a row
ROW = 20                # the same where the module, or the kernel, insists
FIRST = .25             # seconds to wait at first until a site is reached
LONGEST = 16            # and in the end; each time twice as long


class Scarce(Administration):
    """Commands that may fail for a short time."""

    def must(self, *words, ns="pep"):
        self.life.did("pepadm", *words)
        rare.must(*words, ns=ns)

    def reload(self):
        """Without faults, because the sites change."""
        with self.life.faults.paused():
            super().reload()

    def namespace(self):
        """Without faults: ip() is not repeated, and settle() makes others."""
        with self.life.faults.paused():
            super().namespace()


class Faults:
    """Makes allocations fail."""

    def __init__(self, life, rnd):
        self.life, self.rnd = life, rnd
        self.lines = sites.listing()
        self.places = list(sites.sites(self.lines))
        self.reached = collections.Counter()
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def paused(self):
        """Within, no faults, so that the module can be reloaded."""
        with self.lock:
            yield
            self.places = list(sites.sites(self.lines))

    @contextlib.contextmanager
    def armed(self, place, times):
        """Within, allocations fail at a site."""
        with self.lock:
            site = next(each for each in self.places if each[:3] == place)
            sites.arm(site, times)
            try:
                yield
            finally:
                failed = sites.failed(times)
                sites.disarm()
        self.reached[place] += failed
        if failed:
            self.life.did("fault", failed, *place)

    def fault(self, place, seconds):
        """Let allocations fail at a site for up to so many seconds."""
        times = self.rnd.choice(TIMES)
        with self.armed(place, times):
            end = time.monotonic() + seconds
            while time.monotonic() < end and sites.failed(times) < times:
                time.sleep(.02)

    def missed(self):
        """The sites where no allocation has failed yet."""
        return [place[:3] for place in self.places
                if not self.reached[place[:3]]]

    def live(self):
        """Run until the end of the load."""
        seconds = FIRST
        while self.life.goes_on():
            places = self.missed() or [each[:3] for each in self.places]
            self.rnd.shuffle(places)
            for place in places:
                if not self.life.goes_on():
                    break
                self.fault(place, seconds)
                time.sleep(.01)     # let others take the lock
            seconds = min(2 * seconds, LONGEST)


class ScarceLife(Life):
    """Random load with faults."""

    administration = Scarce

    def __init__(self, seed, seconds, talkers):
        super().__init__(seed, seconds, talkers)
        self.faults = Faults(self, random.Random(f"{seed} faults"))
        self.world.append(self.faults)


SET_UP = (
    ("profile", "add", "spare", "control", "20%"),
    ("profile", "set", "spare", "cc-wireless", "cubic"),
    *(("dev", "add", dev, "side", side, "profile", "spare")
      for dev, side in DEVICES),
    ("profile", "set", "spare", "connect", "early"),
    ("limit", "set", "flows", "1000"),
    ("flow", "show"), ("conn", "show"), ("path", "show"),
    ("limit", "show", "top"), ("stat", "gain"), ("stat", "residence"),
    ("profile", "show"))


def settle():
    """Add one more gateway and use all its settings and displays; delete it
    with its devices attached."""
    try:
        # The module allocates memory for each namespace.
        with contextlib.suppress(Failure):
            topology_up("B")
        if "srvB" in spaces():
            for words in SET_UP:
                done = pep.pepadm(*words, ns="pepB", check=False)
                if done.returncode not in (0, 1):
                    raise Failure(f"pepadm {words}: {done.stderr}")
    finally:
        left = [name for name in spaces() if name.endswith("B")]
        if left:
            spaces_down(*left)


# Situations in which functions allocate memory, the likeliest first.
SITUATIONS = tuple((situation, re.compile(f"pep_({names})"))
                   for situation, names in (
    (settle, "action|deliver_start|gain|gen|listener|memo|nl_|path_start|pool|"
             "profile|reply|socket|stat|tally|track_start|untrack"),
    (rare.stripped, "packet_strip"),
    (rare.repeated, "packet_set_ack|deliver_compact"),
    (rare.in_pages, "packet"),
    (rare.in_fragments, "fragment"),
    (rare.own_pages, "copies_add|deliver_local"),
    (rare.kept, "synack"),
    (rare.killed, "again|leg_abort|flow_end"),
    (rare.handed_back, "release|adopt|repair|deliver_pass"),
    (rare.heard, "report"),
    (rare.told, "copies_load|nl_conn"),
    (rare.busy, "pool|flow_create"),
    (rare.changed, "leg_(change|set_cc)"),
    (rare.crowded, "path_get|track_insert"),
    (rare.early, "accept|source|deliver_hold|leg_(send|connect)"),
    (rare.followed, "cop|spare|adopt|repair|deliver_pass|path_get"),
    (rare.carried, "")))


def bring_about(faults, situations):
    """For each site where no allocation has failed, bring about the
    situations that reach it; and for those that need several failures in a
    row, so many."""
    for place in faults.missed():
        for situation, names in situations:
            if faults.reached[place]:
                break
            if names.match(place[0]):
                with faults.armed(place, 1):
                    situation()
    for place in (place[:3] for place in faults.places
                  if place.callee in sites.INSISTING):
        for situation, names in situations:
            if names.match(place[0]):
                with faults.armed(place, ROW):
                    situation()
                break
