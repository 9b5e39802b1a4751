# SPDX-License-Identifier: GPL-2.0
"""Several CPUs process the same flows: packets for the wireless leg arrive on
one half of them, packets for the server leg on the other. Each end has a
thread of its own, bound to its CPUs, and RPS steers each device's packets to
those. Transfers, half-closes and resets are mixed; other connections are taken
over and handed back while both ends send."""

import contextlib
import errno
import os
import threading

from peptest import pep
from peptest.env import SLOW, amount
from peptest.ktap import (Failure, expect, expect_least, families, note,
                          wait_for)
from peptest.netns import resets, rps
from peptest.pep import grows
from peptest.tcp import (End, describe, disconnect, expect_same, pump,
                         start)

TRAITS = {"alone", "machine", "races"}

FLOWS = 50
ROUNDS = 1 if SLOW else 3
BYTES = amount(400000)
CPUS = sorted(os.sched_getaffinity(0))
HALVES = CPUS[::2], CPUS[1::2]


class Breaker(End):
    """An end that resets the connection after receiving a number of bytes."""

    def __init__(self, sock, size, after):
        super().__init__(sock, size, fin=False)
        self.after = after

    def step(self, events):
        super().step(events)
        if not self.error and self.received >= self.after:
            disconnect(self.sock)
            self.error = -1


class Side(threading.Thread):
    """The ends of one namespace, on CPUs of their own."""

    def __init__(self, ends, cpus):
        super().__init__(daemon=True)
        self.ends = ends
        self.cpus = cpus
        self.failure = None
        self.start()

    def run(self):
        os.sched_setaffinity(0, self.cpus)
        try:
            pump(self.ends, 80)
        except Failure as what:
            self.failure = what


def ends_of(number, near, far):
    """Behaviour of a connection's ends: of five connections each end resets
    one midway, and one is half closed from the start."""
    kind = number % 5
    if kind == 0:
        return (Breaker(near, BYTES * 2, BYTES // 2),
                End(far, BYTES * 2, fin=False))
    if kind == 1:
        return (End(near, BYTES * 2, fin=False),
                Breaker(far, BYTES * 2, BYTES // 2))
    if kind == 2:
        return End(near, 0), End(far, BYTES)
    return End(near, BYTES), End(far, BYTES)


def check(number, near, far):
    """Check the payload, or the reset."""
    if number % 5 > 1:
        expect_same(near, far)
        expect_same(far, near)
        return
    other = far if number % 5 == 0 else near
    if other.error not in (errno.ECONNRESET, errno.EPIPE):
        raise Failure("no reset: " + describe(other))


def processed():
    """Number of processed packets by CPU."""
    with open("/proc/net/softnet_stat", encoding="ascii") as file:
        return [int(line.split()[0], 16) for line in file]


def begin(ends):
    """Start the transfers of both sides' ends."""
    return [Side([both[i] for both in ends], HALVES[i]) for i in (0, 1)]


def finish(sides):
    """Wait for both sides; raise their failure."""
    for side in sides:
        side.join()
        if side.failure:
            raise side.failure


@contextlib.contextmanager
def all_busy():
    """Fail unless each CPU has processed its share of the packets within."""
    before = processed()
    yield
    grown = [now - was for was, now in zip(before, processed())]
    note("packets by CPU:", *grown)
    expect_least("packets of the CPU with the fewest", min(grown),
                 BYTES * FLOWS // 65536)


def contend(family, opener, opened):
    broken = sum(number % 5 < 2 for number in range(FLOWS)) * ROUNDS
    with all_busy(), grows(flow_established=FLOWS * ROUNDS, flow_reset=broken,
                           flow_closed=FLOWS * ROUNDS - broken):
        for _ in range(ROUNDS):
            pairs = pep.split_start(family, FLOWS, opener, opened)
            ends = [ends_of(i, *both) for i, both in enumerate(pairs)]
            finish(begin(ends))
            for number, both in enumerate(ends):
                check(number, *both)
                for end in both:
                    end.sock.close()


def hand_back(family, opener, opened):
    """Both ends send while their payload triggers the take-over of each
    connection, and while it is handed back."""
    before = resets()
    pep.follow("4000")
    with all_busy(), grows(split_bytes=FLOWS, flow_released=FLOWS,
                           flow_reset=0, flow_killed=0) as counts:
        pairs = start(family, FLOWS, opener, opened)
        ends = [[End(sock, BYTES, fin=False, wanted=BYTES) for sock in both]
                for both in pairs]
        sides = begin(ends)
        wait_for("all to be handed back", lambda: pep.released() == 0 and
                 pep.stat("flow_released") ==
                 counts["flow_released"] + FLOWS)
        finish(sides)
        for near, far in ends:
            expect_same(near, far)
            expect_same(far, near)
    expect("resets", resets(), before)


def setup():
    """Steer each device's packets to the CPUs of their sender."""
    expect_least("CPUs", len(CPUS), 4)
    pep.attached()
    masks = [sum(1 << cpu for cpu in half) for half in HALVES]
    for ns, devices in (("sub", {"eth0": masks[0]}),
                        ("srv", {"eth0": masks[1]}),
                        ("pep", {"wl0": masks[0], "sv0": masks[1]})):
        rps(ns, devices)


families(f"{FLOWS} flows at once, some reset", "sub", "srv",
         seconds=300)(contend)
families(f"{FLOWS} flows at once, some reset, the server opens",
         "srv", "sub", seconds=300)(contend)
families(f"{FLOWS} connections taken over and handed back", "sub", "srv",
         seconds=300)(hand_back)
