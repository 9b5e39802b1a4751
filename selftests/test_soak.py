# SPDX-License-Identifier: GPL-2.0
"""Random load: connections of all kinds, over networks that drop, reorder,
corrupt, go down and come up, and routing that takes other ways, on a gateway
under administration. Every stream is compared, everything ends, nothing is
left."""

from peptest import pep, soak
from peptest.env import SLOW, SOAK_SECONDS, SOAK_SEED
from peptest.ktap import Fatal, case, expect_least, note
from peptest.soak import HANG, SLOWLY, Life
from peptest.tcp import exchange, pair

TRAITS = {"simulated", "races"}

# Seconds of one case; the short run has both kinds of seeds, odd and even.
LIFE = 300 if SOAK_SECONDS else 30
TALKERS = 6 if SLOW else 12
setup = soak.setup


def life(seed, seconds):
    """Run one random load. Its failure is fatal, as a repetition differs."""
    random = Life(seed, seconds, TALKERS)
    try:
        random.run()
        expect_least("whole connections", random.count["whole"], 1)
        pep.pepadm("profile", "replace", "default", "split", "handshake")
        for family in 4, 6:
            exchange(pair(family), 100000)
    except Exception as what:
        raise Fatal(str(what)) from what
    finally:
        note(dict(random.count))
        note(*(f"\n{line}" for line in random.story()))


_left = SOAK_SECONDS or (20 if SLOW else 60)
for _seed in range(SOAK_SEED, SOAK_SEED + 1 + (_left - 1) // LIFE):
    _seconds = min(_left, LIFE)
    case(f"seed {_seed}, {_seconds} s", _seed, _seconds,
         seconds=_seconds + SLOWLY + 4 * HANG)(life)
    _left -= _seconds
