# SPDX-License-Identifier: GPL-2.0
"""Connections that are older than pep survive it: attaching and detaching, in
the middle of a transfer and idle, changes nothing for them. Those that it has
split end when it is detached."""

from peptest import env, pep
from peptest.env import amount
from peptest.ktap import (case, expect, expect_least, fail, families,
                          wait_for)
from peptest.netns import run
from peptest.pep import grows, least
from peptest.tcp import (Load, exchange, exchange_part, expect_reset,
                         pair, start)

setup = pep.detached
RATE = amount(1000000)  # bytes per second
ROUND = 20000


def idle(family, opener, opened):
    """Idle connections, used once in each state."""
    pairs = start(family, 10, opener, opened)
    before = pep.stats()
    for change in pep.attach, pep.detach, pep.attach:
        change()
        for both in pairs:
            exchange_part(both, ROUND)
    after = pep.stats()
    for name in "flow_established", "syn_split", "delivered":
        expect(name, after[name], before[name])
    expect_least("pass_no_flow", after["pass_no_flow"] -
                 before["pass_no_flow"], 10)
    pep.detach()


families("idle connections of the subscriber", "sub", "srv")(idle)
families("idle connections of the server", "srv", "sub")(idle)


@families("a transfer goes on")
def midstream(family):
    load = Load([pair(family)], RATE)
    with grows(ended=False, pass_no_flow=least(20), syn_split=0,
               delivered=0):
        for change in pep.attach, pep.detach, pep.attach:
            mark = load.moved + RATE // 4
            wait_for("payload", lambda: load.moved > mark)
            change()
        mark = load.moved + RATE // 4
        wait_for("payload", lambda: load.moved > mark)
    load.finish()
    load.expect_whole()
    pep.detach()


@families("new connections beside old ones")
def beside(family):
    old = pair(family)
    pep.attach()
    with grows(flow_established=1):
        exchange(pair(family), 200000)
        exchange_part(old, ROUND)
    exchange(old, ROUND)
    pep.detach()


@families("split connections end when detached")
def split(family):
    pep.attach()
    with grows(flow_established=7, flow_closed=0):
        busy = start(family, 3) + start(family, 3, "srv", "sub")
        quiet = pair(family)
        load = Load(busy, RATE)
        wait_for("payload", lambda: load.moved > RATE // 10)
        pep.detach()
        load.expect_resets()
        for sock in quiet:
            expect_reset(sock)


@case("root of a user namespace may not attach")
def foreign_root():
    """Though the device is its own: the memory of flows is the machine's."""
    done = run("unshare", "--user", "--map-root-user", "--net", env.PEPADM,
               "dev", "add", "lo", "side", "wireless", check=False)
    expect("exit code", done.returncode, 1)
    if "needs CAP_NET_ADMIN in the first user namespace" not in done.stderr:
        fail(done.stderr)
