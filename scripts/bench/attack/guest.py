#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: honest traffic beside attacks, in simulated time.

usage: guest.py RESULTS CONTESTANT SECONDS NAME...

CONTESTANT is forward or pep; SECONDS is the time that an attack lasts. The
names are those of plan.py. Each becomes a line of JSON in the file RESULTS,
with bytes of payload, objects, and memory in bytes. Needs the variables that
selftests/run.py needs. The exit code is 1 when an attack cannot be carried
out, and 2 when the command line is wrong.
"""

import contextlib
import json
import pathlib
import platform
import resource
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "selftests"),
                str(HERE.parents[1] / "lib")]

# pylint: disable=wrong-import-position
from attacks import ATTACKS, TICK, Attack  # noqa: E402
from commandline import arguments, number, one_of  # noqa: E402
from field import DEVICES, field_up  # noqa: E402
from honest import Honest, Server  # noqa: E402
from loop import Loop  # noqa: E402
from plan import CALM  # noqa: E402
from peptest import pep  # noqa: E402
from peptest.env import PEPADM  # noqa: E402
from peptest.netns import Within, run, spaces_down  # noqa: E402

WARM = 5                # seconds of honest traffic before an attack
LEFT = 150              # seconds from an attack to the count of its remains
LOOK = 0.5              # seconds between samples of memory
STATE = "flows", "pending", "followed"
FILES = 1 << 17         # descriptors that this process may have
DUMP = 10_000           # characters of each program when something is left


@contextlib.contextmanager
def attached(settings):
    """pep, with settings of the default profile and the limits by default."""
    pep.load()
    if settings:
        pep.pepadm("profile", "set", "default", *settings)
    for dev, side in DEVICES.items():
        pep.pepadm("dev", "add", dev, "side", side)
    try:
        yield
    finally:
        for dev in DEVICES:
            pep.pepadm("dev", "del", dev)
        pep.unload()


def available():
    """Available memory of the guest, KiB."""
    with open("/proc/meminfo", encoding="ascii") as file:
        line, = (text for text in file if text.startswith("MemAvailable:"))
    return int(line.split()[1])


def sockets():
    """Sockets of TCP in the gateway, without TIME_WAIT."""
    with Within("pep"), open("/proc/thread-self/net/sockstat",
                             encoding="ascii") as file:
        words = next(text for text in file
                     if text.startswith("TCP:")).split()
    return int(words[words.index("alloc") + 1])


def dump():
    """Print the connections that are left, and the hosts' counters."""
    for ns, *words in (("pep", PEPADM, "conn", "show"),
                       ("radio", "tc", "-s", "qdisc", "show"),
                       ("srv", "ss", "-tnaioH"), ("atk", "ss", "-tnaioH"),
                       ("srv", "nstat", "-az"), ("atk", "nstat", "-az")):
        print(f"# {ns}: {' '.join(map(str, words))}",
              run(*words, ns=ns).stdout[:DUMP], sep="\n", flush=True)


class Battle:
    """Honest traffic, and an attack on it."""

    def __init__(self, kind, seconds):
        self.loop = Loop()
        self.server = Server(self.loop)
        self.honest = Honest(self.loop)
        self.seconds = seconds
        self.end = 0
        self.least = self.start = 0
        self.loop.run(time.monotonic() + WARM)
        self.attack = kind(self.loop, self.honest, seconds)

    def tick(self):
        """The attack's next step."""
        if time.monotonic() < self.end:
            self.attack.tick()
            self.loop.at(time.monotonic() + TICK, self.tick)

    def look(self):
        """Sample the available memory."""
        self.least = min(self.least, available())
        if time.monotonic() < self.end:
            self.loop.at(time.monotonic() + LOOK, self.look)

    def run(self):
        """Run the attack; return the measurements."""
        honest, begin = self.honest, time.monotonic()
        self.end = begin + self.seconds
        self.least = self.start = available()
        before, counters = honest.bytes, pep.stats()
        honest.objects(begin, self.end)
        self.tick()
        self.look()
        self.loop.run(self.end)
        found = {"seconds": self.seconds, "bytes": honest.bytes - before,
                 "broken": honest.broken,
                 "kib": self.start - self.least}
        state = pep.stats()
        self.attack.end()
        # Requested objects have their time, too.
        self.loop.run(self.end + 11)
        honest.close()
        self.server.close()
        self.loop.run(time.monotonic() + LEFT)
        found |= {"asked": honest.asked, "done": len(honest.times),
                  "times": sorted(honest.times),
                  "failed": honest.failed, "count": self.attack.count,
                  "unit": self.attack.unit}
        after = pep.stats()
        if any(after[name] for name in STATE):
            dump()
        return found | {
            "state": {name: state[name] for name in STATE},
            "left": {name: after[name] for name in STATE},
            "sockets_left": sockets(),
            "grown": {name: after[name] - counters[name] for name in after
                      if after[name] > counters[name]}}


def main():
    """Run the attacks of the command line."""
    path, contestant, seconds, *names = arguments(__doc__, 4)
    one_of(__doc__, "contestant", contestant, ("forward", "pep"))
    seconds = number(__doc__, seconds)
    for name in names:
        one_of(__doc__, "attack", name, (*CALM, *ATTACKS))
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    with open(path, "w", encoding="utf-8") as out:
        for name in names:
            early = name == "none-early"
            kind = Attack if name.startswith("none") else ATTACKS[name]
            settings = ("connect", "early") if early else kind.settings
            field_up()
            with attached(settings) if contestant == "pep" else \
                    contextlib.nullcontext():
                found = Battle(kind, seconds * kind.longer).run()
            spaces_down()
            line = {"contestant": contestant, "attack": name,
                    "kernel": platform.release(), **found}
            print(json.dumps(line), file=out, flush=True)
            print(f"  {contestant}: {name}: {found['bytes'] / 1e6:.1f} MB, "
                  f"{found['done']} of {found['asked']} objects", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        sys.exit(1)
