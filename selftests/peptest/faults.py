# SPDX-License-Identifier: GPL-2.0
"""Random life in which memory fails at one place of the module after the
other, once or a few times, and is there again."""

import collections
import contextlib
import random
import re
import threading
import time

from . import pep, sites
from .ktap import Failure
from .netns import spaces, spaces_down, topology_up
from .soak import DEVICES, Administration, Life

TIMES = 1, 1, 3         # allocations that fail in a row
FIRST = .25             # seconds that a place has at first to be come by
LONGEST = 16            # and at last; each time twice as long
# Functions that run when an administrator changes or reads something.
SETTING = re.compile("pep_(action_(init|net)|deliver_start|gain|gen_create|"
                     "instance|listener|memo|nl_|path_start|pool_init|"
                     "profile|reply|report|socket|stat_init|tally|"
                     "track_start|untrack_start)")
TRIES = 2 * max(TIMES)  # of a command that has to work


class Scarce(Administration):
    """Commands that may fail, but not for long."""

    def must(self, *words, ns="pep"):
        for _ in range(TRIES):
            if not self.pepadm(*words, ns=ns).returncode:
                return
        raise Failure(f"pepadm {words} has failed {TRIES} times")

    def reload(self):
        """Without faults, for the places are others then."""
        with self.life.faults.paused():
            super().reload()


class Faults:
    """Has memory fail."""

    def __init__(self, life, rnd):
        self.life, self.rnd = life, rnd
        self.lines = sites.listing()
        self.places = list(sites.sites(self.lines))
        self.reached = collections.Counter()
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def paused(self):
        """No fault for a while, in which the module may be loaded anew."""
        with self.lock:
            yield
            self.places = list(sites.sites(self.lines))

    @contextlib.contextmanager
    def armed(self, place, times):
        """Memory fails at a place within."""
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
        """Memory fails at a place within so many seconds, or does not."""
        times = self.rnd.choice(TIMES)
        with self.armed(place, times):
            end = time.monotonic() + seconds
            while time.monotonic() < end and sites.failed(times) < times:
                time.sleep(.02)

    def missed(self):
        """The places where none has failed yet."""
        return [place[:3] for place in self.places
                if not self.reached[place[:3]]]

    def live(self):
        """Until life is over."""
        seconds = FIRST
        while self.life.goes_on():
            places = self.missed() or [each[:3] for each in self.places]
            self.rnd.shuffle(places)
            for place in places:
                if not self.life.goes_on():
                    break
                self.fault(place, seconds)
                time.sleep(.01)     # the lock is free
            seconds = min(2 * seconds, LONGEST)


class ScarceLife(Life):
    """Life with faults."""

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
    """One gateway more, with all that there is to set and to see; it goes with
    its devices attached."""
    try:
        # Each namespace has memory of the module's.
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


def set_up(faults):
    """Set a gateway up once for each place that has to do with it and at which
    no memory has failed."""
    for place in faults.missed():
        if SETTING.match(place[0]):
            with faults.armed(place, 1):
                settle()
