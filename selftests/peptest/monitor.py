# SPDX-License-Identifier: GPL-2.0
"""pepadm monitor, running during a test."""

import contextlib
import json
import os
import select
import subprocess
import time

from . import env
from .ktap import Failure, expect, wait_for
from .netns import Within

SECONDS = 30


class Monitor:
    """pepadm monitor, a member of the multicast group from here on."""

    def __init__(self, *words):
        with Within("pep"):
            self.process = subprocess.Popen(
                [env.PEPADM, "-j", "monitor", *words],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.text = b""
        wait_for("its membership", self.listens)

    def listens(self):
        """Is it a member of a group of generic netlink?"""
        with Within("pep"), open("/proc/thread-self/net/netlink",
                                 encoding="ascii") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        return any(row[1] == "16" and int(row[2]) == self.process.pid and
                   int(row[3], 16) for row in rows)

    def event(self, seconds=SECONDS):
        """The next event."""
        end = time.monotonic() + seconds
        while b"\n" not in self.text:
            left = end - time.monotonic()
            if left < 0 or not select.select([self.process.stdout], [], [],
                                             left)[0]:
                raise Failure("no event in time")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise Failure("it has ended: " +
                              self.process.stderr.read().decode())
            self.text += more
        line, _, self.text = self.text.partition(b"\n")
        return json.loads(line)

    def end(self):
        """Stop it; fail if an event is left."""
        self.process.kill()
        rest = self.text + self.process.communicate()[0]
        expect("events that nobody asked for", rest, b"")


@contextlib.contextmanager
def monitor(*words):
    """Watch events within."""
    watch = Monitor(*words)
    try:
        yield watch
        watch.end()
    finally:
        watch.process.kill()
        watch.process.wait()
