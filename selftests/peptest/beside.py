# SPDX-License-Identifier: GPL-2.0
"""Connections during arbitrary administration: streams that no command may
harm, and others that a command may end, whose payload is correct up to their
end."""

import contextlib
import threading

from . import pep
from .forge import KEPT, VICTIM
from .ktap import Failure, Fatal
from .netns import run
from .tcp import End, Load, describe, digest, lone_pair, pump, reset

RATE = 60000            # bytes per second of each connection and direction
SIZE = 20000            # bytes each way of a connection that may be ended
PATIENCE = 5            # seconds for such a connection
DEVICES = "wl0", "sv0"


def profile(name):
    """Make the devices use a profile from now on."""
    for dev in DEVICES:
        pep.pepadm("dev", "set", dev, "profile", name)


class Victims(threading.Thread):
    """Connections to a port of their own, one after the other, which any
    command may end; the payload received on each is correct."""

    def __init__(self):
        super().__init__(daemon=True)
        self.halt = False
        self.failure = None
        self.whole = self.broken = 0
        self.start()

    def run(self):
        family = 4
        while not self.halt and not self.failure:
            try:
                self.one(family)
            except Exception as what:   # pylint: disable=broad-except
                self.failure = what
            family = 10 - family

    def one(self, family):
        """One connection."""
        try:
            socks = lone_pair(family, VICTIM)
        except OSError:
            self.broken += 1
            return
        ends = [End(sock, SIZE, rate=RATE) for sock in socks]
        with contextlib.suppress(Failure):      # too slow: stop waiting
            pump(ends, PATIENCE, lambda: self.halt)
        for end, other in zip(ends, reversed(ends)):
            if end.sha.hexdigest() != digest(other.offset, end.received):
                raise Fatal("the payload of a connection that may be ended "
                            f"differs: {describe(end)}; {describe(other)}")
            if end.eof and end.received != SIZE:
                raise Fatal("a connection ends as if it were whole")
        if all(end.eof for end in ends):
            self.whole += 1
        else:
            self.broken += 1
        for sock in socks:
            with contextlib.suppress(OSError):
                reset(sock)

    def stop(self):
        """Stop; raise the failure of a connection."""
        self.halt = True
        self.join(120)
        if self.failure:
            raise self.failure


@contextlib.contextmanager
def traffic():
    """Within, run streams, with a profile that no other connection uses, and
    victims; all payload of the streams arrives. Yields the victims."""
    kept = KEPT.decode()
    pep.pepadm("profile", "replace", kept, "split", "handshake",
               "release-idle", "0")
    profile(kept)
    load = Load([both for family in (4, 6)
                 for both in pep.split_start(family, 2)], RATE)
    load.more(1000)
    profile("default")
    victims = Victims()
    try:
        yield victims
        load.more(1000)
        load.finish()
        load.expect_whole()
    finally:
        victims.halt = True
        victims.join(120)
    for end in load.ends:
        end.sock.close()
    victims.stop()


def sockets():
    """Connected sockets of the gateway."""
    return run("ss", "-Htan", "state", "connected", ns="pep").stdout
