# SPDX-License-Identifier: GPL-2.0
"""A device that goes while its side has others, and is made anew: its flows go
on where it is attached at once, and are handed back where it is not.

   sub eth0, eth0.21 ---------- pep wl0, wl0.21
   198.18.21.2                      198.18.21.1
"""

import contextlib
import time

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, families
from peptest.netns import ip, resets, run
from peptest.pep import grows, pepadm
from peptest.tcp import Load, exchange, exchange_part, expect_reset, one_way

TRAITS = {"simulated"}

RATE = amount(100000)   # bytes per second and end
SOON = 1                # seconds until a rule of udev has attached a device
OVER = 30               # seconds after which no flow waits any more
OWN = {4: "198.18.21.2", 6: "2001:db8:21::2"}


def made():
    """Make the VLAN's device of the gateway."""
    ip("pep", "link add link wl0 name wl0.21 type vlan id 21",
       "link set wl0.21 up", "address add 198.18.21.1/24 dev wl0.21",
       "address add 2001:db8:21::1/64 dev wl0.21 nodad")


def attach():
    """Attach it."""
    pepadm("dev", "add", "wl0.21", "side", "wireless")


@contextlib.contextmanager
def anew():
    """Within, the device is another one, which is not attached."""
    ip("pep", "link del wl0.21")
    made()
    try:
        yield
    finally:
        attach()


def setup():
    """The subscriber has a VLAN as well."""
    pep.attached()
    run("modprobe", "-q", "8021q", check=False)
    made()
    ip("sub", "link add link eth0 name eth0.21 type vlan id 21",
       "link set eth0.21 up", "address add 198.18.21.2/24 dev eth0.21",
       "address add 2001:db8:21::2/64 dev eth0.21 nodad")
    for family, gateway in (4, "198.18.21.1"), (6, "2001:db8:21::1"):
        ip("sub", f"rule add from {OWN[family]} lookup 21",
           f"route add default via {gateway} table 21", family=family)
    attach()


def opened(family):
    """A split connection by the VLAN, on which both ends have spoken."""
    both = pep.split_pair(family, bind=(OWN[family], 0))
    exchange_part(both, 1000)
    return both




@families("attached again soon, all flows go on")
def soon(family):
    """One is idle, one transfers, and one of which an end has finished."""
    idle, busy, half = (opened(family) for _ in range(3))
    one_way(*half, 1000, fin=True)
    with grows(ended=False, flow_established=0, flow_released=0,
               flow_killed=0, flow_reset=0, flow_closed=0):
        load = Load([busy], RATE)
        load.more(RATE)
        with anew():
            time.sleep(SOON)
        load.more(RATE * OVER)
    load.finish()
    load.expect_whole()
    exchange(idle, 100000)
    one_way(*half[::-1], 100000, fin=True)


@families("attached again later, an idle connection has been handed back")
def later(family):
    """The others go on."""
    before = resets()
    idle, busy, half = (opened(family) for _ in range(3))
    one_way(*half, 1000, fin=True)
    with grows(ended=False, flow_established=0, flow_released=1,
               flow_killed=0, flow_reset=0, flow_closed=0):
        load = Load([busy], RATE)
        load.more(RATE)
        with anew():
            time.sleep(OVER // 3)
        load.more(RATE * OVER)
    expect("resets", resets(), before)
    load.finish()
    load.expect_whole()
    exchange(idle, 100000)
    one_way(*half[::-1], 100000, fin=True)


@families("never attached again, an idle connection goes on unsplit")
def never(family):
    """Those with payload under way are reset, and those that cannot be handed
    back."""
    idle, busy, half = (opened(family) for _ in range(3))
    one_way(*half, 1000, fin=True)
    with grows(flow_released=1, flow_killed=2, flow_reset=0):
        load = Load([busy], RATE)
        load.more(RATE)
        with anew():
            time.sleep(OVER)
            expect("flows", pep.flows(), [])
            load.expect_resets(1)
            expect_reset(half[0], 1)
            exchange(idle, 100000)


@families("answered early, never attached again")
def early(family):
    """Such a connection cannot be handed back."""
    pep.early()
    both = opened(family)
    with grows(flow_killed=1), anew():
        expect_reset(both[1], OVER)
    pep.follow("handshake")
