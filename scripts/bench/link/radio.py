#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The trace of a radio's rate, radio.trace, and the generator that wrote it.

usage: radio.py > radio.trace

Each line is the rate in Mbit/s of one STEP. Noise drives the logarithm of the
rate, which returns to that of MEAN within about a second: an
Ornstein-Uhlenbeck process, as for shadowing. Every ten seconds or so a fade
leaves a tenth of the rate for half a second. The seed is fixed. The exit code
is 2 when the command line is wrong.
"""

import math
import os
import pathlib
import random
import sys

STEP = 0.1              # s
SECONDS = 60
MEAN = 20.0             # Mbit/s
SPREAD = 0.45           # standard deviation of the logarithm
BACK = 1.0              # s in which a deviation falls to 1/e
FADE = 0.1              # of the rate that is left in a fade
FADE_EVERY = 10.0       # s between fades, on average
FADE_STEPS = 5
LEAST, MOST = 0.5, 60.0
TRACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "radio.trace")


def generate():
    """The rates, Mbit/s."""
    rng = random.Random(1)
    keep = math.exp(-STEP / BACK)
    noise = SPREAD * math.sqrt(1 - keep ** 2)
    value, fading = 0.0, 0
    for _ in range(round(SECONDS / STEP)):
        value = keep * value + rng.gauss(0, noise)
        if not fading and rng.random() < STEP / FADE_EVERY:
            fading = FADE_STEPS
        rate = MEAN * math.exp(value) * (FADE if fading else 1)
        fading = max(fading - 1, 0)
        yield min(max(rate, LEAST), MOST)


def rates():
    """The trace as shares of MEAN."""
    with open(TRACE, encoding="ascii") as file:
        return [float(line) / MEAN for line in file]


if __name__ == "__main__":
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
    from commandline import arguments
    arguments(__doc__, 0, 0)
    for each in generate():
        print(f"{each:.2f}")
