# SPDX-License-Identifier: GPL-2.0
"""Doing a task over a link: the samples of each kind.

A sample begins with the link as it was made, seeded, and with nothing under
way. A cold sample is the first of a new subscriber.
"""

import hashlib
import statistics
import time

import residence
from links import (HANDOVER_GAP, HANDOVER_LEFT, HANDOVER_RATE, HANDOVER_RTT)
from peptest.netns import nstat
from ping import Ping
from quic import Quic
from radio import STEP, rates
from tasks import PAGE_LINES, SMALL
from transfer import OTHER_PORTS, PORTS, Client, Loop, Server

WARM_UP = 1_000_000     # bytes that a warm subscriber has loaded
SETTLE = 3              # s of a long transfer before goodput counts
STEADY = 12             # s in which goodput counts, fewer on a fast link
STEADY_BYTES = 30e6     # bytes that the link could carry meanwhile
LOADED = 5              # s after STEADY, with small loads beside
ROUND_TRIPS = 40        # that goodput is measured over at least
SHARED = 10, 40         # s of the beginning and the end of a comparison
SMALL_STEP = 0.8        # s between two small loads beside
FOREVER = 1 << 40       # bytes


class Runner:
    """Does tasks over one link with one contestant."""

    def __init__(self, world, contestant, seed):
        self.world = world
        self.link = world.link
        self.contestant = contestant
        self.seed = seed
        self.family = self.link.family
        self.loop = Loop()
        self.server = Server(self.loop, self.family)
        self.who = 0
        self.played = []
        self.clients = []
        self.port = PORTS["bbr" if contestant == "bbr" else "cubic"]
        self.sender = "srv" if contestant in ("cubic", "bbr") else "pep"

    def close(self):
        """End the server."""
        self.server.close()
        self.loop.close()

    def run(self, task):
        """All samples of a task, lists by metric."""
        samples = {}
        if task.state == "warm":
            self.who += 1
            self.begin(task, "warm-up")
            self.load([WARM_UP])
        for number in range(task.samples):
            if task.state != "warm":
                self.who += 1
            self.begin(task, number)
            for name, values in getattr(self, task.kind)(task).items():
                samples.setdefault(name, []).extend(
                    values if isinstance(values, list) else [values])
        return {name: [round(value, 5) for value in values]
                for name, values in samples.items()}

    def begin(self, task, number):
        """Close the connections of a failed sample, wait until nothing is
        under way, then restore the link."""
        self.still()
        for client in self.clients:
            client.close()
        self.clients.clear()
        self.loop.run(3 * self.link.whole + 0.5)
        while not self.world.empty():
            self.loop.run(self.link.whole)
        text = f"{self.seed} {self.link.name} {task.name} {number}"
        seed = int.from_bytes(
            hashlib.sha256(text.encode()).digest()[:6], "little")
        self.world.reset(seed)
        self.played = []
        if self.link.trace:
            self.play(time.monotonic())
        if self.link.handover:
            self.hand_over()

    def play(self, start):
        """Vary the rate from now on, until the sample ends."""
        for number, share in enumerate(rates()):
            self.played.append(self.loop.at(
                start + number * STEP,
                lambda share=share: self.world.change(share)))

    def hand_over(self):
        """Let the rate and the round trip jump, after a gap."""
        start = time.monotonic() + self.link.handover
        self.played = [
            self.loop.at(start, lambda: self.world.change(HANDOVER_LEFT)),
            self.loop.at(start + HANDOVER_GAP, lambda: self.world.change(
                HANDOVER_RATE, self.link.rtt / 2 * HANDOVER_RTT))]

    def still(self):
        """Leave the link as it is from now on."""
        for entry in self.played:
            self.loop.cancel(entry)

    def client(self, sizes, who=None, port=None, **how):
        """A connection of the subscriber, or of another one."""
        client = Client(self.loop, self.family, who or self.who,
                        port or self.port, sizes, **how)
        self.clients.append(client)
        return client

    def load(self, sizes, **how):
        """Load objects over one connection; return the client."""
        client = self.client(sizes, **how)
        self.loop.run(done=lambda: client.last)
        self.still()
        return client

    def object(self, task):
        """One object over a new connection."""
        client = self.load([task.size])
        return {"ttfb": client.first - client.begun,
                "ttlb": client.last - client.begun}

    def kept(self, task):
        """Objects one after the other on one connection."""
        client = self.load([task.size] * task.count)
        return {"ttlb": client.last - client.begun}

    def upload(self, task):
        """From the SYN until the server's answer to the whole upload."""
        client = self.load([100], upload=task.size)
        return {"ttlb": client.last - client.begun}

    def parallel(self, task):
        """Objects at the same time: until the last one is there."""
        begun = time.monotonic()
        clients = [self.client([task.size]) for _ in range(task.count)]
        self.loop.run(done=lambda: all(c.last for c in clients))
        self.still()
        return {"ttfb": statistics.median(c.first - begun for c in clients),
                "ttlb": max(c.last for c in clients) - begun}

    def page(self, task):
        """Objects over so many lines, each on a new connection."""
        begun = time.monotonic()
        wanted, done = task.count, []

        def following(client=None):
            nonlocal wanted
            if client:
                done.append(client)
            if wanted:
                wanted -= 1
                self.client([task.size], done=following)

        for _ in range(PAGE_LINES):
            following()
        self.loop.run(done=lambda: len(done) == task.count)
        self.still()
        return {"ttlb": time.monotonic() - begun}

    def long(self, _):
        """A download without end: its goodput beside pings alone, then small
        loads of another subscriber and of the same one."""
        client = self.client([FOREVER])
        self.loop.run(max(SETTLE, 20 * self.link.whole))
        ping = Ping(self.loop, self.family, self.who + 5000)
        found = self.steady(client)
        ping.close()
        found.update(self.loaded())
        client.close()
        self.still()
        return {**found, **ping.percentiles()}

    def steadily(self):
        """Seconds that goodput is measured for."""
        return max(min(STEADY, STEADY_BYTES * 8e-6 / self.link.rate),
                   ROUND_TRIPS * self.link.whole)

    def steady(self, client):
        """Goodput of a download and its cost on the link."""
        before = residence.buckets()
        got, (octets, frames) = client.got, self.world.sent()
        again = nstat(self.sender, "TcpRetransSegs")
        begun = time.monotonic()
        self.loop.run(self.steadily())
        got = client.got - got
        octets, frames = (new - old for new, old in zip(
            self.world.sent(), (octets, frames)))
        again = nstat(self.sender, "TcpRetransSegs") - again
        found = {"goodput": got * 8e-6 / (time.monotonic() - begun),
                 "overhead": octets / max(got, 1),
                 "retrans": again / max(frames, 1)}
        return {**found, **residence.grown(before, residence.buckets())}

    def loaded(self):
        """Small loads beside a long one, by two subscribers in turn."""
        found = {"second": [], "own": []}
        end = time.monotonic() + max(LOADED, 10 * self.link.whole)
        turn, live = 0, []

        def start():
            nonlocal turn
            name = ("second", "own")[turn % 2]
            who = self.who + (6000 if name == "second" else 0)
            turn += 1
            live.append(self.client(
                [SMALL], who=who, done=lambda client: found[name].append(
                    client.last - client.begun)))
            if time.monotonic() < end:
                self.loop.after(SMALL_STEP, start)

        start()
        self.loop.run(end - time.monotonic() + SMALL_STEP)
        self.loop.run(done=lambda: all(client.last for client in live))
        return found

    def both(self, _):
        """A download and an upload at the same time."""
        down = self.client([FOREVER])
        up = self.client([100], who=self.who + 7000, upload=FOREVER)
        self.loop.run(max(SETTLE, 20 * self.link.whole))
        begun, got, sent = time.monotonic(), down.got, self.server.received
        self.loop.run(self.steadily())
        took = time.monotonic() - begun
        found = {"goodput": (down.got - got) * 8e-6 / took,
                 "up": (self.server.received - sent) * 8e-6 / took}
        down.close()
        up.close()
        self.still()
        return found

    def beside(self, task):
        """A download and one of another kind, which the contestant leaves
        alone unless both are of the same kind."""
        own = self.client([FOREVER])
        self.loop.run(1 + 2 * (self.seed % 97) / 97)
        who = self.who + 8000
        if task.other == "quic":
            other = Quic(self.loop, self.family, who)
        else:
            other = self.client([FOREVER], who=who, port=OTHER_PORTS.get(
                task.other, self.port))
        self.loop.run(SHARED[0])
        before, begun = (own.got, other.got), time.monotonic()
        self.loop.run(SHARED[1] - SHARED[0])
        took = time.monotonic() - begun
        mine, theirs = ((now - old) * 8e-6 / took for now, old in zip(
            (own.got, other.got), before))
        own.close()
        other.close()
        return {"jain": (mine + theirs) ** 2 / max(
                    2 * (mine ** 2 + theirs ** 2), 1e-9),
                "goodput": mine, "other": theirs}
