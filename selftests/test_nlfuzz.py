# SPDX-License-Identifier: GPL-2.0
"""Random requests from the netlink specification, valid and broken, with and
without administrator privileges, while connections are relayed. Each returns
one valid answer, and refused requests change nothing."""

import collections
import contextlib
import json
import random
import tempfile
import time
from functools import partial

from peptest import actions, beside, genl, pep, sender, service, spec
from peptest.env import NLFUZZ_MESSAGES, NLFUZZ_SEED
from peptest.forge import USED
from peptest.ktap import case, expect, expect_least, must, note, wait_for
from peptest.netns import ip, sysctl, topology_up
from peptest.pep import pepadm
from peptest.raw import RST, Wire, segment
from peptest.rights import RIGHTS, Worker
from peptest.tcp import exchange, pair
from peptest.words import Typist

TRAITS = {"once"}

SHORT = 15000           # messages, by default
CASE = 50000            # messages per seed
ROUND = 5000            # messages during the same streams
PARTS = {"pep": 500, "tc": 60}  # per turn of a sender; twice for root
SECONDS = 120           # limit for a round
LINES = 150             # command lines and files of pepadm
MORE = 400              # messages for each additional one
MODPROBE = "/proc/sys/kernel/modprobe"
_modprobe = []


def setup():
    """Attached; the kernel does not search for missing congestion controls,
    which would start a program each time."""
    pep.warmed()
    ip("pep", "link add d0 type veth peer name d1",
       "link add d2 type veth peer name d3")
    pepadm("profile", "add", USED.decode())
    pepadm("dev", "add", "d2", "side", "server", "profile", USED.decode())
    topology_up("A")
    pep.attach("pepA")
    with open(MODPROBE, encoding="ascii") as file:
        _modprobe.append(file.read().strip())
    sysctl(None, "kernel.modprobe=\n")


def teardown():
    """Restore the kernel's setting and take everything down."""
    for path in _modprobe:
        sysctl(None, f"kernel.modprobe={path}")
    service.services_down()
    pep.teardown()


def configuration():
    """The configuration that pepadm saves."""
    return pepadm("conf", "save", "-").stdout


@contextlib.contextmanager
def crew(seed):
    """Sending processes, by privileges and by subject of the requests."""
    spec.load()
    family = genl.family_id("pep", "pep")
    workers = {}
    try:
        for who in RIGHTS:
            right = {"seed": f"{seed} {who}", "privileged": who == "root"}
            workers[who, "pep"] = Worker(who, "pep", sender.sockets, partial(
                sender.Sender, family=family, **right))
            workers[who, "tc"] = Worker(who, "pep", actions.sockets, partial(
                actions.Actions, dev="lo" if who == "stranger" else "d0",
                **right))
        yield workers
    finally:
        for worker in workers.values():
            worker.stop()


def turn(who, worker, count):
    """Run a sender's turn; fail if one without privileges changes anything."""
    before = configuration()
    imported = pep.stat("follow_imported")
    got = collections.Counter(worker.call("run", count))
    must(f"{who}: connections that were imported",
         pep.stat("follow_imported") - imported, got.pop("imported", 0))
    if who != "root":
        must(f"{who}: configuration", configuration(), before)
        expect_least(f"{who}: requests that were denied", got["EPERM"], 1)
    return got


def set_back(path, before):
    """Restore the configuration."""
    pepadm("conf", "sync", path)
    pepadm("drain", "off")
    must("configuration", configuration(), before)


def circuit(workers, total):
    """Run a turn of each sender; return the number of messages."""
    sent = 0
    for (who, about), worker in workers.items():
        got = turn(who, worker, PARTS[about] * (2 if who == "root" else 1))
        total[who, about] += got
        sent += got["messages"]
    return sent


def requests(seed, count):
    """Send count messages of all senders, with new streams in each round."""
    before = configuration()
    path = service.write("saved", before)
    total = collections.defaultdict(collections.Counter)
    sent, begun = 0, time.monotonic()
    with crew(seed) as workers:
        while sent < count:
            goal = min(count, sent + ROUND)
            with beside.traffic() as victims:
                while sent < goal:
                    sent += circuit(workers, total)
            total["victims"] += collections.Counter(
                whole=victims.whole, broken=victims.broken)
            set_back(path, before)
            pep.flows_end()
    for name, got in total.items():
        note(name, dict(got))
    note(f"{time.monotonic() - begun:.1f} s")


@case("the specification's numbers are those of the header")
def numbers():
    expect("others", spec.load().differs(), [])


def typed(seed, count):
    """Command lines and files of pepadm, on a gateway of its own."""
    for family in 4, 6:
        exchange(pair(family), 1000)
    flows = pepadm("flow", "save", "-").stdout.encode()
    expect_least("connections that can be restored", flows.count(b"\n"), 2)
    other = configuration()
    with tempfile.TemporaryDirectory() as folder:
        typist = Typist(random.Random(f"{seed} words"), "pepA", folder)
        conf = typist.state()
        for number in range(count):
            if number % 3:
                typist.typed()
            else:
                typist.read(conf, flows)
    note(typist.count)
    must("configuration of the other gateway", configuration(), other)
    for code in 0, 1, 2:
        expect_least(f"exit codes {code}", typist.count[code], 1)


def ended():
    """Imported connections, which have no ends, end by a reset; the others are
    forgotten when no packets of them arrive for some time."""
    wire = Wire("sub")
    for conn in json.loads(pepadm("-j", "conn", "show").stdout):
        near, far = conn["subscriber"], conn["server"]
        wire.send(segment(near["addr"], far["addr"], near["port"],
                          far["port"], flags=RST))
    wait_for("no connection in the table", lambda: not pep.stat("followed"),
             200)
    must("flows", pep.stat("flows"), 0)
    wait_for("no socket in a connection", lambda: not beside.sockets(), 100)


_left = NLFUZZ_MESSAGES or SHORT
_lines = LINES + _left // MORE
case(f"{_lines} words and files of pepadm", NLFUZZ_SEED, _lines,
     seconds=120 + _lines)(typed)

_seed = NLFUZZ_SEED
while _left > 0:
    _count = min(_left, CASE)
    case(f"seed {_seed}, {_count} messages", _seed, _count,
         seconds=SECONDS * (1 + _count // ROUND))(requests)
    _left -= _count
    _seed += 1
case("nothing is followed any more", seconds=300)(ended)
