# SPDX-License-Identifier: GPL-2.0
"""Allocations fail at each site of the module, during connections of all
kinds, administration and reloads of the module: no stream is wrong or hangs,
the next try succeeds, and all memory is freed."""

from peptest import pep, sites, soak
from peptest.env import SLOW, SOAK_SECONDS, SOAK_SEED
from peptest.faults import SITUATIONS, ScarceLife, bring_about
from peptest.kmemleak import expect_none, jiffies
from peptest.ktap import Fatal, case, expect_least, note, skip
from peptest.soak import HANG, SLOWLY
from peptest.tcp import close_all, exchange, pair

TRAITS = {"once", "longest", "leaks"}

LIFE = 300              # seconds of one case
SHORT = 40              # of the only case, unless there is more time
LEAST = 55 if SOAK_SECONDS else 30      # places that are reached within
# The others take another minute.
SHORT_SITUATIONS = SITUATIONS[:1]
TALKERS = 6 if SLOW else 12
setup = soak.setup


def life(seed, seconds):
    """Run one random load. Its failure is fatal, as a repetition differs."""
    if not sites.faults_possible():
        skip("only the debug kernels have faults")
    since = jiffies()
    scarce = ScarceLife(seed, seconds, TALKERS)
    faults = scarce.faults
    try:
        scarce.run()
        expect_least("whole connections", scarce.count["whole"], 1)
        bring_about(faults, SITUATIONS if SOAK_SECONDS else SHORT_SITUATIONS)
        pep.pepadm("profile", "replace", "default", "split", "handshake")
        for family in 4, 6:
            exchange(pair(family), 100000)
        expect_least("places where memory has failed", len(+faults.reached),
                     LEAST)
        close_all()
        pep.teardown()
        expect_none(since)
        setup()
    except Exception as what:
        raise Fatal(str(what)) from what
    finally:
        note(dict(scarce.count))
        note(len(+faults.reached), "of", len(faults.places), "places")
        for place, failed in sorted((+faults.reached).items()):
            note("failed", failed, *place)
        for place in faults.missed():
            note("never", *place)
        note(*(f"\n{line}" for line in scarce.story()))


_left = SOAK_SECONDS or SHORT
for _seed in range(SOAK_SEED, SOAK_SEED + 1 + (_left - 1) // LIFE):
    _seconds = min(_left, LIFE)
    case(f"seed {_seed}, {_seconds} s", _seed, _seconds,
         seconds=_seconds + SLOWLY + 4 * HANG)(life)
    _left -= _seconds
