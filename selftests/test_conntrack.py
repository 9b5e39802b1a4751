# SPDX-License-Identifier: GPL-2.0
"""Conntrack's entry of a connection lasts as long as the connection is split,
and goes when it ends."""

import contextlib
import time

from peptest import pep
from peptest.env import KERNEL
from peptest.firewall import strict
from peptest.ktap import (after_case, case, expect, families, skip,
                          wait_for)
from peptest.netns import (SERVER, WIRELESS, impaired, sysctl_get,
                           sysctls)
from peptest.pep import pepadm
from peptest.tcp import (exchange, exchange_part, expect_reset, one_way, pair,
                         reset)

TRAITS = {"simulated"}

SHORT = 5               # seconds, more than UNACKED
LONG = 310              # seconds, more than pep keeps an entry for at a time
GONE = 120              # seconds, for conntrack to remove what has expired
BYTES = 20000           # that each end sends before
MUCH = 2200000000       # bytes, more than 2 GiB
MUCH_SECONDS = 600
UNACKED = "net.netfilter.nf_conntrack_tcp_timeout_unacknowledged=2"
ENTRIES = "net.netfilter.nf_conntrack_count"


@after_case
def usual():
    """Undo the settings of a case."""
    if pep.loaded():
        pepadm("profile", "set", "default", "release-idle", "120")


def entries():
    """Number of conntrack's entries."""
    return int(sysctl_get("pep", ENTRIES))


@contextlib.contextmanager
def firewall():
    """Within, only packets of connections that conntrack knows are forwarded,
    and it forgets those with unacknowledged payload soon. Connections are
    split in mid-stream and stay split."""
    pepadm("profile", "set", "default", "split", "12000", "release-idle", "0")
    with strict("pep"), sysctls("pep", UNACKED):
        yield


def parted(family, number):
    """A connection that is split while payload of both ends is unacknowledged,
    as conntrack sees it."""
    with impaired(WIRELESS + SERVER, "delay", "10ms"):
        both = pair(family)
        exchange_part(both, BYTES)
        pep.wait_flows(number)
    return both


def expect_known(both):
    """The server may send first, and again after a silence."""
    for _ in range(2):
        one_way(both[1], both[0], 100)
        time.sleep(SHORT)


@families("a firewall knows a connection that was split")
def known(family):
    with firewall():
        both = parted(family, 1)
        time.sleep(SHORT)
        pep.hand_back()
        expect_known(both)
        exchange(both, 100)


@families("a firewall forwards the reset of a connection that has carried "
          "more than conntrack's numbers reach", seconds=MUCH_SECONDS)
def reset_far(family):
    """2 GiB behind the last acknowledgment that conntrack has seen a number is
    an old one to it."""
    if KERNEL != "sim":
        skip("it takes minutes")
    with firewall():
        near, far = parted(family, 1)
        one_way(far, near, MUCH, seconds=MUCH_SECONDS)
        pep.hand_back()
        reset(far)
        expect_reset(near)


@case("a firewall knows a connection that was split for long",
      seconds=2 * LONG + GONE + 60)
def long():
    """One that has ended while it was split is forgotten meanwhile."""
    if not KERNEL.startswith("sim"):
        skip("it takes minutes")
    with firewall():
        before = entries()
        both, ended = parted(4, 1), parted(4, 2)
        exchange(ended, 100)
        expect("entries", entries(), before + 2)
        time.sleep(LONG)
        wait_for("an entry to go", lambda: entries() <= 1, GONE)
        expect("entries", entries(), 1)
        pep.hand_back()
        time.sleep(LONG)
        expect_known(both)
        exchange(both, 100)
