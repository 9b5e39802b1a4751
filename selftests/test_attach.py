# SPDX-License-Identifier: GPL-2.0
"""Connections that are older than pep survive it: attaching and detaching,
during a transfer and while idle, changes nothing for them. Split connections
are handed back to their ends at detaching, and end where that is
impossible."""

import errno
import socket

from peptest import env, pep
from peptest.env import amount
from peptest.ktap import (case, expect, expect_least, fail, families,
                          wait_for)
from peptest.netns import run
from peptest.pep import grows, least
from peptest.tcp import (Load, exchange, exchange_part, expect_reset,
                         one_way, pair, start)

RATE = amount(1000000)  # bytes per second
ROUND = 20000


def setup():
    """Not attached yet. Connections will be split as soon as they are up."""
    pep.detached()
    if not env.WITHOUT:
        pep.pepadm("profile", "set", "default", "split", "handshake")


def idle(family, opener, opened):
    """Idle connections, used once in each state."""
    pairs = start(family, 10, opener, opened)
    before = pep.stats()
    for change in pep.attach, pep.detach, pep.attach:
        change()
        for both in pairs:
            exchange_part(both, ROUND)
    after = pep.stats()
    for name in "flow_established", "follow_new", "delivered":
        expect(name, after[name], before[name])
    expect_least("pass_no_flow", after["pass_no_flow"] -
                 before["pass_no_flow"], 10)
    pep.detach()


families("idle connections of the subscriber", "sub", "srv")(idle)
families("idle connections of the server", "srv", "sub")(idle)


@families("a transfer goes on")
def midstream(family):
    load = Load([pair(family)], RATE)
    with grows(ended=False, pass_no_flow=least(20), follow_new=0,
               delivered=0):
        for change in pep.attach, pep.detach, pep.attach:
            load.more(RATE // 4)
            change()
        load.more(RATE // 4)
    load.finish()
    load.expect_whole()
    pep.detach()


@families("new connections beside old ones")
def beside(family):
    old = pair(family)
    pep.attach()
    with grows(flow_established=1):
        exchange(pep.split_pair(family), 200000)
        exchange_part(old, ROUND)
    exchange(old, ROUND)
    pep.detach()


@families("split connections go on when detached")
def split(family):
    """Busy ones and an idle one, without a reset; after devices are attached
    again they are split again, like new ones."""
    pep.attach()
    with grows(flow_established=15, flow_released=7, flow_closed=8,
               flow_reset=0, flow_killed=0):
        busy = (pep.split_start(family, 3) +
                pep.split_start(family, 3, "srv", "sub"))
        quiet = pep.split_pair(family)
        load = Load(busy, RATE // 6)
        wait_for("payload", lambda: load.moved > RATE // 10)
        pep.detach()
        expect("flows", pep.stat("flows"), 0)
        for change in (), (pep.attach,):
            for step in change:
                step()
            load.more(RATE // 4)
            exchange_part(quiet, ROUND)
        # The first payload has shown the position of the ends by now.
        exchange_part(quiet, ROUND)
        pep.wait_flows(7)
        load.finish()
        load.expect_whole()
        exchange(quiet, ROUND)
        exchange(pep.split_pair(family), ROUND)
    pep.detach()


@families("split connections that are half closed end when detached")
def half(family):
    """A leg of an end that has finished cannot be handed back: both ends
    receive a reset, and neither sees a clean end of incomplete payload."""
    pep.attach()
    with grows(flow_established=2, flow_released=0, flow_closed=0):
        pairs = [pep.split_pair(family), pep.split_pair(family, "srv", "sub")]
        for near, far in pairs:
            one_way(near, far, ROUND, fin=True)
        pep.detach()
        for near, far in pairs:
            expect_reset(near)
            wait_for("the other end's error", lambda: far.getsockopt(
                socket.SOL_SOCKET,
                socket.SO_ERROR) == errno.EPIPE)  # pylint: disable=W0640


@case("root of a user namespace may not attach")
def foreign_root():
    """Even for its own device: flows use memory of the machine."""
    done = run("unshare", "--user", "--map-root-user", "--net", env.PEPADM,
               "dev", "add", "lo", "side", "wireless", check=False)
    expect("exit code", done.returncode, 1)
    if "needs CAP_NET_ADMIN in the first user namespace" not in done.stderr:
        fail(done.stderr)
