# SPDX-License-Identifier: GPL-2.0
"""Both ends receive no segment that breaks the rules of TCP while a connection
is taken over in mid-stream and handed back: no clock and no right edge goes
back, no payload lies beyond the edge that an end has offered, and only payload
that pep holds or the other end has received is acknowledged."""

import time

from peptest import pep
from peptest.capture import Capture
from peptest.env import amount
from peptest.ktap import families, wait_for
from peptest.netns import SERVER, WIRELESS, impaired, sysctls
from peptest.pep import grows
from peptest.tcp import Load, pair

TRAITS = {"simulated", "ordered"}

RATE = amount(2000000)  # bytes per second
SOME = RATE // 10       # bytes before each change
STILL = 0.5             # seconds without payload
IDLE = 1                # bytes per second
SPLIT = "12000"
DELAY = "delay 10ms limit 5000".split()
LOSSY = "delay 5ms loss random 1% limit 5000".split()
FULL = "delay 10ms rate 12mbit limit 5000".split()
ROUGH = ("delay 5ms 2ms reorder 20% 50% duplicate 1% loss random 0.5% "
         "limit 5000").split()
BARE = "tcp_timestamps", "tcp_sack", "tcp_window_scaling"


def setup():
    """Attached, with connections that are taken over in mid-stream."""
    pep.attached(SPLIT)


def full(sender):
    """Wait until an end can no longer send."""
    last = [-1, 0]

    def stuck():
        if sender.sent != last[0]:
            last[:] = sender.sent, time.monotonic()
        return time.monotonic() - last[1] > STILL
    wait_for("a window that is closed", stuck)


def more(load, which, size):
    """Wait until the ends have received size more bytes."""
    marks = [(end, end.received + size) for end in which]
    wait_for("payload", lambda: load.failure or
             all(end.received > mark for end, mark in marks))


def course(both, rates, capture):
    """Payload before, between and after the take-over and the release."""
    load = Load([both], RATE)
    for end, rate in zip(load.ends, rates):
        end.rate = rate
    # The peers of the ends that send have to receive.
    which = [other for rate, other in zip(rates, load.ends[::-1])
             if rate != IDLE]
    more(load, which, SOME)
    capture.hand_back()
    more(load, which, SOME)
    load.finish()
    load.expect_whole()


def whole(family, rates, ways, args=(), devices=(), ordered=True,
          grown=False):
    """A connection's course, captured."""
    pep.follow(SPLIT)
    with impaired(devices, *args, single=True), Capture() as capture:
        with grows(split_bytes=1, flow_released=1, flow_reset=0):
            course(pair(family, *ways), rates, capture)
        capture.check(ordered, grown)


UP, DOWN, BOTH = (RATE, IDLE), (IDLE, RATE), (RATE, RATE)
WAYS = ("sub", "srv"), ("srv", "sub")
for _ways in WAYS:
    for _what, _rates in (("opener to opened", UP), ("opened to opener", DOWN),
                          ("both ways", BOTH)):
        families(f"{_what}, {_ways[0]} opens", _rates, _ways)(whole)
for _what, _devices in ("wireless", WIRELESS), ("server", SERVER):
    families(f"a delay on the {_what} side", BOTH, WAYS[0], DELAY,
             _devices)(whole)
    families(f"loss on the {_what} side", BOTH, WAYS[0], LOSSY,
             _devices)(whole)
    families(f"loss, reordering and duplication on the {_what} side", BOTH,
             WAYS[0], ROUGH, _devices, False)(whole)
families("delays on both sides", BOTH, WAYS[0], DELAY,
         WIRELESS + SERVER)(whole)
families("a link that is full, to the subscriber", DOWN, WAYS[0], FULL,
         WIRELESS)(whole)
families("a link that is full, from the subscriber", UP, WAYS[0], FULL,
         WIRELESS, True, True)(whole)


def bare(family, ns, setting):
    """One of the ends lacks an option."""
    with sysctls(ns, f"net.ipv4.{setting}=0"):
        whole(family, BOTH, WAYS[0], DELAY, WIRELESS)


for _ns in "sub", "srv":
    for _setting in BARE:
        families(f"without {_setting} at {_ns}", _ns, _setting)(bare)


def stops(family, number):
    """The window of an end closes while the connection is followed or is
    taken over, and opens again; once more before it is handed back."""
    pep.follow(SPLIT)
    with impaired(WIRELESS, *DELAY, single=True), Capture() as capture:
        with grows(split_bytes=1, flow_released=1, flow_reset=0):
            both = pair(family)
            load = Load([both], RATE)
            reader, sender = load.ends[number], load.ends[1 - number]
            for _ in range(2):
                reader.deaf = True
                full(sender)
                reader.deaf = False
                more(load, [reader], SOME)
            capture.hand_back()
            more(load, load.ends, SOME)
            load.finish()
            load.expect_whole()
        capture.check()


families("the subscriber stops reading", 0)(stops)
families("the server stops reading", 1)(stops)
