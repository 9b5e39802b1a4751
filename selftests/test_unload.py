# SPDX-License-Identifier: GPL-2.0
"""The module is unloaded while it is active: rmmod is refused while a filter
needs it, and succeeds under load when none does. Nothing is left of it.
Connections that it has taken over go on without it, those that it has opened
itself end with a reset to both ends, and it can be loaded again."""

import errno

from peptest import pep
from peptest.env import SLOW, amount
from peptest.ktap import case, expect, expect_least, families, wait_for
from peptest.netns import resets, run
from peptest.tcp import (Load, client, exchange, exchange_part, expect_reset)

TRAITS = {"races"}

RATE = amount(100000)   # bytes per second and flow
FAST = 4 if SLOW else 20        # multiple of RATE for one of them
# Slow ones opened by the subscriber and by the server, and idle ones.
FLOWS = (3, 2, 4) if SLOW else (11, 6, 6)
SECONDS = 60            # for some payload


def sockets():
    """The sockets of legs and listeners in the gateway; those in TIME_WAIT no
    longer belong to the module."""
    return run("ss", "-tanH", "exclude", "time-wait", ns="pep").stdout


def expect_refused():
    """Fail unless rmmod reports the module as in use."""
    done = run("rmmod", "pep", check=False)
    expect("exit code of rmmod beneath a filter", done.returncode, 1)
    expect("its message", "in use" in done.stderr, True)


def busy(family):
    """Flows in every state, opened from either side, and one being opened
    towards a silent address: fast and slow ones as Loads, idle ones as
    pairs."""
    fast = Load(pep.split_start(family, 1), RATE * FAST)
    slow = Load(pep.split_start(family, FLOWS[0]) +
                pep.split_start(family, FLOWS[1], "srv", "sub"), RATE)
    idle = pep.split_start(family, FLOWS[2])
    silent = client("sub", 4)
    silent.setblocking(False)
    expect("errno", silent.connect_ex(("198.18.1.99", 5000)),
           errno.EINPROGRESS)
    wait_for("payload", lambda: min(fast.moved, slow.moved) > RATE // 4,
             SECONDS)
    expect_least("flows", pep.stat("flows"), 1 + sum(FLOWS))
    return fast, slow, idle


def more(loads):
    """Wait until every end of the loads has received more."""
    for load in loads:
        load.more(RATE // 4, SECONDS)


def split_again(family):
    """Load and attach; fail unless a new connection is split."""
    pep.load()
    pep.attach()
    pep.follow("handshake")
    before = pep.stat("flow_established")
    exchange(pep.split_pair(family), 100000)
    expect("flows split after loading", pep.stat("flow_established"),
           before + 1)


@families("rmmod under load", seconds=300)
@families("rmmod under load once more", seconds=300)
def under_load(family):
    """Nothing is lost, duplicated or reset, while the module is unloaded, is
    absent, and is loaded again."""
    fast, slow, idle = busy(family)
    before = resets()
    expect_refused()
    more((fast, slow))
    pep.detach()
    pep.unload()
    wait_for("the end of all sockets", lambda: not sockets())
    more((fast, slow))
    for both in idle[::2]:
        exchange_part(both, 20000)
    split_again(family)
    more((fast, slow))
    for both in idle:
        exchange(both, 20000)
    for load in fast, slow:
        load.finish()
        load.expect_whole()
    expect("resets", resets(), before)


@families("rmmod under load of connections that it has opened",
          seconds=300)
def early(family):
    """They cannot go on without it: both ends receive a reset."""
    pep.pepadm("profile", "set", "default", "connect", "early")
    fast, slow, idle = busy(family)
    expect_refused()
    pep.detach()
    pep.unload()
    wait_for("the end of all sockets", lambda: not sockets())
    fast.expect_resets()
    slow.expect_resets()
    for both in idle:
        for sock in both:
            expect_reset(sock)
    split_again(family)


@case("load and unload at rest, 8 times")
def again():
    pep.detach()
    for _ in range(8):
        pep.unload()
        pep.load()
    pep.attach()
    pep.follow("handshake")


@families("rmmod refused while attached, flows go on")
def refused(family):
    both = pep.split_pair(family)
    expect_refused()
    exchange(both, 1000)
    pep.split_pair(family)
