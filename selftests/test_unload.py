# SPDX-License-Identifier: GPL-2.0
"""The module goes while it is at work: rmmod is refused while a filter needs
it, and done under load when none does. Nothing is left of it, both ends of
every connection get a reset, and it can be loaded again."""

import errno

from peptest import pep
from peptest.env import amount
from peptest.ktap import case, expect, expect_least, families, wait_for
from peptest.netns import run
from peptest.tcp import (Load, client, exchange, expect_reset, pair, start)

RATE = amount(100000)   # bytes per second and flow


def sockets():
    """The sockets of legs and listeners in the gateway; what is in TIME_WAIT
    is no longer the module's."""
    return run("ss", "-tanH", "exclude", "time-wait", ns="pep").stdout


@families("rmmod under load")
@families("rmmod under load once more")
def under_load(family):
    """Flows in every state: fast, slow, idle, opened from either side, and
    being opened towards an address that is silent."""
    fast = Load(start(family, 1), RATE * 20)
    slow = Load(start(family, 11) + start(family, 6, "srv", "sub"), RATE)
    idle = start(family, 6)
    silent = client("sub", 4)
    silent.setblocking(False)
    expect("errno", silent.connect_ex(("198.18.1.99", 5000)),
           errno.EINPROGRESS)
    wait_for("payload", lambda: min(fast.moved, slow.moved) > RATE // 4)
    expect_least("flows", pep.stat("flows"), 24)
    refused = run("rmmod", "pep", check=False)
    expect("exit code of rmmod beneath a filter", refused.returncode, 1)
    expect("its message", "in use" in refused.stderr, True)

    pep.detach()
    pep.unload()
    wait_for("the end of all sockets", lambda: not sockets())
    fast.expect_resets()
    slow.expect_resets()
    for both in idle:
        for sock in both:
            expect_reset(sock)
    pep.load()
    pep.attach()
    exchange(pair(family), 100000)
    expect("flows split after loading", pep.stat("flow_established"), 1)


@case("load and unload at rest, 8 times")
def again():
    pep.detach()
    for _ in range(8):
        pep.unload()
        pep.load()
    pep.attach()


@families("rmmod refused while attached, flows go on")
def refused(family):
    both = pair(family)
    expect("exit code", run("rmmod", "pep", check=False).returncode, 1)
    exchange(both, 1000)
    pair(family)
